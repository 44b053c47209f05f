"""Event-driven sampling has the law of the plain sampler: at every time of a grid, the joint distribution is exact."""

import itertools
from collections.abc import Callable, Sequence

import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor

from pipeline.flow import events, sampler, visits
from pipeline.flow.clamp import Clamp
from pipeline.flow.events import Chances
from pipeline.flow.paths import Path, build_path
from pipeline.flow.posterior import constrain
from pipeline.flow.sampler import sample
from pipeline.flow.steps import STEPS, Transition
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal
from pipeline.flow.visits import Schedule
from pipeline.flow.vocabulary import Vocabulary

ONE_KIND = Vocabulary.single(3, specials=1)
TWO_KINDS = Vocabulary([0, 0, 0, 1, 1, -1])
GRID = (0.0, 0.3, 0.6, 0.8, 1.0)
COUNT = 1_000_000
PATHS = {
    "mask": {"scheduler": "cubic"},
    "uniform": {"scheduler": "linear"},
    "statistics": {"scheduler": "kinetic_optimal", "counts": torch.tensor([60, 30, 9, 6, 3, 0])},
    "kindwise": {"paths": [{"name": "mask"}, {"name": "uniform", "scheduler": "linear"}]},
}


def path_of(name: str, vocabulary: Vocabulary) -> Path:
    options = dict(PATHS[name])
    if "counts" in options:
        options["counts"] = options["counts"][: vocabulary.size]
    return build_path(name, vocabulary, **options)


def model_of(vocabulary: Vocabulary, columns: int) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a posterior that depends on all tokens and on the time, and on nothing that a path promises."""
    generator = torch.Generator().manual_seed(5)
    table = 3 * torch.randn(vocabulary.size**columns, columns, vocabulary.size, generator=generator)
    weights = vocabulary.size ** torch.arange(columns)

    def model(x: Tensor, t: Tensor) -> Tensor:
        return table[(x * weights).sum(-1)] * (1 + t[:, None, None].float())

    return model


def exact_law(path: Path, kinds: Tensor, grid: Sequence[float], step: str, temperature: float) -> list[Tensor]:
    """Return the joint distribution of two tokens at each time of the grid, [K, K] each, from the full chain."""
    size = path.vocabulary.size
    states = torch.cartesian_prod(torch.arange(size), torch.arange(size))
    first, second = path.source(kinds).exp()
    law, model, kernel = (
        [(first[:, None] * second).flatten()],
        model_of(path.vocabulary, 2),
        Transition(path, kinetic_optimal, step),
    )
    for t, t_next in itertools.pairwise(grid):
        logits = model(states, torch.full((len(states),), t)).double()
        posterior = torch.softmax(constrain(path, logits, states, kinds.expand_as(states)) / temperature, -1)
        moves = torch.zeros(len(states), 2, size, dtype=torch.float64)
        for x1 in range(size):
            chosen = torch.full_like(states, x1)
            allowed = path.vocabulary.kind_of.values[x1] == kinds
            if allowed.any():
                columns = allowed.nonzero().squeeze(-1)
                times = torch.full((len(states), len(columns)), t, dtype=torch.float64)
                rows = kernel.probabilities(
                    chosen[:, columns], states[:, columns], times, torch.full_like(times, t_next)
                )
                moves[:, columns] += posterior[:, columns, x1, None] * rows
        joint = (moves[:, 0, :, None] * moves[:, 1, None, :]).flatten(1)
        law.append(law[-1] @ joint)
    return law


def p_values(path: Path, kinds: Tensor, step: str, temperature: float = 1.0, seed: int = 0) -> list[float]:
    """Return for each time after the first how well samples by events fit the exact law."""
    size, seen = path.vocabulary.size, []
    sample(
        model_of(path.vocabulary, 2),
        path,
        kinds=kinds.expand(COUNT, -1),
        steps=GRID,
        step=step,
        temperature=temperature,
        way="events",
        generator=torch.Generator().manual_seed(seed),
        on_step=lambda x, t: seen.append(x),
    )
    law = exact_law(path, kinds, GRID, step, temperature)
    values = []
    for tokens, expected in zip(seen[1:], law[1:], strict=True):
        counts = torch.bincount(tokens[:, 0] * size + tokens[:, 1], minlength=size**2).double()
        possible = expected > 1e-12
        assert int(counts[~possible].sum()) == 0
        values.append(
            1.0
            if int(possible.sum()) == 1
            else float(chisquare(counts[possible], expected[possible] / expected.sum() * COUNT).pvalue)
        )
    return values


@pytest.mark.parametrize("step", STEPS.names())
@pytest.mark.parametrize("name", PATHS)
def test_events_have_the_exact_joint_law_at_every_time(name: str, step: str) -> None:
    vocabulary = TWO_KINDS if name == "kindwise" else ONE_KIND
    kinds = torch.tensor([0, vocabulary.kinds - 1])
    assert min(p_values(path_of(name, vocabulary), kinds, step)) > 1e-4


def test_events_at_a_temperature_have_the_law_of_the_plain_sampler() -> None:
    assert min(p_values(path_of("mask", ONE_KIND), torch.tensor([0, 0]), "exact", temperature=0.6)) > 1e-4


@pytest.mark.parametrize("name", PATHS)
def test_chances_that_are_wrong_by_two_percent_are_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = TWO_KINDS if name == "kindwise" else ONE_KIND
    honest = events.draw_candidates

    def perturbed(chances: Chances, *rest: object) -> object:
        bound = torch.cat([chances.bound[:-1] * 0.98, chances.bound[-1:]])  # the last step lands on x1
        return honest(Chances(bound, chances.exact, chances.once), *rest)

    monkeypatch.setattr(events, "draw_candidates", perturbed)
    assert min(p_values(path_of(name, vocabulary), torch.tensor([0, vocabulary.kinds - 1]), "exact")) < 1e-6


def test_an_acceptance_that_is_wrong_by_two_percent_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = sampler.follow

    def hesitant(posterior: object, chances: object, chance_of: Callable[..., Tensor], *rest: object) -> object:
        return honest(posterior, chances, lambda *given: 0.98 * chance_of(*given), *rest)

    monkeypatch.setattr(sampler, "follow", hesitant)
    assert min(p_values(path_of("statistics", ONE_KIND), torch.tensor([0, 0]), "exact")) < 1e-6


def test_a_mask_path_visits_the_network_at_most_once_for_each_token() -> None:
    path = path_of("mask", ONE_KIND)
    drawn = sample(model_of(ONE_KIND, 2), path, shape=(500, 2), steps=1000, generator=torch.Generator().manual_seed(0))
    assert drawn.evaluations == 1000
    assert drawn.visits.tolist().count(2) > 490
    assert int(drawn.visits.max()) == 2


def test_clamped_tokens_cause_no_visit() -> None:
    path = path_of("mask", ONE_KIND)
    fixed = torch.tensor([[True, True], [True, False]]).repeat(50, 1)
    clamp = Clamp(torch.ones_like(fixed, dtype=torch.int64), fixed)
    drawn = sample(model_of(ONE_KIND, 2), path, shape=(100, 2), clamp=clamp, generator=torch.Generator().manual_seed(0))
    assert drawn.visits.tolist() == [0, 1] * 50
    assert bool((drawn.tokens[fixed] == 1).all())


def test_what_the_last_steps_show_is_what_is_returned() -> None:
    for name in ("mask", "uniform", "statistics"):
        seen: list[Tensor] = []
        drawn = sample(
            model_of(ONE_KIND, 2),
            path_of(name, ONE_KIND),
            shape=(200, 2),
            steps=16,
            generator=torch.Generator().manual_seed(0),
            on_step=lambda x, t, seen=seen: seen.append(x),
        )
        assert len(seen) == 17
        assert torch.equal(seen[-1], drawn.tokens)


def test_pads_at_the_end_are_cut_off_for_models_that_take_ragged_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visits, "LARGEST_PIECE", 20)
    vocabulary = Vocabulary([0, 0, 0, 1, -1])  # the second kind is a pad
    path = build_path("mask", vocabulary)
    kinds = (torch.arange(6) >= torch.tensor([[2], [4]])).long().repeat(40, 1)
    widths: list[int] = []

    def model(x: Tensor, t: Tensor, at: Tensor) -> Tensor:
        widths.append(x.shape[1])
        return torch.zeros(len(at), 5)

    drawn = sample(model, path, kinds=kinds, generator=torch.Generator().manual_seed(0), ragged=True, answers_at=True)
    assert set(widths) == {2, 4}
    assert bool((drawn.tokens[kinds == 1] == 3).all())
    assert bool((drawn.tokens[kinds == 0] < 3).all())


def test_visits_are_in_the_order_of_events_and_rounds_have_about_equal_sizes() -> None:
    generator = torch.Generator().manual_seed(0)
    events_of = torch.randint(1, 40, (200,), generator=generator)
    rows = torch.arange(200).repeat_interleave(events_of)
    steps = torch.cat([torch.randperm(100, generator=generator)[:count] for count in events_of.tolist()])
    kinds = torch.zeros(200, 1, dtype=torch.int64)
    schedule = Schedule.of(rows, torch.zeros_like(rows), steps, kinds, 1, torch.ones(200, dtype=torch.int64))
    for row in range(200):
        assert schedule.steps[schedule.rows == row].tolist() == sorted(steps[rows == row].tolist())
    sizes = [piece.visits.stop - piece.visits.start for piece in schedule.pieces]
    assert len(sizes) == int(events_of.max())
    assert all(
        len(set(schedule.rows[piece.visits].tolist())) == size
        for piece, size in zip(schedule.pieces, sizes, strict=True)
    )
    assert max(sizes) < 1.5 * min(sizes)
