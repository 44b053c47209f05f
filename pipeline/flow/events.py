"""Event-driven sampling: the network is asked only about sequences in which a token may jump.

On a mixture path a token that jumps lands on x1, whatever it was before. How likely it is to jump in a step does not
depend on the network, or is bounded by a number that does not. So all candidate jumps can be drawn first:

- In each step a token is a candidate with the bound as its probability.
- A candidate draws x1 from the network and jumps to it with probability (chance of x1) / bound.

This is the law of the plain sampler, which draws x1 for every token in every step and mostly throws it away. A mask
path has one candidate jump for each token. Sequences do not depend on each other, so the events of different sequences
go through the network in one batch, each sequence at its own time.

Letters in shapes: B sequences, D tokens of each, S steps, M candidates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch

import torch
from torch import Tensor

from pipeline.flow.categorical import uniform
from pipeline.flow.chunks import row_chunks
from pipeline.flow.closed_forms.kindwise import KindwiseRates
from pipeline.flow.closed_forms.mixture import MixtureRates
from pipeline.flow.posterior import Asked, PosteriorSampler
from pipeline.flow.rates import Rates, rates_of
from pipeline.flow.visits import Schedule


@dataclass(frozen=True)
class Chances:
    """How likely a token is to jump in each step, at most, float64[S, kinds].

    `exact`: the chance is the same for every x1. `once`: a token that has jumped stays, as on a mask path.
    """

    bound: Tensor
    exact: bool
    once: bool


StepRule = Callable[..., Tensor]  # a function of STEPS


@singledispatch
def chances_of(rates: Rates, rule: StepRule, grid: Sequence[float]) -> Chances | None:
    """Return the chances of jumps along a grid of S + 1 times, or None where only the network knows them.

    On a metric path, for example, they depend on how far a token is from x1, and a bound for all x1 is near 1.
    """
    return None


@chances_of.register
def _(rates: MixtureRates, rule: StepRule, grid: Sequence[float]) -> Chances | None:
    path, vocabulary = rates.path, rates.path.vocabulary
    exact = not path.scheduler.token_dependent
    starts, ends = torch.tensor(grid[:-2], dtype=torch.float64), torch.tensor(grid[1:-1], dtype=torch.float64)
    bound = torch.zeros(len(grid) - 1, vocabulary.kinds, dtype=torch.float64)
    for kind, targets in enumerate(vocabulary.targets(torch.arange(vocabulary.kinds))):
        tokens = targets.nonzero().squeeze(-1)
        if len(tokens) == 1:
            continue  # there is nothing to generate
        x1 = tokens[:1] if exact else tokens
        for steps in row_chunks(len(starts), len(x1)):
            t, t_next = (times[steps, None].expand(-1, len(x1)) for times in (starts, ends))
            bound[:-1][steps, kind] = rule(path, torch.ones_like(t), x1.expand_as(t), t, t_next).amax(-1)
        bound[-1, kind] = 1  # the last step lands on x1
    return Chances(bound, exact, once=exact and not path.needs_time)


@chances_of.register
def _(rates: KindwiseRates, rule: StepRule, grid: Sequence[float]) -> Chances | None:
    of_kinds = [chances_of(rates_of(path, rates.velocity), rule, grid) for path in rates.path.paths]
    if any(chances is None for chances in of_kinds):
        return None
    known = [chances for chances in of_kinds if chances is not None]
    bound = torch.stack([chances.bound[:, kind] for kind, chances in enumerate(known)], dim=-1)
    return Chances(bound, all(chances.exact for chances in known), all(chances.once for chances in known))


def draw_candidates(
    chances: Chances, kinds: Tensor, free: Tensor, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Return rows, columns and steps of all candidates, [M] each; tokens [B, D] that are not `free` have none.

    >>> chances = Chances(torch.tensor([[0.5], [1.0]], dtype=torch.float64), exact=True, once=True)
    >>> kinds = torch.zeros(1, 6, dtype=torch.int64)
    >>> draw_candidates(chances, kinds, kinds == 0, torch.Generator().manual_seed(0))[2]
    tensor([1, 1, 0, 1, 1, 1])
    """
    steps = len(chances.bound)
    if not chances.once:
        found = [
            (uniform(kinds.shape, generator, kinds.device) < bound[kinds]).logical_and_(free).nonzero()
            for bound in chances.bound.to(kinds.device)
        ]
        counts = torch.tensor([len(part) for part in found])
        rows, columns = torch.cat(found).cpu().unbind(-1)
        return rows, columns, torch.arange(steps).repeat_interleave(counts)
    survival = (1 - chances.bound).cumprod(0).cpu()  # of a token through the first 1, ..., S steps
    numbers = 1 - uniform(kinds.shape, generator, torch.device("cpu"))
    kinds, first = kinds.cpu(), torch.full(kinds.shape, steps)
    for kind in range(survival.shape[1]):
        here = kinds == kind
        first[here] = torch.searchsorted(-survival[:, kind].contiguous(), -numbers[here], right=True)
    rows, columns = ((first < steps) & free.cpu()).nonzero().unbind(-1)
    return rows, columns, first[rows, columns]


def follow(
    posterior: PosteriorSampler,
    chances: Chances,
    chance_of: Callable[[Tensor, Tensor, Tensor], Tensor],
    x: Tensor,
    free: Tensor,
    kinds: Tensor,
    lengths: Tensor,
    grid: Sequence[float],
    generator: torch.Generator,
    progress: Callable[[int, int], None] | None = None,
    on_step: Callable[[Tensor, float], None] | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the tokens x [B, D] at the end of the grid, and how often each sequence visited the network, [B].

    `chance_of` (x1, t, t_next) is the chance of a jump to x1. `free` [B, D] are the tokens that may change.
    """
    count, device, times = len(grid) - 1, x.device, torch.tensor(grid, dtype=torch.float64)
    host = torch.device("cpu")
    schedule = Schedule.of(
        *draw_candidates(chances, kinds, free, generator), kinds.to(host), chances.bound.shape[1], lengths
    )
    uniforms = uniform((len(schedule.columns),), generator, host).to(device)
    accepting = None if chances.exact else uniform(uniforms.shape, generator, host).to(device)
    rows, columns, of_kind = (part.to(device) for part in (schedule.rows, schedule.columns, schedule.kinds))
    starts, ends = times[schedule.steps].to(device), times[schedule.steps + 1].to(device)
    slots, bound = schedule.slots.to(device), chances.bound[schedule.steps].to(device)
    changes, start = [], x.clone()
    x = start.clone()
    for number, piece in enumerate(schedule.pieces, start=1):
        here, slot, column, kind = rows[piece.visits], *(part[piece.candidates] for part in (slots, columns, of_kind))
        asked = Asked(here, slot * piece.width + column, kind, piece.of_kinds)
        t, t_next = starts[piece.visits], ends[piece.visits]
        x1 = posterior.draw(x[here, : piece.width], t.float(), asked, uniforms[piece.candidates])
        if accepting is not None:
            chance = torch.where(t_next[slot] == 1, 1.0, chance_of(x1, t[slot], t_next[slot]))
            accepted = accepting[piece.candidates] * bound[piece.visits][slot, kind] < chance
            x1 = torch.where(accepted, x1, x[here[slot], column])
        x[here[slot], column] = x1
        if on_step:
            changes.append(x1)
        if progress:
            progress(number * count // len(schedule.pieces), count)
    if on_step:
        _replay(schedule, start, changes, grid, on_step)
    return x, torch.bincount(schedule.rows, minlength=len(x))


def _replay(
    schedule: Schedule,
    x: Tensor,
    changes: list[Tensor],
    grid: Sequence[float],
    on_step: Callable[[Tensor, float], None],
) -> None:
    """Show the tokens at every time of the grid, one step of all sequences after the other."""
    on_step(x, grid[0])
    places, steps = [], []
    for piece in schedule.pieces:
        slots = schedule.slots[piece.candidates]
        places.append(schedule.rows[piece.visits][slots] * x.shape[1] + schedule.columns[piece.candidates])
        steps.append(schedule.steps[piece.visits][slots])
    step = torch.cat(steps) if steps else torch.empty(0, dtype=torch.int64)
    order = torch.argsort(step, stable=True)
    sizes = torch.bincount(step, minlength=len(grid) - 1).tolist()
    at, tokens = (
        torch.cat(parts)[order.to(x.device)].split(sizes) for parts in (_on(places, x), changes or _on([], x))
    )
    for place, token, time in zip(at, tokens, grid[1:], strict=True):
        x = x.flatten().index_put((place,), token).view_as(x)
        on_step(x, time)


def _on(parts: list[Tensor], x: Tensor) -> list[Tensor]:
    return [part.to(x.device) for part in parts] or [x.new_empty(0)]
