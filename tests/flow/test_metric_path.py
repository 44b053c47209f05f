"""A metric path over several kinds of positions, each with its own distances, power and beta_t."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from pipeline.flow.beta import Beta
from pipeline.flow.categorical import draw_by_totals
from pipeline.flow.correctors import CORRECTORS, Corrector
from pipeline.flow.distances import Distance, EmbeddingDistance, FunctionDistance, TableDistance
from pipeline.flow.jumps import Correction, RowJump, SharedJump, row_jump
from pipeline.flow.paths import build_path
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.metric import MetricPath
from pipeline.flow.rates import Rates, rates_of
from pipeline.flow.steps import Transition, exact
from pipeline.flow.velocities import VELOCITIES, Velocity
from pipeline.flow.vocabulary import Vocabulary

VOCABULARY = Vocabulary([0, 0, 0, 1, 1, 1, 1, -1, 2])
TABLE = (torch.arange(9.0)[:, None] - torch.arange(9.0)).abs()
CLOSED_FORMS = [VELOCITIES.get(name) for name in ("kinetic_optimal", "campbell", "power_infinity")]
TIMES = torch.tensor([0.3, 0.5, 0.8], dtype=torch.float64)


def test_each_kind_follows_its_own_power_and_beta() -> None:
    path = build_path("metric", VOCABULARY, distances=TABLE, lp=[1.0, 2.0, 1.0], a=[1.0, 3.0, 1.0], c=[0.5, 2.0, 1.0])
    for x1, kind, lp, a, c in ((0, [0, 1, 2], 1, 1, 0.5), (4, [3, 4, 5, 6], 2, 3, 2.0)):
        log_prob = path.log_prob(torch.full((3,), x1), TIMES)
        beta = c * (TIMES / (1 - TIMES)) ** a
        expected = torch.log_softmax(-beta[:, None] * (torch.tensor(kind) - x1).abs().double() ** lp, dim=-1)
        torch.testing.assert_close(log_prob[:, kind], expected, rtol=0, atol=1e-12)


def test_one_number_for_all_kinds_is_the_same_as_that_number_for_each() -> None:
    x1 = torch.tensor([0, 4, 8])
    same = build_path("metric", VOCABULARY, distances=TABLE, lp=2.0, a=3.0, c=1.0).log_prob(x1, TIMES)
    each = build_path("metric", VOCABULARY, distances=TABLE, lp=[2.0] * 3, a=[3.0] * 3, c=[1.0] * 3).log_prob(x1, TIMES)
    assert torch.equal(same, each)


def test_a_kind_of_one_token_stays_where_it_is() -> None:
    path = build_path("metric", VOCABULARY, distances=TABLE)
    drawn = path.sample(torch.full((50, 3), 8), torch.rand(50, dtype=torch.float64), torch.Generator().manual_seed(0))
    assert bool((drawn == 8).all())


def several_kinds() -> tuple[Path, Tensor, Tensor, Tensor, Tensor]:
    """Return a path over several kinds, data, tokens and times on it, and uniform numbers."""
    path = build_path("metric", VOCABULARY, distances=TABLE, lp=[1.0, 2.0, 1.0], a=[1.0, 3.0, 1.0], c=[0.5, 2.0, 1.0])
    generator = torch.Generator().manual_seed(0)
    x1 = torch.tensor([0, 1, 2, 3, 4, 5, 6, 8])[torch.randint(8, (4000,), generator=generator)]
    t, uniforms = (torch.rand(4000, dtype=torch.float64, generator=generator) for _ in range(2))
    return path, x1, path.tokens_at(x1, t, uniforms), t, uniforms


def test_rows_over_one_kind_give_the_same_tokens_as_rows_over_all_tokens() -> None:
    path, x1, drawn, t, uniforms = several_kinds()
    assert torch.equal(drawn, draw_by_totals(path.checked_log_prob(x1, t).exp().cumsum(-1), uniforms))
    assert torch.equal(drawn, path.tokens_at(x1, t, uniforms, VOCABULARY.places_of(x1)))


@pytest.mark.parametrize("velocity", [VELOCITIES.get(name) for name in VELOCITIES.names()], ids=VELOCITIES.names())
def test_steps_by_kind_move_tokens_as_rows_over_all_tokens_would(velocity: Velocity) -> None:
    path, x1, _, t, uniforms = several_kinds()
    z, transition = (
        path.tokens_at(x1, torch.full_like(t, 0.4), uniforms),
        Transition(path, velocity, "exact"),
    )
    times = [torch.full_like(t, time) for time in (0.4, 0.6)]
    chances, places = torch.rand(2, 4000, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    rows = row_jump(Rates(path, velocity).net(x1, z, times[0]))
    leaves = chances < exact(path, rows.rate, x1, *times)
    expected = torch.where(leaves, rows.destination(places), z)
    moved = transition.advance(z, x1, 0.4, 0.6, torch.Generator().manual_seed(3))
    if velocity in CLOSED_FORMS:  # they draw destinations in another order
        assert torch.equal(moved != z, leaves)
    else:
        assert torch.equal(moved, expected)
    assert bool(leaves.any())


@pytest.mark.parametrize("kind", CORRECTORS.names())
def test_correctors_by_kind_move_tokens_as_rows_over_all_tokens_would(kind: str) -> None:
    path, x1, _, t, uniforms = several_kinds()
    corrector = Corrector(0.7, kind=kind)
    transition = Transition(path, VELOCITIES.get("kinetic_optimal"), "exact")
    times = [torch.full_like(t, time) for time in (0.4, 0.6)]
    z = path.tokens_at(x1, times[0], uniforms)
    draws = torch.rand(2, 2, 4000, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    before = transition.advance(z, x1, 0.4, 0.6, torch.Generator().manual_seed(3))
    correction = corrector.correction(path, x1, *times)
    net_rates = Rates(path, transition.velocity).net(x1, before, times[1])
    rows = RowJump(correction.rates(net_rates, path.log_prob(x1, times[1]).exp()))
    expected = torch.where(draws[1, 0] < rows.rate, rows.destination(draws[1, 1]), before)
    corrected = replace(transition, corrector=corrector)
    moved = corrected.advance(z, x1, 0.4, 0.6, torch.Generator().manual_seed(3))
    assert torch.equal(moved, expected)
    assert not torch.equal(moved, before)


@pytest.mark.parametrize("name", ["kinetic_optimal", "campbell", "power_infinity"])
@pytest.mark.parametrize("t", [0.0, 0.2, 0.5, 0.8, 60 / 64, 0.99, 0.999])
def test_closed_jumps_have_the_rates_and_destinations_of_the_rows(name: str, t: float) -> None:
    """All pairs of x1 and z. A fine grid of uniform numbers gives the destinations."""
    velocity, size, draws = VELOCITIES.get(name), 7, 2000
    places = torch.tensor([-1, -0.62, -0.3, 0.05, 0.33, 0.71, 1])  # no two are equally far from a third: no ties
    path = build_path("metric", Vocabulary.single(size), lp=3.0, a=5.0, c=1.0, embeddings=places)
    x1, z = torch.cartesian_prod(torch.arange(size), torch.arange(size)).T
    times = torch.full(x1.shape, t, dtype=torch.float64)
    rates = rates_of(path, velocity)
    rows = row_jump(rates.net(x1, z, times))
    for when in (times, times[0]):  # with one time for all, tokens share rows
        assert not isinstance(rates.jump(x1, z, when), RowJump | SharedJump)
        torch.testing.assert_close(rates.jump(x1, z, when).rate, rows.rate, rtol=1e-8, atol=1e-12)
    uniforms = (torch.arange(draws, dtype=torch.float64) + 0.5) / draws
    many = [pairs.repeat_interleave(draws) for pairs in (x1, z)]
    landed = rates.jump(*many, times[0]).destination(uniforms.repeat(len(x1))).view(len(x1), draws)
    shares = torch.stack([(landed == token).double().mean(-1) for token in range(size)], dim=-1)
    moving = rows.rate > 1e-12
    assert moving.any()
    expected = rows.rates[moving] / rows.rate[moving, None]
    torch.testing.assert_close(shares[moving], expected, rtol=0, atol=2 / draws)


def test_a_jump_with_shared_rows_draws_what_the_rows_of_each_token_would() -> None:
    path = build_path("metric", Vocabulary.single(5, specials=1), lp=2.0, a=1.0, c=3.0)
    generator = torch.Generator().manual_seed(1)
    x1, z = (torch.randint(5, (3000,), generator=generator) for _ in range(2))
    t, uniforms = (
        torch.full((3000,), 0.4, dtype=torch.float64),
        torch.rand(3000, dtype=torch.float64, generator=generator),
    )
    correction = Correction(torch.full_like(t, 0.7), torch.full_like(t, 0.9))
    rates = rates_of(path, "kinetic_optimal")
    shared = rates.corrector_jump(x1, z, t[0], correction)
    rows = RowJump(correction.rates(rates.net(x1, z, t), path.log_prob(x1, t).exp()))
    assert isinstance(shared, SharedJump)
    assert torch.equal(shared.rate, rows.rate)
    assert torch.equal(shared.destination(uniforms), rows.destination(uniforms))


@pytest.mark.parametrize("lp", [2.0, 3.0, 4.0])
@pytest.mark.parametrize("near", [1.0, 1e-3, 1e-6])
def test_distances_by_a_product_of_matrices_give_the_probabilities_of_exact_differences(lp: float, near: float) -> None:
    """Codes on a sphere, and clusters of codes that are very near each other, at times up to the end."""
    generator = torch.Generator().manual_seed(0)
    centres, codes = (
        torch.randn(50, 8, generator=generator).double(),
        torch.randn(50, 20, 8, generator=generator).double(),
    )
    codes = normalize(normalize(centres, dim=-1)[:, None] + near * codes, dim=-1).flatten(0, 1)
    distance = EmbeddingDistance(codes, lp)
    assert distance._factors is not None
    exact_rows = torch.cdist(codes, codes, compute_mode="donot_use_mm_for_euclid_dist") ** lp
    rows, pairs = distance.rows(torch.arange(1000)), torch.randint(1000, (2, 500), generator=generator)
    assert bool((rows.diagonal() == 0).all())
    torch.testing.assert_close(distance.between(*pairs), exact_rows[pairs[1], pairs[0]], rtol=1e-12, atol=0)
    for beta in (1.0, 30.0, 1e3, 1e5):  # c (t / (1 - t))^a for the paper's codes is 1,500 at t = 0.999
        ours, exactly = (torch.softmax(-beta * values, -1) for values in (rows, exact_rows))
        assert float((ours - exactly).abs().sum(-1).max()) / 2 < 1e-8


def test_embeddings_far_apart_and_small_powers_use_exact_differences() -> None:
    codes = torch.randn(10, 8, generator=torch.Generator().manual_seed(0)).double()
    for embeddings, lp in ((1e3 * codes, 4.0), (normalize(codes, dim=-1), 1.0), (torch.linspace(-1, 1, 10), 4.0)):
        assert EmbeddingDistance(embeddings, lp)._factors is None


@pytest.mark.parametrize(
    "distance",
    [
        TableDistance(TABLE),
        EmbeddingDistance(torch.arange(9.0).sqrt(), 2.0),
        EmbeddingDistance(torch.eye(9)[:, :5], 4.0),
        FunctionDistance(lambda x, x1: (x - x1).abs().double(), 9),
    ],
)
def test_distances_of_pairs_and_within_some_tokens_are_those_of_the_rows(distance: Distance) -> None:
    tokens = torch.tensor([1, 4, 7])
    inside = distance.within(tokens)
    assert inside.size == 3
    torch.testing.assert_close(inside.rows(torch.arange(3)), distance.rows(tokens)[:, tokens])
    numbers, other = torch.arange(3), torch.tensor([2, 0, 0])
    pairs = distance.rows(tokens)[other, tokens[numbers]]
    torch.testing.assert_close(distance.between(tokens[numbers], tokens[other]), pairs)
    torch.testing.assert_close(inside.between(numbers, other), pairs)


def test_a_path_for_each_kind_passes_on_what_is_known_of_the_data() -> None:
    kinds = [{"name": "metric", "lp": 2.0}, {"name": "statistics"}, {"name": "uniform"}]
    counts = torch.arange(9.0)
    path = build_path("kindwise", VOCABULARY, paths=kinds, distances=TABLE**0.5, counts=counts)
    alone = build_path("metric", VOCABULARY, lp=2.0, distances=TABLE**0.5)
    x1, t = torch.zeros(3, dtype=torch.int64), TIMES
    torch.testing.assert_close(path.log_prob(x1, t), alone.log_prob(x1, t))
    source = path.source(torch.tensor([1])).exp()[0, 3:7]
    torch.testing.assert_close(source, (counts[3:7] + 1) / (counts[3:7] + 1).sum(), check_dtype=False)


def test_a_token_of_another_kind_does_not_move() -> None:
    path = MetricPath(VOCABULARY, TableDistance(TABLE), Beta(1.0, 1.0))
    x1, z = torch.tensor([0, 4]), torch.tensor([4, 7])
    jump = rates_of(path, "kinetic_optimal").jump(x1, z, torch.tensor([0.5, 0.5], dtype=torch.float64))
    assert jump.rate.tolist() == [0, 0]


def test_distances_of_a_small_vocabulary_are_looked_up_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    x1, asked = torch.tensor([[3, 0], [7, 3]]), list[int]()
    path, plain = (build_path("metric", Vocabulary.single(8), lp=3) for _ in range(2))
    assert isinstance(path, MetricPath)
    assert isinstance(plain, MetricPath)
    rows = path.distance.rows
    monkeypatch.setattr(path.distance, "rows", lambda tokens: asked.append(tokens.numel()) or rows(tokens))
    for _ in range(2):
        assert torch.equal(path.distances(x1), plain.distance.rows(x1))
    assert asked == [8], "each row is computed once"
