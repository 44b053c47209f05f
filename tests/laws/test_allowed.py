"""Restricted samples: none leaves its set, and their law is that of the posterior conditioned on the sets."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor

from pipeline.flow import posterior
from pipeline.flow.allowed import Allowed
from pipeline.flow.clamp import Clamp
from pipeline.flow.correctors import Corrector
from pipeline.flow.errors import FlowError
from pipeline.flow.paths import PATHS, Path, example_path
from pipeline.flow.posterior import ExactPosterior, constrain
from pipeline.flow.sampler import sample
from pipeline.flow.steps import Transition
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal
from pipeline.flow.vocabulary import Vocabulary

VOCABULARY = Vocabulary([0, 0, 0, 0, 1, 1, 1, 2, -1])  # two kinds of data, a pad, a mask
KINDS = torch.tensor([0, 1])
SETS = torch.ones(3, 9, dtype=torch.bool)
SETS[1, [0, 3, 5]] = False
SETS[2, [0, 2]] = False
GRID = (0.0, 0.4, 0.7, 1.0)
COUNT = 200_000
OPTIONS = {
    "metric": {"lp": 2.0, "a": 1.0, "c": 2.0},
    "kindwise": {"paths": [{"name": "metric"}, {"name": "uniform"}, {"name": "mask"}]},
    "kindwise of mixtures": {"paths": [{"name": "mask"}, {"name": "uniform"}, {"name": "uniform"}]},
}
FIVE = ("mask", "uniform", "statistics", "metric", "kindwise")
MIXTURES = ("mask", "uniform", "statistics", "kindwise of mixtures")
WAYS = [*((name, "steps") for name in FIVE), *((name, "events") for name in MIXTURES)]


def path_of(name: str) -> Path:
    return example_path(name.removesuffix(" of mixtures"), VOCABULARY, **OPTIONS.get(name, {}))


def model_of(columns: int) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a posterior that depends on all tokens and on the time."""
    table = 2 * torch.randn(9**columns, columns, 9, generator=torch.Generator().manual_seed(5))
    weights = 9 ** torch.arange(columns)
    return lambda x, t: table[(x * weights).sum(-1)] * (1 + t[:, None, None].float())


def exact_law(path: Path, sets: Tensor, grid: Sequence[float]) -> Tensor:
    """Return the joint distribution of the two tokens at the end, [K * K], from the full chain."""
    states, kernel = torch.cartesian_prod(torch.arange(9), torch.arange(9)), Transition(path, kinetic_optimal)
    first, second = path.source(KINDS).exp()
    law = (first[:, None] * second).flatten()
    for t, t_next in itertools.pairwise(grid):
        logits = constrain(path, model_of(2)(states, torch.full((81,), t)).double(), states, KINDS.expand_as(states))
        inside = torch.softmax(logits, -1) * sets
        inside = inside / inside.sum(-1, keepdim=True)
        stays = path.absorbed(states, KINDS.expand_as(states))
        inside = torch.where(stays[..., None], torch.nn.functional.one_hot(states, 9).double(), inside)
        moves = torch.zeros(81, 2, 9, dtype=torch.float64)
        for x1 in range(9):
            for column in range(2):
                if VOCABULARY.kind_of.values[x1] == KINDS[column]:
                    z, times = states[:, column], torch.full((81,), t, dtype=torch.float64)
                    rows = kernel.probabilities(torch.full_like(z, x1), z, times, torch.full_like(times, t_next))
                    moves[:, column] += inside[:, column, x1, None] * rows
        law = law @ (moves[:, 0, :, None] * moves[:, 1, None, :]).flatten(1)
    return law


def p_value(name: str, way: str) -> float:
    """Return how well restricted samples fit the exact law; 0 if one is not in its set."""
    path = path_of(name)
    drawn = sample(
        model_of(2),
        path,
        kinds=KINDS.expand(COUNT, -1),
        allowed=Allowed(SETS, torch.tensor([2, 1]).expand(COUNT, -1)),
        steps=GRID,
        way=way,
        generator=torch.Generator().manual_seed(0),
    ).tokens
    law = exact_law(path, SETS[[2, 1]], GRID)
    counts = torch.bincount(drawn[:, 0] * 9 + drawn[:, 1], minlength=81).double()
    possible = law > 1e-12
    if counts[~possible].any():
        return 0.0
    return float(chisquare(counts[possible], law[possible] / law.sum() * COUNT).pvalue)


@pytest.mark.parametrize("name, way", WAYS)
def test_restricted_samples_have_the_exact_joint_law(name: str, way: str) -> None:
    assert p_value(name, way) > 1e-4


@pytest.mark.parametrize("name, way", WAYS)
def test_a_posterior_that_is_not_renormalised_on_the_set_is_noticed(
    name: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Excluded mass that goes to the first token of the set, as by drawing first and mending afterwards."""
    honest = posterior.PosteriorSampler.draw

    def mended(self: posterior.PosteriorSampler, x: Tensor, t: Tensor, asked: posterior.Asked, u: Tensor) -> Tensor:
        allowed, self._allowed = self._allowed, None
        drawn = honest(self, x, t, asked, u)
        self._allowed = allowed
        assert allowed is not None
        sets = allowed.sets[allowed.at(asked.rows, x.shape[1], asked.places).which]
        inside = sets & VOCABULARY.targets(asked.kinds)
        return torch.where(inside.gather(-1, drawn[:, None])[:, 0], drawn, inside.int().argmax(-1))

    monkeypatch.setattr(posterior.PosteriorSampler, "draw", mended)
    assert p_value(name, way) < 1e-6


@pytest.mark.parametrize("name", ["mask", "uniform", "statistics", "metric", "geodesic"])
def test_a_single_token_has_the_law_of_the_data_given_its_set(name: str) -> None:
    vocabulary = Vocabulary.single(5, specials=1)
    path = example_path(name, vocabulary, **({"a": 1.0, "c": 3.0} if name == "metric" else {}))
    law = torch.tensor([0.4, 0.1, 0.2, 0.1, 0.2], dtype=torch.float64)
    inside = torch.tensor([False, True, True, False, True, False])
    drawn = sample(
        ExactPosterior(path, torch.arange(5)[:, None], law),
        path,
        shape=(8_000, 1),
        steps=64,
        allowed=Allowed(inside[None], torch.zeros(8_000, 1, dtype=torch.int64)),
        generator=torch.Generator().manual_seed(1),
    ).tokens
    seen = torch.bincount(drawn[:, 0], minlength=5) / 8_000
    assert float((seen - torch.tensor([0, 0.2, 0.4, 0, 0.4])).abs().max()) < 0.025


@pytest.mark.parametrize("corrector", [None, Corrector(1.0)])
@pytest.mark.parametrize("name", PATHS.names())
def test_no_sample_leaves_its_set_whatever_the_model_wants(name: str, corrector: Corrector | None) -> None:
    wanted = torch.zeros(9)
    wanted[[0, 3, 5]] = 1e4
    kinds = torch.tensor([0, 0, 1, 2]).expand(64, -1)
    which = torch.tensor([1, 0, 1, 0]).expand(64, -1)
    for steps in (1, 2, 9):
        drawn = sample(
            lambda x, t: wanted.expand(*x.shape, 9),
            path_of(name),
            kinds=kinds,
            steps=steps,
            top_k=2,
            corrector=corrector,
            allowed=Allowed(SETS, which),
            generator=torch.Generator().manual_seed(steps),
        ).tokens
        assert bool(SETS[which, drawn].all())
        assert torch.equal(VOCABULARY.kinds_of(drawn), kinds)


@pytest.mark.parametrize("way", ["steps", "events"])
def test_sets_that_leave_everything_change_no_token(way: str) -> None:
    path, kinds = path_of("uniform"), KINDS.expand(50, -1)
    options = {"kinds": kinds, "steps": 6, "way": way}
    allowed = Allowed(SETS, torch.zeros_like(kinds))
    plain, restricted = (
        sample(model_of(2), path, generator=torch.Generator().manual_seed(2), allowed=sets, **options).tokens
        for sets in (None, allowed)
    )
    assert torch.equal(plain, restricted)


@pytest.mark.parametrize("noised", [False, True])
@pytest.mark.parametrize("name", FIVE)
def test_a_clamp_and_sets_hold_together(name: str, noised: bool) -> None:
    kinds, tokens = KINDS.expand(40, -1), torch.tensor([0, 0]).expand(40, -1)
    fixed = torch.tensor([True, False]).expand(40, -1)
    allowed = Allowed(SETS, torch.tensor([0, 1]).expand(40, -1))
    drawn = sample(
        model_of(2),
        path_of(name),
        kinds=kinds,
        steps=5,
        clamp=Clamp(tokens, fixed, noised),
        allowed=allowed,
        generator=torch.Generator().manual_seed(0),
    ).tokens
    assert bool((drawn[:, 0] == 0).all())
    assert bool((drawn[:, 1] != 5).all())


WHICH = torch.tensor([[2, 1]])
FAULTS = {
    "sets of another size": (Allowed(SETS[:, :8], WHICH), r"allowed\.sets: .*\(sets, 9\)"),
    "sets that are no booleans": (Allowed(SETS.int(), WHICH), r"allowed\.sets: booleans"),
    "another shape": (Allowed(SETS, WHICH[:, :1]), r"allowed\.which: .*\(1, 2\)"),
    "a set that is not there": (Allowed(SETS, WHICH + 1), r"allowed\.which: there are sets 0\.\.2"),
    "nothing left": (Allowed(SETS & ~VOCABULARY.targets(torch.tensor(1)), WHICH), r"no token is left at 1 positions"),
}


@pytest.mark.parametrize("allowed, message", FAULTS.values(), ids=FAULTS)
def test_sets_that_cannot_be_are_explained(allowed: Allowed, message: str) -> None:
    with pytest.raises(FlowError, match=message):
        sample(model_of(2), path_of("mask"), kinds=KINDS[None], allowed=allowed, generator=torch.Generator())


def test_a_clamp_against_a_set_is_refused() -> None:
    clamp = Clamp(torch.tensor([[0, 4]]), torch.tensor([[True, False]]))
    options = {"kinds": KINDS[None], "clamp": clamp, "generator": torch.Generator()}
    with pytest.raises(FlowError, match="a token that the clamp fixes is not in its set"):
        sample(model_of(2), path_of("mask"), allowed=Allowed(SETS, WHICH), **options)
    free = replace(clamp, fixed=torch.zeros(1, 2, dtype=torch.bool))
    sample(model_of(2), path_of("mask"), allowed=Allowed(SETS, WHICH), **options | {"clamp": free})
