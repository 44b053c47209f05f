"""The sampler: from the source to data along a grid of times, given a model of the posterior."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor

from pipeline.errors import did_you_mean
from pipeline.flow.allowed import Allowed
from pipeline.flow.answers import Answers
from pipeline.flow.categorical import draw_from_logits, sharpen
from pipeline.flow.checks import check_tokens, deferred_checks
from pipeline.flow.clamp import Clamp, Given
from pipeline.flow.correctors import Corrector
from pipeline.flow.errors import FlowError
from pipeline.flow.events import Chances, chances_of, follow
from pipeline.flow.grids import time_grid
from pipeline.flow.paths.base import Path
from pipeline.flow.posterior import Asked, Model, PosteriorSampler
from pipeline.flow.rates import rates_of
from pipeline.flow.schemes import Scheme, Walk, build_scheme
from pipeline.flow.schemes.plain import Plain
from pipeline.flow.steps import STEPS, Transition
from pipeline.flow.velocities import VELOCITIES, Velocity


@dataclass(frozen=True)
class Samples:
    """Tokens int64[B, D], the evaluations of all steps, and how many of them each sample really needed, int64[B]."""

    tokens: Tensor
    evaluations: int
    visits: Tensor


@torch.no_grad()
def sample(
    model: Model,
    path: Path,
    *,
    generator: torch.Generator,
    shape: tuple[int, int] | None = None,
    kinds: Tensor | None = None,
    device: torch.device | None = None,
    steps: int | Sequence[float] = 64,
    velocity: str | Velocity = "kinetic_optimal",
    step: str = "exact",
    scheme: str | Scheme = "plain",
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    corrector: Corrector | None = None,
    clamp: Clamp | None = None,
    allowed: Allowed | None = None,
    progress: Callable[[int, int], None] | None = None,
    on_step: Callable[[Tensor, float], None] | None = None,
    labels: Tensor | None = None,
    way: str = "auto",
    answers_at: bool = False,
    ragged: bool = False,
) -> Samples:
    """Draw samples. Each step draws x1 given x_t and then x_{t+h} given both; the last lands on x1 (alg:alg_sampling).
    Another `scheme` uses the model in another way (see `pipeline.flow.schemes`).

    Say which positions there are by `kinds` [B, D], or by `shape` if the vocabulary has one kind. `steps` is a number
    of equal steps, or a list of times that rises from 0 to 1 (see `GRIDS`). `progress` gets the number of steps done
    and of all steps; `on_step` gets the tokens at the start and after each step. The tokens live on `device`. The
    default is the device of `kinds`, or else of the generator. A generator on the CPU gives the same draws on every
    device.

    The way "steps" asks the model about every sample in every step. "events" asks only where a token may jump, which
    needs a mixture path under its kinetic-optimal velocity (see `pipeline.flow.events`). Both have the same law, and
    "auto" takes events where it can; then `on_step` is called at the end. So the model sees some of the samples at a
    time, in any order, and must treat each by itself. What differs between samples is given as `labels` [B] and passed
    on to it. Say so if it `answers_at` some places only, or takes `ragged` batches: without the last columns if no
    sample has anything to generate there.

    The tokens that a `clamp` fixes are kept, and every other token ends in its set of `allowed` ones.

    >>> path = build_path("metric", Vocabulary.single(4))
    >>> model = ExactPosterior(path, torch.tensor([[0, 1], [3, 2]]), torch.tensor([0.5, 0.5]))
    >>> generator = torch.Generator().manual_seed(0)
    >>> drawn = sample(model, path, shape=(4, 2), steps=32, velocity="power_infinity", generator=generator)
    >>> drawn.tokens, drawn.evaluations
    (tensor([[3, 2],
            [3, 2],
            [3, 2],
            [0, 1]]), 32)
    """
    if not path.ends_at_x1:
        raise FlowError(f"path: {type(path).__name__} does not end at x1, where the sampler lands")
    kinds = _layout(path, shape, kinds, device, generator)
    grid = _grid(steps)
    given = None if clamp is None else Given(clamp, path, kinds, generator)
    rule = partial(STEPS.get(step), path)
    transition = Transition(path, VELOCITIES.get(velocity) if isinstance(velocity, str) else velocity, step, corrector)
    scheme = build_scheme(scheme) if isinstance(scheme, str) else scheme
    scheme.check(transition)
    chances = _chances(transition, scheme, grid, way, clamp)
    draw = partial(draw_from_logits, temperature=temperature, top_k=top_k, top_p=top_p)
    filters = partial(sharpen, temperature=temperature, top_k=top_k, top_p=top_p)
    if allowed is not None:
        allowed = allowed.on(kinds.device)
        allowed.check(path.vocabulary, kinds, clamp)
    posterior = PosteriorSampler(model, path, draw, labels, answers_at, allowed)
    evaluations = scheme.evaluations * (len(grid) - 1)
    with deferred_checks():
        x = path.sample_source(kinds, generator)
        x = x if given is None else given.put(x, grid[0])
        if chances is not None:
            free = torch.ones_like(kinds, dtype=torch.bool) if clamp is None else ~clamp.fixed
            x, visits = follow(
                posterior,
                chances,
                lambda x1, t, t_next: rule(torch.ones_like(t), x1, t, t_next),
                x,
                free,
                kinds,
                _lengths(path, kinds, ragged),
                grid,
                generator,
                progress,
                on_step,
            )
        else:
            put = (lambda x, t: x) if given is None else given.put
            asked = Asked.everything(kinds, path.vocabulary)
            answers = Answers(model, path, kinds, filters, labels, allowed)
            walk = Walk(posterior, answers, transition, asked, x, put, generator)
            x = _follow_steps(scheme, walk, grid, progress, on_step)
            visits = torch.full((len(x),), evaluations)
    return Samples(x, evaluations, visits)


def _follow_steps(
    scheme: Scheme,
    walk: Walk,
    grid: list[float],
    progress: Callable[[int, int], None] | None,
    on_step: Callable[[Tensor, float], None] | None,
) -> Tensor:
    """Return the tokens at the end of the grid, after evaluations of all sequences in each step."""
    x = walk.start
    if on_step:
        on_step(x, grid[0])
    for done, (t, t_next) in enumerate(pairwise(grid), start=1):
        x = scheme.step(walk, x, t, t_next)
        if on_step:
            on_step(x, t_next)
        if progress:
            progress(done, len(grid) - 1)
    return x


WAYS = ("auto", "events", "steps")


def _chances(
    transition: Transition, scheme: Scheme, grid: list[float], way: str, clamp: Clamp | None
) -> Chances | None:
    """Return the chances of jumps if events are wanted and possible."""
    if way not in WAYS:
        raise FlowError(f"unknown way {way!r}; {did_you_mean(way, WAYS)}")
    if way == "steps":
        return None
    plain = isinstance(scheme, Plain) and transition.corrector is None and not (clamp is not None and clamp.noised)
    rates = rates_of(transition.path, transition.velocity)
    chances = chances_of(rates, partial(STEPS.get(transition.step)), grid) if plain else None
    if chances is None and way == "events":
        raise FlowError(
            "way: events need a mixture path under its kinetic-optimal velocity, the plain scheme, no corrector and no "
            "noised clamp; use the way steps"
        )
    return chances


def _lengths(path: Path, kinds: Tensor, ragged: bool) -> Tensor:
    """Return how many columns each sequence needs, [B]: up to the last token with more than one possible value."""
    count = kinds.shape[1]
    if not ragged:
        return torch.full((len(kinds),), count)
    several = path.vocabulary.targets(torch.arange(path.vocabulary.kinds)).sum(-1) > 1
    return (several[kinds.cpu()] * torch.arange(1, count + 1)).amax(-1).clamp(min=1)


def _layout(
    path: Path,
    shape: tuple[int, int] | None,
    kinds: Tensor | None,
    device: torch.device | None,
    generator: torch.Generator,
) -> Tensor:
    if kinds is not None:
        check_tokens(kinds, path.vocabulary.kinds, "kinds")
        return kinds.to(device or kinds.device)
    if shape is None:
        raise FlowError("shape: give the shape (B, D) of the samples, or the kinds of their positions")
    if path.vocabulary.kinds > 1:
        raise FlowError(f"kinds: the vocabulary has {path.vocabulary.kinds} kinds of positions; say which is where")
    return torch.zeros(shape, dtype=torch.int64, device=device or generator.device)


def _grid(steps: int | Sequence[float]) -> list[float]:
    if isinstance(steps, int):
        return time_grid(steps)
    grid = [float(time) for time in steps]
    rises = all(earlier < later for earlier, later in pairwise(grid))
    if len(grid) < 2 or grid[0] != 0 or grid[-1] != 1 or not rises:
        raise FlowError(f"steps: a list of times must rise from 0 to 1, got {grid[:3]} ... {grid[-1:]}")
    return grid
