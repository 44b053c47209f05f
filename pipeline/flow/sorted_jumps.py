"""Jumps by closed forms: no row of rates is built for each state, only a few sorted ones for each distinct x1.

Letters in shapes: N states, M distinct pairs of x1 and t among them, K tokens.
"""

import torch
from torch import Tensor

from pipeline.flow.categorical import draw_by_totals
from pipeline.flow.chunks import row_chunks
from pipeline.flow.jumps import Jump
from pipeline.flow.state import State
from pipeline.flow.velocities.net_rates import LARGEST_LOG_RATE, inverse_mass


class SortedJump(Jump):
    """The jump with rates scale(z) gain(x) - level(z) weight(x) to the states x before z in some order, and no others.

    What z loses to the first m states is a difference of running totals, so that the rate is looked up and the
    destination found by bisection.
    """

    def __init__(
        self, order: Tensor, gain: Tensor, weight: Tensor, which: Tensor, z: Tensor, scale: Tensor, level: Tensor
    ) -> None:
        """Take the order of states, their gains and weights [M, K], `which` row each z has, its scale and level [N]."""
        self._order, self._which, self._scale, self._level = order, which, scale, level
        ranks = torch.empty_like(order)
        ranks.scatter_(-1, order, torch.arange(order.shape[-1], device=order.device).expand_as(order))
        nothing = gain.new_zeros(len(gain), 1)
        self._gains, self._weights = (
            torch.cat([nothing, values.gather(-1, order).cumsum(-1)], dim=-1) for values in (gain, weight)
        )
        self._rank = ranks[which, z]
        self.rate = self._lost_to_first(self._rank).clamp(min=0)

    def destination(self, uniforms: Tensor) -> Tensor:
        wanted = uniforms * self.rate
        low, high = torch.zeros_like(self._rank), (self._rank - 1).clamp(min=0)
        for _ in range(int(self._rank.max()).bit_length() if len(low) else 0):
            middle = (low + high) // 2
            passed = self._lost_to_first(middle + 1) > wanted
            high = torch.where(passed, middle, high)
            low = torch.where(passed, low, middle + 1).minimum(high)
        return self._order[self._which, low]

    def _lost_to_first(self, count: Tensor) -> Tensor:
        """Return the sum of the rates to the first `count` [N] states, [N]."""
        return self._scale * self._gains[self._which, count] - self._level * self._weights[self._which, count]


class HubJump(Jump):
    """The jump of all mass through x1: to x1 at the rate at which z loses, from x1 to the states that gain."""

    def __init__(self, state: State, which: Tensor, x1: Tensor, z: Tensor) -> None:
        """Take the states of the path [M, K], `which` of them each token has, x1 and z, all [N]."""
        hubs = torch.empty(len(state.prob_dot), dtype=torch.int64, device=x1.device)
        hubs[which] = x1
        gains = state.prob_dot.clamp(min=0).scatter(-1, hubs[:, None], 0.0)
        from_hub = (gains.sum(-1, keepdim=True) * inverse_mass(state, hubs)).squeeze(-1)
        self._x1, self._which, self._at_hub = x1, which, z == x1
        losing = (-state.log_prob_dot[which, z]).clamp(min=0)
        self.rate = torch.where(self._at_hub, from_hub[which], losing)
        self._running = (gains + (gains.sum(-1, keepdim=True) == 0)).cumsum(-1)

    def destination(self, uniforms: Tensor) -> Tensor:
        tokens, leaving = self._x1.clone(), self._at_hub.nonzero().squeeze(-1)
        for part in row_chunks(len(leaving), self._running.shape[-1]):
            here = leaving[part]
            tokens[here] = draw_by_totals(self._running[self._which[here]], uniforms[here])
        return tokens


def kinetic_optimal_jump(state: State, which: Tensor, z: Tensor) -> Jump:
    """Return the jump at rates p(x) [dlog p(x) - dlog p(z)]_+, those of the kinetic-optimal velocity."""
    order = state.log_prob_dot.argsort(dim=-1, descending=True, stable=True)
    there = _has_mass(state, which, z)
    level = state.log_prob_dot[which, z] * there
    return SortedJump(order, state.prob_dot, state.prob, which, z, there, level)


def campbell_jump(state: State, which: Tensor, z: Tensor) -> Jump:
    """Return the jump at rates [dp(x) / p(z) - dlog p(z)]_+ / |S|, those of Campbell's velocity.

    The states are sorted by dp = p dlog p in logarithms: late on a path most of these underflow, and yet a token that
    has not arrived goes to all states that lose less than its own, which are the farther ones.
    """
    sign, size = state.log_prob_dot.sign(), state.log_prob + state.log_prob_dot.abs().log()
    by_size = torch.where(sign > 0, size, -size).argsort(dim=-1, descending=True, stable=True)
    by_sign = sign.gather(-1, by_size).argsort(dim=-1, descending=True, stable=True)
    support = state.support.double()
    share = support / support.sum(-1, keepdim=True)
    changing = torch.where(sign != 0, state.log_prob, -torch.inf).amax(-1, keepdim=True)  # the unit of their masses
    changing = torch.where(changing > -torch.inf, changing, 0.0)
    gain = share * torch.where(sign != 0, state.log_prob_dot * torch.exp((state.log_prob - changing).clamp(max=0)), 0.0)
    there = _has_mass(state, which, z)
    from_z = (changing.squeeze(-1)[which] - state.log_prob[which, z]).clamp(max=LARGEST_LOG_RATE)
    level = state.log_prob_dot[which, z] * there
    return SortedJump(by_size.gather(-1, by_sign), gain, share, which, z, torch.exp(from_z) * there, level)


def _has_mass(state: State, which: Tensor, z: Tensor) -> Tensor:
    return (state.log_prob[which, z] > -torch.inf).double()
