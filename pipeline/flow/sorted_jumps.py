"""Jumps from sorted rows: one row for each distinct pair of x1 and t, instead of a row of rates for each token.

Letters in shapes: N tokens, M distinct pairs of x1 and t among them, K states.
"""

import torch
from torch import Tensor

from pipeline.flow.categorical import draw_by_totals
from pipeline.flow.chunks import row_chunks
from pipeline.flow.jumps import Jump
from pipeline.flow.state import State
from pipeline.flow.velocities.net_rates import LARGEST_LOG_RATE, inverse_mass


class SortedJump(Jump):
    """The jump from z to the states x before it in some order, at the rates scale(z) gain(x) - level(z) weight(x).

    What z loses to the first m states is a difference of running totals. So the rate is a look-up and the destination
    a bisection.
    """

    def __init__(
        self, order: Tensor, gain: Tensor, weight: Tensor, which: Tensor, z: Tensor, scale: Tensor, level: Tensor
    ) -> None:
        """Take the order, gains and weights of states [M, K]; for each token its row `which`, z, scale, level [N]."""
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
    """The jump when all mass passes through x1: states that lose send it to x1, and x1 sends it to those that gain."""

    def __init__(self, state: State, which: Tensor, x1: Tensor, z: Tensor) -> None:
        """Take the states of the path [M, K]; for each token its row `which`, x1 and z, all [N]."""
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
    """Return the jump of the kinetic-optimal velocity, at the rates p(x) [dlog p(x) - dlog p(z)]_+."""
    order = state.log_prob_dot.argsort(dim=-1, descending=True, stable=True)
    there = _has_mass(state, which, z)
    level = state.log_prob_dot[which, z] * there
    return SortedJump(order, state.prob_dot, state.prob, which, z, there, level)


def campbell_jump(state: State, which: Tensor, z: Tensor) -> Jump:
    """Return the jump of Campbell's velocity, at the rates [dp(x) / p(z) - dlog p(z)]_+ / |S|.

    The states are sorted by dp = p dlog p in logarithms, because late on a path most of these numbers underflow. Even
    then a token that has not arrived goes to all states that lose less than its own: those farther from x1.
    """
    sign, size = state.log_prob_dot.sign(), state.log_prob + state.log_prob_dot.abs().log()
    by_size = torch.where(sign > 0, size, -size).argsort(dim=-1, descending=True, stable=True)
    by_sign = sign.gather(-1, by_size).argsort(dim=-1, descending=True, stable=True)
    support = state.support.double()
    share = support / support.sum(-1, keepdim=True)
    changing = torch.where(sign != 0, state.log_prob, -torch.inf).amax(-1, keepdim=True)  # masses are in this unit
    changing = torch.where(changing > -torch.inf, changing, 0.0)
    gain = share * torch.where(sign != 0, state.log_prob_dot * torch.exp((state.log_prob - changing).clamp(max=0)), 0.0)
    there = _has_mass(state, which, z)
    from_z = (changing.squeeze(-1)[which] - state.log_prob[which, z]).clamp(max=LARGEST_LOG_RATE)
    level = state.log_prob_dot[which, z] * there
    return SortedJump(by_size.gather(-1, by_sign), gain, share, which, z, torch.exp(from_z) * there, level)


def _has_mass(state: State, which: Tensor, z: Tensor) -> Tensor:
    return (state.log_prob[which, z] > -torch.inf).double()
