"""Every fast way of a step on a metric path has the law of the written-out kernel, and a small error is noticed."""

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from scipy.stats import chi2
from torch import Tensor

from pipeline.flow import device
from pipeline.flow.closed_forms import metric
from pipeline.flow.closed_forms.metric import MetricKineticOptimal
from pipeline.flow.correctors import CORRECTORS, Corrector
from pipeline.flow.jumps import Jump, RowJump, SharedJump
from pipeline.flow.paths import Path, build_path
from pipeline.flow.paths.metric import MetricPath
from pipeline.flow.rates import rates_of
from pipeline.flow.sorted_jumps import HubJump, SortedJump
from pipeline.flow.steps import STEPS, Transition
from pipeline.flow.velocities import VELOCITIES
from pipeline.flow.vocabulary import Vocabulary

SIX = Vocabulary.single(6)
CRYSTAL = Vocabulary([0, 0, 0, 0, 1, 1, 1, 2, -1])  # two kinds of data, a pad, a mask
EACH = 20_000  # steps from each pair of x1 and z
INTERVALS = [(0.1, 0.3), (0.5, 0.55), (0.8, 0.85)]
CLOSED = ["kinetic_optimal", "campbell", "power_infinity"]


def path_of(vocabulary: Vocabulary) -> Path:
    places = torch.tensor([[-0.9, 0.1], [-0.5, 0.6], [0.05, -0.7], [0.3, 0.4], [0.6, -0.2], [0.9, 0.3]])
    embeddings = places.repeat(2, 1)[: vocabulary.size]
    return build_path("metric", vocabulary, lp=4, a=0.9, c=3.0, embeddings=embeddings, check=False)


def p_value(seen: Tensor, expected: Tensor) -> float:
    """Return how well counts fit expected counts, both [pairs, K]; rare outcomes of a pair are taken together."""
    assert int(seen[expected < 1e-9].sum()) == 0
    rare = expected < 5
    seen, expected = (
        torch.cat([values.masked_fill(rare, 0), (values * rare).sum(-1, keepdim=True)], dim=-1)
        for values in (seen.double(), expected)
    )
    used = expected >= 5
    statistic = torch.where(used, (seen - expected) ** 2 / expected.clamp(min=5), 0.0).sum()
    return float(chi2.sf(float(statistic), int((used.sum(-1) - 1).sum())))


def fit(transition: Transition, t: float, t_next: float) -> float:
    """Return how well drawn steps from all pairs of x1 and z fit the kernel."""
    vocabulary, generator = transition.path.vocabulary, torch.Generator().manual_seed(0)
    kinds = vocabulary.kind_of.values
    x1, z = torch.cartesian_prod(torch.arange(vocabulary.size), torch.arange(vocabulary.size)).T
    same = (kinds[x1] == kinds[z]) & (kinds[x1] >= 0)
    x1, z = x1[same], z[same]
    drawn = transition.advance(z.repeat(EACH), x1.repeat(EACH), t, t_next, generator).view(EACH, -1)
    seen = torch.zeros(len(x1), vocabulary.size).scatter_add_(1, drawn.T, torch.ones(len(x1), EACH))
    times = (torch.full(x1.shape, time, dtype=torch.float64) for time in (t, t_next))
    return p_value(seen, EACH * transition.probabilities(x1, z, *times))


def many_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every vocabulary as one that is too large for a table."""
    monkeypatch.setattr(metric, "LARGEST_TABLE", 2)


def hesitant(kind: type[Jump], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let jumps of one kind happen two percent too rarely."""
    made: Callable[..., None] = kind.__init__

    def init(self: Jump, *given: object) -> None:
        made(self, *given)
        self.rate = 0.98 * self.rate

    monkeypatch.setattr(kind, "__init__", init)


@pytest.mark.parametrize("on_host", [True, False], ids=["CPU", "GPU"])
@pytest.mark.parametrize("vocabulary", [SIX, CRYSTAL], ids=["one kind", "kinds"])
@pytest.mark.parametrize("velocity", CLOSED)
def test_sorted_rows_have_the_law_of_the_kernel(
    velocity: str, vocabulary: Vocabulary, on_host: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "is_host", lambda tensor: on_host)
    transition = Transition(path_of(vocabulary), VELOCITIES.get(velocity), "exact")
    for interval in INTERVALS:
        assert fit(transition, *interval) > 1e-4


@pytest.mark.parametrize("corrector", [None, Corrector(0.7)], ids=["plain", "corrected"])
@pytest.mark.parametrize("vocabulary", [SIX, CRYSTAL], ids=["one kind", "kinds"])
@pytest.mark.parametrize("step", STEPS.names())
def test_rows_only_for_tokens_that_may_leave_have_the_law_of_the_kernel(
    step: str, vocabulary: Vocabulary, corrector: Corrector | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_tokens(monkeypatch)
    transition = Transition(path_of(vocabulary), VELOCITIES.get("kinetic_optimal"), step, corrector)
    for interval in INTERVALS:
        assert fit(transition, *interval) > 1e-4


@pytest.mark.parametrize(("velocity", "jump"), [*zip(CLOSED, (SortedJump, SortedJump, HubJump), strict=True)])
def test_sorted_rows_that_are_wrong_by_two_percent_are_noticed(
    velocity: str, jump: type[Jump], monkeypatch: pytest.MonkeyPatch
) -> None:
    hesitant(jump, monkeypatch)
    transition = Transition(path_of(SIX), VELOCITIES.get(velocity), "exact")
    assert min(fit(transition, *interval) for interval in INTERVALS) < 1e-6


@pytest.mark.parametrize("jump", [SharedJump, RowJump])
def test_rows_for_tokens_that_may_leave_that_are_wrong_by_two_percent_are_noticed(
    jump: type[Jump], monkeypatch: pytest.MonkeyPatch
) -> None:
    many_tokens(monkeypatch)
    monkeypatch.setattr(device, "is_host", lambda tensor: jump is SharedJump)  # tokens share rows on a CPU only
    transition = Transition(path_of(SIX), VELOCITIES.get("kinetic_optimal"), "exact")
    assert min(fit(transition, *interval) for interval in INTERVALS) > 1e-4
    hesitant(jump, monkeypatch)
    assert min(fit(transition, *interval) for interval in INTERVALS) < 1e-6


def test_a_bound_that_is_too_low_by_two_percent_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    many_tokens(monkeypatch)
    honest = MetricKineticOptimal.rate_bound
    monkeypatch.setattr(MetricKineticOptimal, "rate_bound", lambda *given: 0.98 * honest(*given))
    transition = Transition(path_of(SIX), VELOCITIES.get("kinetic_optimal"), "exact")
    assert fit(transition, 0.97, 0.975) < 1e-6  # late, when the rate is as good as the bound


def test_rows_only_for_tokens_that_may_leave_move_the_same_tokens_to_the_same_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many_tokens(monkeypatch)
    transition = Transition(path_of(SIX), VELOCITIES.get("kinetic_optimal"), "exact")
    x1, z = torch.randint(6, (2, 50_000), generator=torch.Generator().manual_seed(0))
    for t, t_next in pairwise([0.05, 0.3, 0.6, 0.9, 0.99]):
        fast = transition.advance(z, x1, t, t_next, torch.Generator().manual_seed(1))
        with monkeypatch.context() as patch:
            patch.setattr(MetricKineticOptimal, "rate_bound", lambda *given: None)
            every = transition.advance(z, x1, t, t_next, torch.Generator().manual_seed(1))
        assert torch.equal(fast, every)
        assert not torch.equal(fast, z)


@pytest.mark.parametrize("kind", CORRECTORS.names())
def test_no_corrector_exceeds_its_limit(kind: str) -> None:
    path = path_of(SIX)
    x1, z = torch.cartesian_prod(torch.arange(6), torch.arange(6)).T
    rates, corrector = rates_of(path, "kinetic_optimal"), Corrector(5.0, limit=0.3, kind=kind)
    for t, t_next in pairwise([0.0, 0.05, 0.3, 0.6, 0.9, 0.99, 0.999]):
        times = [torch.full(x1.shape, time, dtype=torch.float64) for time in (t, t_next)]
        jump = rates.corrector_jump(x1, z, times[1][0], corrector.correction(path, x1, *times))
        assert bool((jump.rate <= corrector.limit * (1 + 1e-12)).all())


def test_no_rate_exceeds_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    many_tokens(monkeypatch)
    path = path_of(SIX)
    x1, z = torch.cartesian_prod(torch.arange(6), torch.arange(6)).T
    rates = MetricKineticOptimal(path, VELOCITIES.get("kinetic_optimal"))
    for t in (0.0, 0.05, 0.3, 0.6, 0.9, 0.99):
        bound = rates.rate_bound(x1, z)
        assert bound is not None
        assert bool((rates.jump(x1, z, torch.full(x1.shape, t, dtype=torch.float64)).rate <= bound).all())


@pytest.mark.parametrize("on_host", [True, False], ids=["CPU", "GPU"])
@pytest.mark.parametrize("vocabulary", [SIX, CRYSTAL], ids=["one kind", "kinds"])
def test_tokens_on_a_metric_path_have_its_probabilities(
    vocabulary: Vocabulary, on_host: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "is_host", lambda tensor: on_host)
    assert min(_fit_of_tokens(path_of(vocabulary), t) for t in (0.0, 0.2, 0.6, 0.95)) > 1e-4


def test_a_path_that_is_two_percent_late_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = MetricPath.scores
    monkeypatch.setattr(MetricPath, "scores", lambda path, d, beta: honest(path, d, 0.98 * beta))
    assert min(_fit_of_tokens(path_of(SIX), t) for t in (0.2, 0.6, 0.95)) < 1e-6


def _fit_of_tokens(path: Path, t: float) -> float:
    x1 = (path.vocabulary.kind_of.values >= 0).nonzero().squeeze(-1)
    count, times = 5 * EACH, torch.full(x1.shape, t, dtype=torch.float64)
    drawn = path.sample(x1.expand(count, -1), times[:1].expand(count), torch.Generator().manual_seed(0))
    seen = torch.zeros(len(x1), path.vocabulary.size).scatter_add_(1, drawn.T, torch.ones(len(x1), count))
    return p_value(seen, count * path.log_prob(x1, times).exp())
