"""The law of one step of each scheme, over all sequences. Letters in shapes are those of `law`."""

from collections.abc import Callable
from itertools import permutations
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from pipeline.flow.schemes import Scheme
from pipeline.flow.schemes.confidence import Confidence, left
from pipeline.flow.schemes.plain import Plain
from pipeline.flow.schemes.theta_trapezoidal import ThetaTrapezoidal, carry
from pipeline.flow.steps import Transition

if TYPE_CHECKING:
    from pipeline.known.bench.law import Laws


def plain_step(laws: "Laws", scheme: Plain, transition: Transition, law: Tensor, t: float, t_next: float) -> Tensor:
    """Return the law at t_next, given the law [U, S] at t."""
    return laws.together(law, laws.moves(transition, laws.posterior(t), laws.states, t, t_next))


def trapezoidal_step(
    laws: "Laws", scheme: ThetaTrapezoidal, transition: Transition, law: Tensor, t: float, t_next: float
) -> Tensor:
    """Return the law at t_next. The second half depends on x_t and on x*, so it goes by pairs of sequences."""
    middle, posterior = scheme.middle(t, t_next), laws.posterior(t)
    first = laws.moves(transition, posterior, laws.states, t, middle)
    if t_next == 1:
        return laws.together(laws.together(law, first), laws.posterior(middle))
    count, (states, length), several = len(law), laws.states.shape, len(laws.tokens)
    to = laws.places.expand(count, states, -1, -1)  # [U, S, S*, D], as numbers into the tokens
    chances = first[:, :, None].expand(-1, -1, states, -1, -1).gather(-1, to[..., None]).squeeze(-1)
    joint = law[:, :, None] * chances.prod(-1)
    before = torch.zeros(*posterior.shape[:-1], laws.path.vocabulary.size, dtype=torch.float64)
    before[..., laws.data] = posterior
    seen = laws.states[:, :, None].expand(count, -1, -1, several)
    carried = carry(
        laws.path, before[..., None, :].expand(*seen.shape, -1), seen, t, laws.tokens.expand_as(seen), middle
    )[..., laws.data]  # [U, S, D, X, C]
    which = to[..., None, None].expand(*to.shape, 1, carried.shape[-1])
    of_pairs = carried[:, :, None].expand(-1, -1, states, -1, -1, -1).gather(-2, which).squeeze(-2)
    drawn = scheme.extrapolate(of_pairs, laws.posterior(middle)[:, None])  # [U, S, S*, D, C]
    there = laws.states.repeat(states, 1)
    moves = laws.moves(transition, drawn.flatten(1, 2), there, middle, t_next)
    return laws.together(joint.flatten(1), moves.view(count, states**2, length, -1))


def confidence_step(
    laws: "Laws", scheme: Confidence, transition: Transition, law: Tensor, t: float, t_next: float
) -> Tensor:
    """Return the law at t_next. With Gumbel noise, tokens are kept one after the other in proportion to p^(1/noise)."""
    posterior = laws.posterior(t)
    if t_next == 1:
        return laws.together(law, posterior)
    masked = laws.states == laws.path.vocabulary.mask
    due = masked.sum(-1) - left(laws.path, torch.tensor(laws.length), t_next)
    reached = torch.zeros_like(law)
    for state, count in enumerate(due.tolist()):
        if count <= 0:
            reached[:, state] += law[:, state]
            continue
        places = masked[state].nonzero().squeeze(-1)
        drawn = torch.cartesian_prod(*[torch.arange(len(laws.data))] * len(places)).view(-1, len(places))
        probabilities = posterior[:, state, places, drawn]  # [U, draws, masked tokens]
        joint = law[:, state, None] * probabilities.prod(-1)
        scores = torch.where(joint[..., None] > 0, probabilities.log() / scheme.noise(t_next), 0.0)
        for kept in permutations(range(len(places)), count):
            chance, rest = joint, list(range(len(places)))
            for one in kept:
                chance = chance * (scores[..., one] - scores[..., rest].logsumexp(-1)).exp()
                rest.remove(one)
            after = laws.places[state].expand(len(drawn), -1).clone()
            after[:, places[list(kept)]] = laws.place_of_data[drawn[:, list(kept)]]
            reached.index_add_(1, laws.number(after), chance)
    return reached


Step = Callable[["Laws", Any, Transition, Tensor, float, float], Tensor]
STEPS_OF_LAWS: dict[type[Scheme], Step] = {
    Plain: plain_step,
    ThetaTrapezoidal: trapezoidal_step,
    Confidence: confidence_step,
}
