"""The sampler: statistics, seeds, clamped positions, filters, guidance, and positions of several kinds."""

from itertools import pairwise

import pytest
import torch
from torch import Tensor

from pipeline.flow import chunks
from pipeline.flow.categorical import draw, sharpen
from pipeline.flow.clamp import Clamp
from pipeline.flow.correctors import Corrector
from pipeline.flow.errors import FlowError
from pipeline.flow.grids import time_grid
from pipeline.flow.guidance import guided
from pipeline.flow.paths import PATHS, Path, example_path
from pipeline.flow.paths.function import FunctionPath
from pipeline.flow.posterior import ExactPosterior
from pipeline.flow.sampler import sample
from pipeline.flow.steps import STEPS, Transition
from pipeline.flow.velocities import VELOCITIES
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal
from pipeline.flow.vocabulary import Vocabulary

SEQUENCES = torch.tensor([[0, 0], [1, 2], [2, 1], [2, 2], [0, 1]])
PROBABILITIES = torch.tensor([0.4, 0.25, 0.2, 0.1, 0.05]).double()
CRYSTAL = Vocabulary([0, 0, 0, 0, 1, 1, 1, 2, -1])  # two kinds of data, a pad, a mask


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def deviation(tokens: Tensor) -> float:
    seen = torch.stack([(tokens == sequence).all(-1).double().mean() for sequence in SEQUENCES])
    return float((seen - PROBABILITIES).abs().sum() + 1 - seen.sum()) / 2


def exact_model(path: Path) -> ExactPosterior:
    return ExactPosterior(path, SEQUENCES, PROBABILITIES)


@pytest.mark.parametrize("step", STEPS.names())
@pytest.mark.parametrize("velocity", ["kinetic_optimal", "power_infinity"])
@pytest.mark.parametrize("name", ["mask", "uniform", "statistics", "metric", "geodesic"])
def test_samples_with_the_exact_posterior_follow_the_data(name: str, velocity: str, step: str) -> None:
    path = example_path(name, Vocabulary.single(3, specials=1), **({"a": 1.0, "c": 3.0} if name == "metric" else {}))
    result = sample(
        exact_model(path), path, shape=(4000, 2), steps=50, velocity=velocity, step=step, generator=seeded()
    )
    assert result.evaluations == 50
    assert deviation(result.tokens) < 0.04


@pytest.mark.parametrize("name", ["mask", "uniform", "metric"])
def test_corrector_samples_follow_the_data_too(name: str) -> None:
    path = example_path(name, Vocabulary.single(3, specials=1), **({"a": 1.0, "c": 3.0} if name == "metric" else {}))
    result = sample(exact_model(path), path, shape=(4000, 2), steps=100, corrector=Corrector(1.0), generator=seeded())
    assert deviation(result.tokens) < 0.04


@pytest.mark.parametrize("name", PATHS.names())
def test_same_seed_gives_the_same_samples_whatever_the_chunks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = example_path(name, CRYSTAL)
    kinds = torch.tensor([0, 0, 1, 2]).expand(16, -1)
    options = {"kinds": kinds, "steps": 8, "corrector": Corrector(0.5)}

    def model(x: Tensor, t: Tensor) -> Tensor:
        return torch.randn(*x.shape, 9, generator=seeded(int(x.sum())))

    first = sample(model, path, generator=seeded(3), **options).tokens
    again = sample(model, path, generator=seeded(3), **options).tokens
    other = sample(model, path, generator=seeded(4), **options).tokens
    monkeypatch.setattr(chunks, "MEMORY_BUDGET", 8 * 8 * 9 * 5)
    in_small_chunks = sample(model, path, generator=seeded(3), **options).tokens
    assert torch.equal(first, again)
    assert torch.equal(first, in_small_chunks)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("velocity", VELOCITIES.names())
@pytest.mark.parametrize("name", PATHS.names())
def test_positions_keep_their_kind_under_every_path_and_velocity(name: str, velocity: str) -> None:
    path = example_path(name, CRYSTAL)
    kinds = torch.tensor([0, 0, 1, 2, 2]).expand(32, -1)
    for steps in (1, 2, 7):
        tokens = sample(
            lambda x, t: torch.zeros(*x.shape, 9), path, kinds=kinds, steps=steps, velocity=velocity, generator=seeded()
        ).tokens
        assert torch.equal(CRYSTAL.kinds_of(tokens), kinds)
        assert bool((tokens[:, 3:] == 7).all())  # a pad has nowhere to go


@pytest.mark.parametrize("noised", [False, True])
@pytest.mark.parametrize("name", PATHS.names())
def test_clamped_positions_are_kept(name: str, noised: bool) -> None:
    path = example_path(name, CRYSTAL)
    kinds, tokens = torch.tensor([0, 0, 1, 2]).expand(8, -1), torch.tensor([1, 3, 5, 7]).expand(8, -1)
    fixed = torch.tensor([True, False, True, False]).expand(8, -1)
    seen = []
    result = sample(
        lambda x, t: torch.zeros(*x.shape, 9),
        path,
        kinds=kinds,
        steps=6,
        clamp=Clamp(tokens, fixed, noised),
        generator=seeded(),
        on_step=lambda x, t: seen.append(x),
    )
    assert torch.equal(result.tokens[fixed], tokens[fixed])
    assert all(torch.equal(x[fixed], tokens[fixed]) for x in seen[:-1]) != noised


def test_infilling_with_the_exact_posterior_draws_from_the_conditional() -> None:
    path = example_path("mask", Vocabulary.single(3, specials=1))
    tokens = torch.tensor([[2, 0]]).expand(4000, -1)
    clamp = Clamp(tokens, torch.tensor([[True, False]]).expand(4000, -1))
    drawn = sample(exact_model(path), path, shape=(4000, 2), steps=32, clamp=clamp, generator=seeded()).tokens
    assert abs(float((drawn[:, 1] == 1).double().mean()) - 0.2 / 0.3) < 0.03


@pytest.mark.parametrize(
    "corrector",
    [
        None,
        Corrector(0.7, rise=0.0),
        Corrector(5.0, rise=0.5, fall=1.0, limit=0.3),
        Corrector(0.2, kind="refresh"),
        Corrector(0.1, kind="remask"),
    ],
    ids=["no corrector", "corrector", "corrector at its limit", "refresh", "remask"],
)
@pytest.mark.parametrize("name", ["mask", "uniform", "statistics", "metric", "kindwise"])
def test_drawn_steps_follow_the_written_out_kernel(name: str, corrector: Corrector | None) -> None:
    path = example_path(name, CRYSTAL)
    transition = Transition(path, kinetic_optimal, "exact", corrector)
    count, t, t_next = 40_000, 0.4, 0.6
    for x1, z in ((1, 1), (1, 3), (0, 2), (3, 3), (5, 4), (1, 8)):
        impossible = path.log_prob(torch.tensor([x1]), torch.tensor([t]).double())[0, z] == -torch.inf
        if impossible and corrector is not None and corrector.kind != "velocity":
            continue  # such tokens are drawn anew, too, or stay
        target, start = torch.full((count,), x1), torch.full((count,), z)
        seen = torch.bincount(transition.advance(start, target, t, t_next, seeded(9)), minlength=9) / count
        times = (torch.tensor([time]).double() for time in (t, t_next))
        expected = transition.probabilities(target[:1], start[:1], *times)[0]
        assert float((seen - expected).abs().sum()) / 2 < 0.01


def test_guidance_at_scale_one_is_the_conditional_model_itself() -> None:
    def conditional(x: Tensor, t: Tensor) -> Tensor:
        return torch.randn(*x.shape, 4, generator=seeded(int(x.sum())))

    def unconditional(x: Tensor, t: Tensor) -> Tensor:
        return torch.tensor([1.0, -2.0, 0.5, 0.0]).expand(*x.shape, 4)

    assert guided(conditional, unconditional, 1.0) is conditional
    assert guided(conditional, unconditional, 0.0) is unconditional
    x = torch.zeros(2, 3, dtype=torch.int64)
    t = torch.rand(2)
    stronger = guided(conditional, unconditional, 3.0)(x, t)
    assert torch.allclose(stronger, 3 * conditional(x, t) - 2 * unconditional(x, t))


def test_guidance_does_not_hide_nan() -> None:
    path = example_path("mask", Vocabulary.single(3, specials=1))
    model = guided(lambda x, t: torch.full((*x.shape, 4), torch.nan), lambda x, t: torch.zeros(*x.shape, 4), 2.0)
    with pytest.raises(FlowError, match="NaN"):
        sample(model, path, shape=(2, 2), steps=2, generator=seeded())


def test_token_that_only_its_own_data_can_have_made_is_kept_under_a_path_given_by_log_prob_alone() -> None:
    vocabulary = Vocabulary.single(4, specials=1)

    def log_prob(x1: Tensor, t: Tensor) -> Tensor:  # a mask path, but the sampler does not know
        rows = torch.full((*x1.shape, 5), -torch.inf, dtype=torch.float64)
        rows[..., 4] = torch.log1p(-(t**2))
        return rows.scatter(-1, x1[..., None], 2 * torch.log(t)[..., None])

    seen: list[Tensor] = []
    sample(
        lambda x, t: torch.zeros(*x.shape, 5),
        FunctionPath(vocabulary, log_prob),
        shape=(200, 3),
        steps=20,
        generator=seeded(),
        on_step=lambda x, t: seen.append(x),
    )
    for before, after in pairwise(seen):
        unmasked = before != 4
        assert torch.equal(after[unmasked], before[unmasked])


def test_time_grid_counts_its_steps() -> None:
    for steps in (1, 3, 7, 100, 250, 1000):
        grid = time_grid(steps)
        assert len(grid) == steps + 1
        assert (grid[0], grid[-1]) == (0.0, 1.0)


def test_own_grid_progress_and_states_are_honoured() -> None:
    path = example_path("mask", Vocabulary.single(3, specials=1))
    progress: list[tuple[int, int]] = []
    states: list[tuple[Tensor, float]] = []
    sample(
        exact_model(path),
        path,
        shape=(8, 2),
        steps=[0.0, 0.1, 0.7, 1.0],
        generator=seeded(),
        progress=lambda done, total: progress.append((done, total)),
        on_step=lambda x, t: states.append((x, t)),
    )
    assert progress[-1] == (3, 3)
    assert [t for _, t in states] == [0.0, 0.1, 0.7, 1.0]
    assert bool((states[0][0] == 3).all())
    assert bool((states[-1][0] < 3).all())


def test_low_temperature_and_top_k_take_the_likeliest_token() -> None:
    path = example_path("mask", Vocabulary.single(3, specials=1))

    def model(x: Tensor, t: Tensor) -> Tensor:
        return torch.tensor([0.0, 0.4, 0.3, 9.0]).expand(*x.shape, 4)

    for options in ({"temperature": 1e-3}, {"top_k": 1}, {"top_p": 1e-6}):
        tokens = sample(model, path, shape=(64, 2), steps=4, generator=seeded(), **options).tokens
        assert bool((tokens == 1).all())


def test_top_p_keeps_the_fewest_tokens_that_reach_the_probability() -> None:
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    assert (sharpen(logits, top_p=0.79) > -torch.inf).tolist() == [True, True, False, False]
    assert (sharpen(logits, top_p=0.81) > -torch.inf).tolist() == [True, True, True, False]
    assert (sharpen(logits, top_k=3) > -torch.inf).tolist() == [True, True, True, False]


def test_draw_never_returns_a_token_without_weight() -> None:
    weights = torch.tensor([0.0, 1e-300, 0.0, 1.0, 0.0], dtype=torch.float64)
    largest = torch.tensor([0.0, 0.5, 1 - 2**-53], dtype=torch.float64)
    assert draw(weights.expand(3, -1), largest).tolist() == [1, 3, 3]


def test_draws_reach_tails_that_float32_noise_cannot() -> None:
    weights = torch.tensor([1e-12, 1.0], dtype=torch.float64)
    assert int(draw(weights, torch.tensor(5e-13, dtype=torch.float64))) == 0
    assert int(draw(weights, torch.tensor(2e-12, dtype=torch.float64))) == 1


def test_one_step_lands_on_data_for_every_path() -> None:
    for name in PATHS.names():
        path = example_path(name, Vocabulary.single(4, specials=1))
        tokens = sample(lambda x, t: torch.zeros(*x.shape, 5), path, shape=(16, 3), steps=1, generator=seeded()).tokens
        assert bool((tokens < 4).all())
