"""Steps and samplers: do kernels follow their path? Computed without sampling noise."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from pipeline.flow.correctors import CORRECTORS, Corrector
from pipeline.flow.paths import PATHS, Path, build_path, example_path
from pipeline.flow.posterior import ExactPosterior, constrain
from pipeline.flow.steps import STEPS, Transition
from pipeline.flow.velocities import VELOCITIES, Velocity
from pipeline.flow.velocities.campbell import campbell
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal
from pipeline.flow.vocabulary import Vocabulary


def kernel(transition: Transition, x1: int, t: float, t_next: float) -> Tensor:
    """Return P(x | z) for all z and x, [z, x]."""
    size = transition.path.vocabulary.size
    times = (torch.full((size,), time, dtype=torch.float64) for time in (t, t_next))
    return transition.probabilities(torch.full((size,), x1), torch.arange(size), *times)


def worst_deviation(transition: Transition, x1: int, steps: int, until: float = 1.0) -> float:
    """Return the largest total variation between the chain given x1 and the path, over the times of a grid."""
    path, worst = transition.path, 0.0
    token = torch.tensor([x1])
    prob = path.log_prob(token, torch.zeros(1).double()).exp()[0]
    for step in range(int(steps * until) - 1):
        prob = prob @ kernel(transition, x1, step / steps, (step + 1) / steps)
        exact = path.log_prob(token, torch.full((1,), (step + 1) / steps, dtype=torch.float64)).exp()[0]
        worst = max(worst, float((prob - exact).abs().sum()) / 2)
    return worst


def metric_transition(velocity: Velocity = kinetic_optimal, step: str = "always_valid") -> Transition:
    return Transition(example_path("metric", Vocabulary.single(16), lp=3.0, a=5.0), velocity, step)


def test_kernels_compose_to_the_path_with_an_error_that_halves_with_the_step() -> None:
    deviations = [worst_deviation(metric_transition(), 5, steps) for steps in (64, 128, 256, 512, 1024)]
    assert deviations[0] < 0.03
    for coarse, fine in itertools.pairwise(deviations):
        assert 1.7 < coarse / fine < 2.4


def test_campbell_follows_the_metric_path_worse() -> None:
    assert worst_deviation(metric_transition(campbell), 5, 64) > 1.5 * worst_deviation(metric_transition(), 5, 64)


@pytest.mark.parametrize("scheduler", ["linear", "cubic", "early_cubic", "cosine", "kinetic_optimal"])
@pytest.mark.parametrize("name", ["mask", "uniform", "statistics"])
def test_exact_step_follows_a_mixture_without_error_in_three_steps(name: str, scheduler: str) -> None:
    path = example_path(name, Vocabulary.single(5, specials=1), scheduler=scheduler)
    assert worst_deviation(Transition(path, kinetic_optimal, "exact"), 2, 3) < 1e-12


@pytest.mark.parametrize("velocity", [VELOCITIES.get(name) for name in VELOCITIES.names()], ids=VELOCITIES.names())
@pytest.mark.parametrize("name", PATHS.names())
def test_chain_of_every_velocity_converges_to_every_path(name: str, velocity: Velocity) -> None:
    """Stop at t = 1/2, before the unsafe velocities blow up."""
    path = example_path(name, Vocabulary.single(5, specials=1))
    coarse, fine = (worst_deviation(Transition(path, velocity, "always_valid"), 1, steps, 0.5) for steps in (40, 160))
    assert fine < 0.05
    assert fine < coarse / 2 or coarse < 1e-9


@pytest.mark.parametrize("kind", CORRECTORS.names())
@pytest.mark.parametrize("step", STEPS.names())
@pytest.mark.parametrize("name", ["mask", "uniform", "statistics", "metric"])
def test_corrector_is_never_farther_from_the_path_than_the_step_alone(name: str, step: str, kind: str) -> None:
    path = example_path(name, Vocabulary.single(5, specials=1))
    for weight in (0.2, 4.0):
        corrected = Transition(path, kinetic_optimal, step, Corrector(weight, kind=kind))
        plain = replace(corrected, corrector=None)
        for steps in (10, 50):
            alone, together = (worst_deviation(one, 1, steps, 0.9) for one in (plain, corrected))
            assert together <= alone * (1 + 1e-9) + 1e-12
            assert together < 0.99 * alone or alone < 1e-9


def test_remasking_sends_its_share_of_the_tokens_at_x1_back_to_the_mask_as_remdm_does() -> None:
    """From t to s, ReMDM masks a token at x1 with probability sigma, and unmasks with (kappa_s - (1 - sigma) kappa_t) /
    (1 - kappa_t)."""
    path, sigma = build_path("mask", Vocabulary.single(3, specials=1), scheduler="linear"), 0.04
    transition = Transition(path, kinetic_optimal, "exact", Corrector(sigma, rise=0, limit=1.0, kind="remask"))
    for t, s in ((0.2, 0.25), (0.5, 0.7), (0.9, 0.95)):
        at_x1, masked = kernel(transition, 1, t, s)[[1, 3]]
        assert float(at_x1[3]) == pytest.approx(sigma, abs=1e-12)
        assert float(masked[1]) == pytest.approx((s - (1 - sigma) * t) / (1 - t), abs=1e-12)


def test_the_paper_s_steps_take_h_times_the_rate_at_the_start() -> None:
    path = example_path("metric", Vocabulary.single(16), lp=3.0, a=5.0)
    x1, t, t_next = torch.tensor([5]), torch.tensor([0.6]).double(), torch.tensor([0.605]).double()
    rate = torch.tensor([0.4]).double()
    expected = 0.005 * 0.4 * 5 * 0.6**4 / 0.4**6
    assert float(STEPS.get("paper_euler")(path, rate, x1, t, t_next)) == pytest.approx(expected)
    assert float(STEPS.get("paper_always_valid")(path, rate, x1, t, t_next)) == pytest.approx(-math.expm1(-expected))
    mixture = example_path("mask", Vocabulary.single(3, specials=1), scheduler="cubic")
    for ours, paper in (("euler", "paper_euler"), ("always_valid", "paper_always_valid")):
        one, other = (STEPS.get(name)(mixture, rate, torch.tensor([1]), t, t_next) for name in (ours, paper))
        assert torch.equal(one, other)


def test_no_rate_stays_none_where_the_clock_starts_infinitely_fast() -> None:
    path = example_path("metric", Vocabulary.single(4), a=0.9, c=3.0)
    times = (torch.zeros(2, dtype=torch.float64), torch.full((2,), 0.1, dtype=torch.float64))
    for step in ("paper_euler", "paper_always_valid"):
        assert STEPS.get(step)(path, torch.tensor([0.0, 0.2]).double(), torch.tensor([1, 1]), *times).tolist() == [0, 1]


def test_beta_itself_follows_a_metric_path_better_than_its_derivative() -> None:
    ours, paper = (
        worst_deviation(metric_transition(step=step), 5, 64) for step in ("always_valid", "paper_always_valid")
    )
    assert paper > 2 * ours


@pytest.mark.parametrize("name", PATHS.names())
def test_always_valid_step_differs_from_euler_by_the_square_of_the_step(name: str) -> None:
    path = example_path(name, Vocabulary.single(5, specials=1))
    differences = []
    for h in (0.01, 0.005):
        rows = [kernel(Transition(path, kinetic_optimal, step), 1, 0.4, 0.4 + h) for step in ("always_valid", "euler")]
        differences.append(float((rows[0] - rows[1]).abs().max()))
    assert 3.5 < differences[0] / differences[1] < 4.5


def chain_end(path: Path, sequences: Tensor, probabilities: Tensor, steps: int) -> Tensor:
    """Return the distribution over all pairs [K, K] after the sampler's chain with the exact posterior, D = 2."""
    size = path.vocabulary.size
    model, transition = ExactPosterior(path, sequences, probabilities), Transition(path, kinetic_optimal, "exact")
    states = torch.tensor(list(itertools.product(range(size), repeat=2)))
    kinds = path.vocabulary.kinds_of(sequences[0])
    source = path.source(kinds).exp()
    prob = (source[0][:, None] * source[1]).flatten()
    candidates = (path.vocabulary.kind_of.values >= 0).nonzero().squeeze(-1)
    for step in range(steps):
        t, t_next = step / steps, (step + 1) / steps
        logits = constrain(path, model(states, torch.full((len(states),), t)), states, kinds.expand(len(states), -1))
        posterior = logits.softmax(-1)[..., candidates]  # [S, 2, C]
        if t_next == 1:
            rows = torch.zeros(*posterior.shape[:2], size, dtype=torch.float64)
            rows[..., candidates] = posterior
        else:
            kernels = torch.stack([kernel(transition, int(x1), t, t_next) for x1 in candidates])  # [C, z, x]
            rows = torch.einsum("sdc,csdx->sdx", posterior, kernels[:, states])
        prob = torch.einsum("s,sx,sy->xy", prob, rows[:, 0], rows[:, 1]).flatten()
    return prob.view(size, size)


@pytest.mark.parametrize("name", ["mask", "uniform", "statistics", "metric"])
def test_chain_of_two_tokens_with_the_exact_posterior_ends_in_the_data(name: str) -> None:
    vocabulary = Vocabulary.single(3, specials=1 if name == "mask" else 0)
    path = example_path(name, vocabulary, **({"a": 1.0, "c": 3.0} if name == "metric" else {}))
    sequences = torch.tensor([[0, 0], [1, 2], [2, 1], [2, 2], [0, 1]])
    probabilities = torch.tensor([0.4, 0.25, 0.2, 0.1, 0.05]).double()
    q = torch.zeros(vocabulary.size, vocabulary.size, dtype=torch.float64)
    q[sequences[:, 0], sequences[:, 1]] = probabilities
    deviations = [float((chain_end(path, sequences, probabilities, steps) - q).abs().sum()) / 2 for steps in (80, 640)]
    assert deviations[1] < 2e-3
    assert deviations[1] < deviations[0] / 6  # first order: eight times the steps, an eighth of the error
