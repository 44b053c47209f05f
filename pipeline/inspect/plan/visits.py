"""How often the network is evaluated for a sample: only in steps in which one of its tokens may jump."""

import torch

from pipeline.config import PathChoice, Sampling
from pipeline.flow.events import Chances, chances_of
from pipeline.flow.grids import GRIDS
from pipeline.flow.paths import example_path
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.rates import rates_of
from pipeline.flow.schemes import build_scheme
from pipeline.flow.steps import STEPS
from pipeline.flow.velocities import VELOCITIES
from pipeline.flow.vocabulary import Vocabulary
from pipeline.inspect.plan.shapes import Shape

_MOST = 2**20  # chances that are computed; more would take seconds


def evaluations(path: PathChoice, sampling: Sampling, shape: Shape) -> float:
    """Return the expected evaluations for a longest sequence; as many as steps where events are not possible.

    A path that needs the frequencies of tokens is taken with made-up ones. If it has a chance for each of very many
    tokens, every step counts: in hardly any of them can no token jump.
    """
    each = build_scheme(sampling.scheme.name, **sampling.scheme.options).evaluations
    plain = sampling.scheme.name == "plain" and not sampling.corrector
    if sampling.way == "steps" or not plain or sampling.searched or not shape.positions or not is_mixture(path):
        return sampling.steps * each
    velocity = VELOCITIES.bind(sampling.velocity.name, **sampling.velocity.options)
    built = example_path(path.name, shape.vocabulary, **path.options)
    assert isinstance(built, MixturePath)
    if built.scheduler.token_dependent and shape.vocabulary.size * sampling.steps > _MOST:
        return sampling.steps
    chances = chances_of(
        rates_of(built, velocity),
        STEPS.get(sampling.step.name),
        GRIDS.bind(sampling.grid.name, **sampling.grid.options)(built, sampling.steps),
    )
    return sampling.steps if chances is None else expected_visits(chances, shape.positions)


def is_mixture(path: PathChoice) -> bool:
    """Return whether a path is a mixture of its source and the data: only these have events and likelihood bounds."""
    return isinstance(example_path(path.name, Vocabulary.single(4, specials=1)), MixturePath)


def expected_visits(chances: Chances, positions: tuple[int, ...]) -> float:
    """Return the expected number of steps with a candidate, for a sequence with positions of these kinds.

    It is sum_s 1 - prod_i (1 - c_si), with the chance c_si that token i is a candidate in step s. Where tokens jump
    `once`, c_si is the chance that its only candidate falls into step s.

    >>> sure = torch.tensor([[0.5], [1.0]], dtype=torch.float64)
    >>> expected_visits(Chances(sure, exact=True, once=True), (0, 0))  # one in each step: 1/2, both in one: 1/2
    1.5
    """
    each = chances.bound
    if chances.once:
        survival = (1 - each).cumprod(0)
        each = torch.cat([torch.ones_like(survival[:1]), survival[:-1]]) * each
    return float((1 - (1 - each[:, list(positions)]).prod(-1)).sum())
