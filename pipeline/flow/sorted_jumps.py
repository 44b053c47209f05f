"""Jumps from sorted rows: one row for each x1, instead of a row of rates for each token.

Letters in shapes: N tokens, M rows of states, K states. The tokens share the rows.
"""

import torch
from torch import Tensor

from pipeline.flow.categorical import bisect, draw_by_totals
from pipeline.flow.jumps import EVERYWHERE, Jump
from pipeline.flow.state import State
from pipeline.flow.velocities.net_rates import LARGEST_LOG_RATE, inverse_mass
from pipeline.flow.vocabulary import Places


class SortedJump(Jump):
    """The jump from z to the states x before it in some order, at the rates scale(z) gain(x) - level(z) weight(x).

    What z loses to the first m states is a difference of running totals. So the rate is a look-up and the destination
    a bisection.
    """

    def __init__(
        self, order: Tensor, gain: Tensor, weight: Tensor, which: Tensor, rank: Tensor, scale: Tensor, level: Tensor
    ) -> None:
        """Take the states in order, their gains and weights [M, K]; the row, rank, scale and level of tokens [N]."""
        self._size, self._order = order.shape[-1], order.flatten()
        self._gains, self._weights = gain.cumsum(-1).flatten(), weight.cumsum(-1).flatten()
        self._start, self._rank, self._scale, self._level = which * self._size, rank, scale, level
        lost = self._lost_to_first(rank.clamp(min=1), EVERYWHERE)
        self.rate = torch.where(rank > 0, lost, torch.zeros_like(lost)).clamp_(min=0)

    def destination(self, uniforms: Tensor, here: Places = EVERYWHERE) -> Tensor:
        wanted, last = uniforms * self.rate[here], (self._rank[here] - 1).clamp(min=0)
        number = bisect(lambda middle: self._lost_to_first(middle + 1, here) > wanted, last, self._size)
        return self._order[self._start[here] + number]

    def _lost_to_first(self, count: Tensor, here: Places) -> Tensor:
        """Return the sum of the rates to the first `count` [n] states, at least one, for the tokens `here`, [n]."""
        at = self._start[here] + count - 1
        return self._scale[here] * self._gains[at] - self._level[here] * self._weights[at]


class HubJump(Jump):
    """The jump when all mass passes through x1: states that lose send it to x1, and x1 sends it to those that gain."""

    def __init__(self, state: State, hubs: Tensor, which: Tensor, x1: Tensor, z: Tensor) -> None:
        """Take the states of the path [M, K] with their x1 as hubs [M]; for each token its row `which`, x1, z [N]."""
        gains = state.prob_dot.clamp(min=0).scatter(-1, hubs[:, None], 0.0)
        total = gains.sum(-1, keepdim=True)
        from_hub = (total * inverse_mass(state, hubs)).squeeze(-1)
        self._x1, self._which, self._at_hub = x1, which, z == x1
        losing = (-state.log_prob_dot[which, z]).clamp(min=0)
        self.rate = torch.where(self._at_hub, from_hub[which], losing)
        self._running = (gains + (total == 0)).cumsum(-1)

    def destination(self, uniforms: Tensor, here: Places = EVERYWHERE) -> Tensor:
        from_hub = draw_by_totals(self._running, uniforms, self._which[here])
        return torch.where(self._at_hub[here], from_hub, self._x1[here])


def campbell_jump(state: State, which: Tensor, z: Tensor) -> Jump:
    """Return the jump of Campbell's velocity, at the rates [dp(x) / p(z) - dlog p(z)]_+ / |S|.

    The states are sorted by dp = p dlog p in logarithms, because late on a path most of these numbers underflow. Even
    then a token that has not arrived goes to all states that lose less than its own: those farther from x1.
    """
    sign, size = state.log_prob_dot.sign(), state.log_prob + state.log_prob_dot.abs().log()
    by_size = torch.where(sign > 0, size, -size).argsort(dim=-1, descending=True, stable=True)
    order = _by_sign(sign.gather(-1, by_size), by_size)
    ranks = torch.empty_like(order)
    ranks.scatter_(-1, order, torch.arange(order.shape[-1], device=order.device).expand_as(order))
    support = state.support.double()
    share = support / support.sum(-1, keepdim=True)
    changing = torch.where(sign != 0, state.log_prob, -torch.inf).amax(-1, keepdim=True)  # masses are in this unit
    changing = torch.where(changing > -torch.inf, changing, 0.0)
    gain = share * torch.where(sign != 0, state.log_prob_dot * torch.exp((state.log_prob - changing).clamp(max=0)), 0.0)
    there = (state.log_prob[which, z] > -torch.inf).double()
    from_z = (changing.squeeze(-1)[which] - state.log_prob[which, z]).clamp(max=LARGEST_LOG_RATE)
    level, scale = state.log_prob_dot[which, z] * there, torch.exp(from_z) * there
    return SortedJump(order, gain.gather(-1, order), share.gather(-1, order), which, ranks[which, z], scale, level)


def _by_sign(signs: Tensor, states: Tensor) -> Tensor:
    """Return the states [M, K] with the positive signs first and the negative ones last, else in the order given."""
    places, first = torch.empty_like(states), torch.zeros_like(states[..., :1])
    for here in (signs > 0, signs == 0, signs < 0):
        number = here.cumsum(-1)
        places, first = torch.where(here, first + number - 1, places), first + number[..., -1:]
    return torch.empty_like(states).scatter_(-1, places, states)
