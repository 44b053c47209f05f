"""Jumps by closed forms: no row of rates is built for each state, only a few sorted ones for each distinct x1.

Letters in shapes: N states, M distinct pairs of x1 and t among them, K tokens.
"""

import torch
from torch import Tensor

from pipeline.flow.categorical import draw_by_totals
from pipeline.flow.jumps import Jump
from pipeline.flow.state import State
from pipeline.flow.velocities import LARGEST_LOG_RATE, inverse_mass


class SortedJump(Jump):
    """The jump with rates scale(z) w(x) [v(x) - v(z)]_+: from z to states that gain more than it does.

    With the states sorted by v, what z loses to the first m of them is a difference of running totals, so that the
    rate is looked up and the destination found by bisection.
    """

    def __init__(self, value: Tensor, weight: Tensor, which: Tensor, z: Tensor, scale: Tensor) -> None:
        """Take v and w [M, K], `which` row each state z has, and the scale of its rates, all [N]."""
        self._order = value.argsort(dim=-1, descending=True, stable=True)
        ranks = torch.empty_like(self._order)
        ranks.scatter_(-1, self._order, torch.arange(value.shape[-1], device=value.device).expand_as(ranks))
        nothing = value.new_zeros(len(value), 1)
        self._weights = torch.cat([nothing, weight.gather(-1, self._order).cumsum(-1)], dim=-1)
        self._values = torch.cat([nothing, (weight * value).gather(-1, self._order).cumsum(-1)], dim=-1)
        self._which, self._level, self._rank = which, value[which, z], ranks[which, z]
        self._total = self._lost_to_first(self._rank).clamp(min=0)
        self.rate = scale * self._total

    def destination(self, uniforms: Tensor) -> Tensor:
        wanted = uniforms * self._total
        low, high = torch.zeros_like(self._rank), (self._rank - 1).clamp(min=0)
        for _ in range(int(self._rank.max()).bit_length() if len(low) else 0):
            middle = (low + high) // 2
            passed = self._lost_to_first(middle + 1) > wanted
            high = torch.where(passed, middle, high)
            low = torch.where(passed, low, middle + 1).minimum(high)
        return self._order[self._which, low]

    def _lost_to_first(self, count: Tensor) -> Tensor:
        """Return sum over the first `count` [N] states x of w(x) (v(x) - v(z)), [N]."""
        return self._values[self._which, count] - self._level * self._weights[self._which, count]


class HubJump(Jump):
    """The jump of all mass through x1: to x1 at the rate at which z loses, from x1 to the states that gain."""

    def __init__(self, state: State, which: Tensor, x1: Tensor, z: Tensor) -> None:
        """Take the states of the path [M, K], `which` of them each token has, x1 and z, all [N]."""
        places = torch.empty(len(state.prob_dot), dtype=torch.int64, device=x1.device)
        places[which] = x1
        gains = state.prob_dot.clamp(min=0).scatter(-1, places[:, None], 0.0)
        from_hub = (gains.sum(-1, keepdim=True) * inverse_mass(state, places)).squeeze(-1)
        self._x1, self._which, self._at_hub = x1, which, z == x1
        losing = (-state.log_prob_dot[which, z]).clamp(min=0)
        self.rate = torch.where(self._at_hub, from_hub[which], losing)
        self._running = (gains + (gains.sum(-1, keepdim=True) == 0)).cumsum(-1)

    def destination(self, uniforms: Tensor) -> Tensor:
        tokens = self._x1.clone()
        here = self._at_hub
        tokens[here] = draw_by_totals(self._running[self._which[here]], uniforms[here])
        return tokens


def kinetic_optimal_jump(state: State, which: Tensor, z: Tensor) -> Jump:
    """Return the jump at rates p(x) [dlog p(x) - dlog p(z)]_+, those of the kinetic-optimal velocity."""
    return SortedJump(state.log_prob_dot, state.prob, which, z, _has_mass(state, which, z))


def campbell_jump(state: State, which: Tensor, z: Tensor) -> Jump:
    """Return the jump at rates [dp(x) - dp(z)]_+ / (|S| p(z)), those of Campbell's velocity."""
    support = state.support.double()
    share = support / support.sum(-1, keepdim=True)
    scale = torch.exp(-state.log_prob[which, z].clamp(min=-LARGEST_LOG_RATE)) * _has_mass(state, which, z)
    return SortedJump(state.prob_dot, share, which, z, scale)


def _has_mass(state: State, which: Tensor, z: Tensor) -> Tensor:
    return (state.log_prob[which, z] > -torch.inf).double()
