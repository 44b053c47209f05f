"""A metric path over several kinds of positions, each with its own distances, power and beta_t."""

import pytest
import torch

from pipeline.flow.distances import Distance, EmbeddingDistance, FunctionDistance, TableDistance
from pipeline.flow.jumps import Correction, SharedJump, row_jump
from pipeline.flow.paths import build_path
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.metric import MetricPath
from pipeline.flow.rates import Rates, rates_of
from pipeline.flow.schedulers import Beta
from pipeline.flow.velocities import VELOCITIES
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


def test_rows_over_one_kind_give_the_same_draws_as_rows_over_all_tokens() -> None:
    path = build_path("metric", VOCABULARY, distances=TABLE, lp=[1.0, 2.0, 1.0], a=[1.0, 3.0, 1.0], c=[0.5, 2.0, 1.0])
    generator = torch.Generator().manual_seed(0)
    x1 = torch.tensor([0, 1, 2, 3, 4, 5, 6, 8])[torch.randint(8, (4000,), generator=generator)]
    t, uniforms = (torch.rand(4000, dtype=torch.float64, generator=generator) for _ in range(2))
    drawn = path.tokens_at(x1, t, uniforms)
    assert torch.equal(drawn, Path.tokens_at(path, x1, t, uniforms))
    for velocity in map(VELOCITIES.get, VELOCITIES.names()):
        for correction in (None, Correction(torch.full_like(t, 0.7), torch.full_like(t, 2.0))):
            rates = rates_of(path, velocity)
            split, whole = rates.jump(x1, drawn, t, correction), Rates.jump(rates, x1, drawn, t, correction)
            torch.testing.assert_close(split.rate, whole.rate, rtol=1e-9, atol=1e-12)
            moves = whole.rate > 1e-9  # below, rounding decides
            closed = correction is None and velocity in CLOSED_FORMS  # they draw destinations in another order
            if not closed:
                assert torch.equal(split.destination(uniforms)[moves], whole.destination(uniforms)[moves])


@pytest.mark.parametrize("name", ["kinetic_optimal", "campbell", "power_infinity"])
@pytest.mark.parametrize("t", [0.0, 0.2, 0.5, 0.8, 60 / 64, 0.99, 0.999])
def test_closed_jumps_have_the_rates_and_destinations_of_the_rows(name: str, t: float) -> None:
    """All pairs of x1 and z, and a mask that never moves. A fine grid of uniform numbers gives the destinations."""
    velocity, size, draws = VELOCITIES.get(name), 7, 2000
    places = torch.tensor([-1, -0.62, -0.3, 0.05, 0.33, 0.71, 1, 0])  # no two are equally far from a third: no ties
    path = build_path("metric", Vocabulary.single(size, specials=1), lp=3.0, a=5.0, c=1.0, embeddings=places)
    x1, z = (axis.flatten() for axis in torch.meshgrid(torch.arange(size), torch.arange(size + 1), indexing="ij"))
    times = torch.full(x1.shape, t, dtype=torch.float64)
    rates = rates_of(path, velocity)
    rows = row_jump(rates.net(x1, z, times))
    torch.testing.assert_close(rates.jump(x1, z, times).rate, rows.rate, rtol=1e-8, atol=1e-12)
    uniforms = (torch.arange(draws, dtype=torch.float64) + 0.5) / draws
    many = [pairs.repeat_interleave(draws) for pairs in (x1, z, times)]
    landed = rates.jump(*many).destination(uniforms.repeat(len(x1))).view(len(x1), draws)
    shares = torch.stack([(landed == token).double().mean(-1) for token in range(size + 1)], dim=-1)
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
    correction = Correction(torch.full_like(t, 0.7), torch.full_like(t, 2.0))
    rates = rates_of(path, "kinetic_optimal")
    shared = rates.jump(x1, z, t, correction)
    rows = row_jump(rates.net(x1, z, t), correction, path.log_prob(x1, t).exp())
    assert isinstance(shared, SharedJump)
    assert torch.equal(shared.rate, rows.rate)
    assert torch.equal(shared.destination(uniforms), rows.destination(uniforms))


@pytest.mark.parametrize(
    "distance",
    [
        TableDistance(TABLE),
        EmbeddingDistance(torch.arange(9.0).sqrt(), 2.0),
        FunctionDistance(lambda x, x1: (x - x1).abs().double(), 9),
    ],
)
def test_a_distance_within_some_tokens_is_that_between_them(distance: Distance) -> None:
    tokens = torch.tensor([1, 4, 7])
    inside = distance.within(tokens)
    assert inside.size == 3
    torch.testing.assert_close(inside.rows(torch.arange(3)), distance.rows(tokens)[:, tokens])


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
