"""Schemes in the sampler: how often they ask, what the order of confidence keeps, and what they refuse."""

from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from pipeline.flow.allowed import Allowed
from pipeline.flow.clamp import Clamp
from pipeline.flow.correctors import Corrector
from pipeline.flow.errors import FlowError
from pipeline.flow.grids import GRIDS
from pipeline.flow.paths import build_path, example_path
from pipeline.flow.sampler import Samples, sample
from pipeline.flow.schemes import SCHEMES, build_scheme
from pipeline.flow.schemes.confidence import left
from pipeline.flow.token_likelihoods import log_likelihood
from pipeline.flow.vocabulary import Vocabulary

FIVE = Vocabulary.single(5, specials=1)
CRYSTAL = Vocabulary([0, 0, 0, 0, 1, 1, 1, 2, -1])  # two kinds of data, a pad, a mask
MASKED = build_path("mask", FIVE)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def noisy(x: Tensor, t: Tensor) -> Tensor:
    """Return logits that depend on all of x, and on nothing else."""
    return torch.randn(*x.shape, 6, generator=seeded(int((x * torch.arange(1, 1 + x.shape[1])).sum()) % 1000))


def draw(scheme: str = "confidence", **options: Any) -> Samples:
    given = {"model": noisy, "path": MASKED, "shape": (16, 8), "steps": 4, "generator": seeded()}
    return sample(scheme=scheme, **(given | options))


@pytest.mark.parametrize("name", SCHEMES.names())
def test_a_scheme_asks_as_often_as_it_says(name: str) -> None:
    asked: list[float] = []

    def model(x: Tensor, t: Tensor) -> Tensor:
        asked.append(float(t[0]))
        return torch.zeros(*x.shape, 6)

    drawn = draw(name, model=model, steps=5, way="steps")
    assert len(asked) == drawn.evaluations == 5 * build_scheme(name).evaluations
    assert asked == sorted(asked)
    assert drawn.visits.tolist() == [drawn.evaluations] * 16
    assert bool((drawn.tokens < 5).all())


def test_theta_says_where_in_a_step_the_model_is_asked_again() -> None:
    asked: list[float] = []

    def model(x: Tensor, t: Tensor) -> Tensor:
        asked.append(round(float(t[0]), 6))
        return torch.zeros(*x.shape, 6)

    draw(build_scheme("theta_trapezoidal", theta=0.25), model=model, steps=2)  # type: ignore[arg-type]
    assert asked == [0.0, 0.125, 0.5, 0.625]


@pytest.mark.parametrize("name", SCHEMES.names())
def test_the_same_seed_gives_the_same_samples(name: str) -> None:
    first, again, other = (draw(name, generator=seeded(seed)).tokens for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("scheduler", ["linear", "cubic", "kinetic_optimal"])
@pytest.mark.parametrize("steps", [1, 3, 8, 20])
@pytest.mark.parametrize("grid", ["uniform", "equal_jumps"])
def test_as_many_tokens_are_unmasked_in_each_step_as_the_scheduler_says(grid: str, steps: int, scheduler: str) -> None:
    path, seen = build_path("mask", FIVE, scheduler=scheduler), []
    times = GRIDS.get(grid)(path, steps)
    draw(path=path, steps=times, on_step=lambda x, t: seen.append((x == 5).sum(-1)))
    kappa = path.scheduler.kappa(torch.tensor(times).double(), torch.zeros(steps + 1, dtype=torch.int64))  # type: ignore[attr-defined]
    for masked, arrived in zip(seen, kappa.tolist(), strict=True):
        assert masked.unique().numel() == 1
        assert 0 <= int(masked[0]) - 8 * (1 - arrived) < 1 + 1e-6
        assert (int(masked[0]) == 0) == (arrived == 1)  # the last step has work


def test_unmasked_tokens_never_change() -> None:
    seen: list[Tensor] = []
    draw(steps=20, on_step=lambda x, t: seen.append(x))
    for before, after in pairwise(seen):
        assert torch.equal(after[before != 5], before[before != 5])
    assert bool((seen[-1] < 5).all())


def test_without_noise_the_surest_tokens_come_first() -> None:
    def spread(x: Tensor, t: Tensor) -> Tensor:  # equal chances of few tokens or many
        rows = torch.zeros(8, 6)
        for place, count in enumerate((5, 1, 4, 2, 5, 1, 3, 3)):
            rows[place, count:] = -torch.inf
        return rows.expand(len(x), -1, -1)

    seen: list[Tensor] = []
    draw(build_scheme("confidence", temperature=0.0), model=spread, on_step=lambda x, t: seen.append(x != 5))  # type: ignore[arg-type]
    assert bool((seen[1] == torch.tensor([0, 1, 0, 0, 0, 1, 0, 0]).bool()).all())
    assert bool((seen[2][:, [1, 3, 5]]).all())
    assert not bool(seen[3][:, [0, 4]].all(-1).any())
    orders = torch.stack(seen).long().sum(0)  # for how long each token was there
    assert orders[:, 6].unique().numel() > 1 or orders[:, 7].unique().numel() > 1  # ties are broken at random


def test_noise_changes_the_order_less_and_less() -> None:
    def spread(x: Tensor, t: Tensor) -> Tensor:
        rows = torch.zeros(8, 6)
        rows[:4, 1:] = -torch.inf  # the first four are certain
        return rows.expand(len(x), -1, -1)

    def early(temperature: float) -> float:
        seen: list[Tensor] = []
        draw(
            build_scheme("confidence", temperature=temperature),  # type: ignore[arg-type]
            model=spread,
            shape=(400, 8),
            steps=2,
            on_step=lambda x, t: seen.append(x),
        )
        return float((seen[1][:, :4] != 5).double().mean())

    assert early(0.0) == 1.0
    assert early(0.0) > early(2.0) > early(10.0) > 0.5 - 0.05
    assert abs(early(1e6) - 0.5) < 0.05


@pytest.mark.parametrize("name", SCHEMES.names())
@pytest.mark.parametrize("noised", [False, True])
def test_given_tokens_are_kept_and_the_rest_stays_of_its_kind(name: str, noised: bool) -> None:
    path = example_path("mask", CRYSTAL)
    kinds, tokens = torch.tensor([0, 0, 1, 2]).expand(8, -1), torch.tensor([1, 3, 5, 7]).expand(8, -1)
    fixed = torch.tensor([True, False, True, False]).expand(8, -1)
    seen: list[Tensor] = []

    def model(x: Tensor, t: Tensor) -> Tensor:
        seen.append(x)
        return torch.zeros(*x.shape, 9)

    drawn = sample(
        model,
        path,
        kinds=kinds,
        steps=6,
        scheme=name,
        way="steps",
        clamp=Clamp(tokens, fixed, noised),
        generator=seeded(),
    ).tokens
    assert torch.equal(drawn[fixed], tokens[fixed])
    assert torch.equal(CRYSTAL.kinds_of(drawn), kinds)
    assert all(torch.equal(x[fixed], tokens[fixed]) for x in seen) != noised


@pytest.mark.parametrize("name", SCHEMES.names())
def test_tokens_end_in_their_sets_of_allowed_ones(name: str) -> None:
    sets = torch.tensor([[1, 1, 1, 1, 1, 0], [0, 0, 1, 0, 1, 0]], dtype=torch.bool)
    which = (torch.arange(8) % 2).expand(16, -1)
    drawn = draw(name, allowed=Allowed(sets, which)).tokens
    assert set(drawn[:, 1::2].unique().tolist()) == {2, 4}
    assert len(drawn[:, ::2].unique()) == 5


@pytest.mark.parametrize("name", SCHEMES.names())
def test_filters_hold_in_every_scheme(name: str) -> None:
    def model(x: Tensor, t: Tensor) -> Tensor:
        return torch.tensor([0.0, 0.4, 0.3, 0.2, 0.1, 9.0]).expand(*x.shape, 6)

    for options in ({"temperature": 1e-3}, {"top_k": 1}, {"top_p": 1e-6}):
        assert bool((draw(name, model=model, **options).tokens == 1).all())


@pytest.mark.parametrize("name", ["confidence", "theta_trapezoidal"])
def test_a_model_that_returns_nan_is_an_error(name: str) -> None:
    with pytest.raises(FlowError):
        draw(name, model=lambda x, t: torch.full((*x.shape, 6), torch.nan))


@pytest.mark.parametrize("path", ["uniform", "statistics", "metric", "hybrid", "geodesic", "kindwise"])
def test_only_mask_paths_have_an_order_of_confidence(path: str) -> None:
    with pytest.raises(FlowError, match="needs a mask path; use the scheme plain"):
        draw(path=example_path(path, FIVE))


@pytest.mark.parametrize("options", [{"corrector": Corrector(1.0)}, {"velocity": "campbell"}])
def test_an_order_of_confidence_takes_nothing_else_that_moves_tokens(options: dict[str, Any]) -> None:
    with pytest.raises(FlowError, match="takes no corrector and no velocity but kinetic_optimal"):
        draw(**options)


@pytest.mark.parametrize("name", ["confidence", "theta_trapezoidal"])
def test_events_follow_the_plain_scheme_only(name: str) -> None:
    assert draw("plain").visits.sum() < draw("plain", way="steps").visits.sum()
    with pytest.raises(FlowError, match=r"events need .* the plain scheme"):
        draw(name, way="events")


@pytest.mark.parametrize(
    "name, option, value",
    [
        ("theta_trapezoidal", "theta", 0.0),
        ("theta_trapezoidal", "theta", 1.0),
        ("confidence", "temperature", -1.0),
        ("confidence", "temperature", float("inf")),
    ],
)
def test_options_out_of_range_are_errors(name: str, option: str, value: float) -> None:
    with pytest.raises(FlowError, match=f"^{option}: must"):
        build_scheme(name, **{option: value})


def test_tokens_left_are_rounded_up_and_exact_shares_stay() -> None:
    for t, expected in ((0.0, 12), (0.25, 9), (0.26, 9), (1 / 3, 8), (0.999, 1), (1.0, 0)):
        assert int(left(MASKED, torch.tensor(12), t)) == expected


def test_likelihoods_of_too_many_tokens_are_an_error() -> None:
    path = build_path("metric", Vocabulary.single(9000))
    with pytest.raises(FlowError, match="MetricPath has no likelihoods for as many as 9000 tokens"):
        log_likelihood(path, torch.zeros(1, dtype=torch.int64), torch.tensor(0.5).double())
