"""Likelihood bounds: exact expectations over x_t and a fine grid in t, no sampling noise."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from pipeline.flow import chunks
from pipeline.flow.elbo import general_elbo
from pipeline.flow.likelihood import evaluate_bound
from pipeline.flow.losses import LOSSES, stratified_times
from pipeline.flow.mixture_bounds import masked_elbo, mixture_elbo
from pipeline.flow.paths import PATHS, Path, example_path
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.posterior import ExactPosterior, log_posterior
from pipeline.flow.rates import Rates, rates_of
from pipeline.flow.schedulers import KineticOptimal, Polynomial, Scheduler
from pipeline.flow.score import posterior_to_score, score_entropy, score_to_posterior, score_to_velocity
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal
from pipeline.flow.vocabulary import Vocabulary

VOCABULARY = Vocabulary.single(3, specials=1)
SEQUENCES = torch.tensor([[0, 0], [1, 2], [2, 1], [2, 2], [0, 1]])
PROBABILITIES = torch.tensor([0.4, 0.25, 0.2, 0.1, 0.05]).double()


def exact_bound(
    path: Path, velocity: str, model: ExactPosterior, x1: Tensor, points: int = 1000, grid: Scheduler | None = None
) -> float:
    """Integrate the exact expectation of the general bound by the midpoint rule, over kappa of `grid` if it is given.

    Without, over t, denser towards both ends.
    """
    u = (torch.arange(points).double() + 0.5) / points
    t, weight = u**2 * (3 - 2 * u), 6 * u * (1 - u) / points
    if grid is not None:
        t = grid.time(u)
        weight = 1 / (grid.rate(t, torch.zeros(points, dtype=torch.int64)) * (1 - u)) / points
    states = torch.tensor(list(itertools.product(range(path.vocabulary.size), repeat=len(x1))))
    total = 0.0
    for time, dt in zip(t, weight, strict=True):
        times = time.expand(states.shape)
        targets = x1.expand_as(states)
        log_prob = path.log_prob(targets, times).gather(-1, states[..., None]).squeeze(-1).sum(-1)
        seen = log_prob > -60
        states_seen, targets_seen, times_seen = states[seen], targets[seen], times[seen]
        logits = model(states_seen, time.expand(len(states_seen)))
        posterior = log_posterior(path, logits, targets_seen, states_seen).exp()
        integrand = general_elbo(rates_of(path, velocity), posterior, targets_seen, times_seen, states_seen)
        total += float((log_prob[seen].exp() * integrand.sum(-1)).sum() * dt)
    return total


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mask", {}),
        ("mask", {"scheduler": "kinetic_optimal"}),
        ("uniform", {}),
        ("statistics", {"counts": torch.tensor([100.0, 5.0, 1.0, 0.0])}),
        ("metric", {"a": 1.0, "c": 3.0}),
        ("geodesic", {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value) or "default",
)
def test_bound_with_the_exact_posterior_lies_below_the_likelihood_and_is_tight_for_masks_only(
    name: str, options: dict[str, object]
) -> None:
    path = example_path(name, VOCABULARY, **options)
    model = ExactPosterior(path, SEQUENCES, PROBABILITIES)
    gaps = []
    for row in (0, 1, 4):
        gaps.append(float(PROBABILITIES[row].log()) - exact_bound(path, "kinetic_optimal", model, SEQUENCES[row]))
    assert min(gaps) > -1e-4
    if name == "mask":
        assert max(gaps) < 1e-4
    else:
        assert max(gaps) > (0.2 if name == "statistics" else 0.05)


@pytest.mark.parametrize("velocity", ["campbell", "power", "power_infinity", "laplacian"])
def test_bound_lies_below_the_likelihood_for_every_velocity(velocity: str) -> None:
    path = example_path("statistics", VOCABULARY)
    model = ExactPosterior(path, SEQUENCES, PROBABILITIES)
    assert exact_bound(path, velocity, model, SEQUENCES[1], points=300) < float(PROBABILITIES[1].log()) + 1e-4


def random_case(path: Path, seed: int, count: int = 40) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return x1, t, x_t, and the logarithm of a random posterior that is possible given x_t."""
    generator = torch.Generator().manual_seed(seed)
    x1 = torch.randint(0, 6, (count, 3), generator=generator)
    t = torch.rand(count, generator=generator, dtype=torch.float64) * 0.98 + 0.01
    x_t = path.sample(x1, t, generator)
    logits = torch.randn(count, 3, path.vocabulary.size, generator=generator, dtype=torch.float64)
    return x1, t[:, None].expand(count, 3), x_t, log_posterior(path, logits, x1, x_t)


SIX = Vocabulary.single(6, specials=1)


@pytest.mark.parametrize("scheduler", ["linear", "cubic", "cosine", "kinetic_optimal"])
@pytest.mark.parametrize("name", ["mask", "uniform", "statistics"])
def test_mixture_bound_equals_the_general_bound(name: str, scheduler: str) -> None:
    path = example_path(name, SIX, scheduler=scheduler)
    x1, t, x_t, posterior = random_case(path, 3)
    general = general_elbo(Rates(path, kinetic_optimal), posterior.exp(), x1, t, x_t)
    assert torch.allclose(mixture_elbo(path, posterior, x1, t, x_t), general, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in PATHS.names() if name in ("mask", "uniform", "statistics")])
def test_marginal_velocity_of_a_mixture_needs_no_sum(name: str) -> None:
    path = example_path(name, SIX)
    assert isinstance(path, MixturePath)
    _, t, x_t, posterior = random_case(path, 4)
    forms = Rates(path, kinetic_optimal), rates_of(path, kinetic_optimal)
    summed, closed = (rates.marginal(posterior.exp(), x_t, t) for rates in forms)
    assert torch.allclose(closed, summed, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PATHS.names())
def test_marginal_velocity_does_not_depend_on_the_memory_budget(name: str) -> None:
    path = example_path(name, SIX)
    _, t, x_t, posterior = random_case(path, 5, count=8)
    rates = Rates(path, kinetic_optimal)
    whole, parts = (rates.marginal(posterior.exp(), x_t, t, budget=budget) for budget in (2**28, 2**11))
    assert torch.allclose(whole, parts, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scheduler", ["linear", "cubic", "cosine", "kinetic_optimal"])
def test_masked_form_is_the_mixture_bound_and_a_weighted_cross_entropy(scheduler: str) -> None:
    path = example_path("mask", SIX, scheduler=scheduler)
    x1, t, x_t, posterior = random_case(path, 6)
    masked = masked_elbo(path, posterior, x1, t, x_t)
    assert torch.allclose(masked, mixture_elbo(path, posterior, x1, t, x_t), rtol=1e-10, atol=1e-10)
    weighted = path.clock_rate(x1, t) * posterior.gather(-1, x1[..., None]).squeeze(-1)  # MD4's: lambda log p if masked
    assert torch.allclose(masked, torch.where(x_t == SIX.mask, weighted, 0.0), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("scheduler", ["linear", "cubic", "kinetic_optimal"])
def test_score_entropy_of_a_mask_path_is_the_negative_masked_bound(scheduler: str) -> None:
    path = example_path("mask", SIX, scheduler=scheduler)
    x1, t, x_t, posterior = random_case(path, 7)
    score = posterior_to_score(path, posterior.exp(), torch.zeros_like(x1), x_t, t)
    entropy = score_entropy(path, score.log(), x1, t, x_t)
    assert torch.allclose(entropy, -masked_elbo(path, posterior, x1, t, x_t), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["mask", "uniform", "statistics"])
def test_score_and_posterior_convert_into_each_other(name: str) -> None:
    path = example_path(name, SIX, scheduler="cubic")
    x1, t, x_t, posterior = random_case(path, 8)
    kinds = torch.zeros_like(x1)
    score = posterior_to_score(path, posterior.exp(), kinds, x_t, t)
    back = score_to_posterior(path, score, kinds, x_t, t)
    assert torch.allclose(back, posterior.exp(), rtol=1e-8, atol=1e-9)
    assert torch.allclose(score.gather(-1, x_t[..., None]), torch.ones(()).double(), rtol=1e-9)  # s(z, z) = 1


@pytest.mark.parametrize("name", ["mask", "uniform", "statistics"])
def test_velocity_from_the_score_obeys_the_continuity_equation(name: str) -> None:
    """With D = 1 and a true posterior, sum_z u(x, z) p_t(z) is the derivative of the marginal p_t."""
    path = example_path(name, SIX, scheduler="linear")
    q = torch.tensor([0.1, 0.3, 0.05, 0.25, 0.2, 0.1]).double()

    def marginal(time: float) -> Tensor:
        return q @ path.log_prob(torch.arange(6), torch.full((6,), time, dtype=torch.float64)).exp()

    t, h = 0.4, 1e-6
    p_t, z = marginal(t), torch.arange(7)
    posterior = torch.zeros(7, 7, dtype=torch.float64)
    rows = path.log_prob(torch.arange(6), torch.full((6,), t, dtype=torch.float64)).exp()  # [x1, z]
    posterior[:, :6] = (rows * q[:, None]).T / p_t.clamp(min=1e-300)[:, None]
    kinds, times = torch.zeros(7, dtype=torch.int64), torch.full((7,), t, dtype=torch.float64)
    rates = score_to_velocity(path, posterior_to_score(path, posterior, kinds, z, times), kinds, z, times)  # [z, x]
    change = p_t @ rates - p_t * rates.sum(-1)
    assert torch.allclose(change, (marginal(t + h) - marginal(t - h)) / (2 * h), atol=1e-8)


def test_score_entropy_is_the_general_bound_for_the_velocity_of_the_noising_process() -> None:
    path = example_path("uniform", SIX, scheduler="linear")
    x1, t, x_t, posterior = random_case(path, 9)
    kinds = torch.zeros_like(x1)
    score = posterior_to_score(path, posterior.exp(), kinds, x_t, t)
    point = torch.nn.functional.one_hot(x1, SIX.size).double()
    conditional = score_to_velocity(path, posterior_to_score(path, point, kinds, x_t, t), kinds, x_t, t)
    marginal = score_to_velocity(path, score, kinds, x_t, t)
    moves = conditional > 0
    logs = torch.where(moves, conditional * torch.log(torch.where(moves, marginal / conditional, 1.0)), 0.0)
    expected = -(conditional - marginal + logs).sum(-1)
    assert torch.allclose(score_entropy(path, score.log(), x1, t, x_t), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PATHS.names())
def test_general_bound_is_never_positive_and_zero_for_a_certain_posterior(name: str) -> None:
    path = example_path(name, SIX)
    x1, t, x_t, posterior = random_case(path, 10)
    assert bool((general_elbo(rates_of(path, kinetic_optimal), posterior.exp(), x1, t, x_t) <= 1e-12).all())
    certain = torch.nn.functional.one_hot(x1, SIX.size).double()
    assert torch.allclose(
        general_elbo(rates_of(path, kinetic_optimal), certain, x1, t, x_t), torch.zeros(()).double(), atol=1e-9
    )


@pytest.mark.parametrize("scheduler", ["linear", "cubic", "kinetic_optimal"])
@pytest.mark.parametrize("name", ["mask", "uniform", "statistics"])
def test_grids_in_kappa_and_in_t_give_the_same_bound(name: str, scheduler: str) -> None:
    path = example_path(name, VOCABULARY, scheduler=scheduler)
    model = ExactPosterior(path, SEQUENCES, PROBABILITIES)
    assert isinstance(path, MixturePath)
    own = KineticOptimal(math.pi / 4) if path.scheduler.token_dependent else path.scheduler
    grids = (None, Polynomial(1), own)
    values = [exact_bound(path, "kinetic_optimal", model, SEQUENCES[1], points=400, grid=grid) for grid in grids]
    assert max(values) - min(values) < 1e-3


@pytest.mark.parametrize("name", ["mask", "uniform", "statistics"])
def test_estimate_is_unbiased_on_the_default_grid_and_on_any_other(name: str) -> None:
    path = example_path(name, VOCABULARY)
    model = ExactPosterior(path, SEQUENCES, PROBABILITIES)
    exact = exact_bound(path, "kinetic_optimal", model, SEQUENCES[1])
    for seed, grid in enumerate((None, Polynomial(2))):
        generator = torch.Generator().manual_seed(seed)
        bound = evaluate_bound(
            model, path, SEQUENCES[1].expand(3000, 2), points=32, generator=generator, scheduler=grid
        )
        error = float(bound.log_prob.std()) / 3000**0.5
        assert abs(float(bound.log_prob.mean()) - exact) < 4 * error + 1e-3


@pytest.mark.parametrize("length", [2, 512])
@pytest.mark.parametrize("points", [16, 64])
def test_reported_error_is_the_spread_of_repeated_estimates(length: int, points: int) -> None:
    path = example_path("mask", Vocabulary.single(3, specials=1))

    def model(x: Tensor, t: Tensor) -> Tensor:  # knows more the more it sees
        return (2.0 * t[:, None, None]) * torch.tensor([1.0, 0.0, 0.0, 0.0]).expand(*x.shape, 4)

    x1 = torch.zeros(600, length, dtype=torch.int64)
    bound = evaluate_bound(model, path, x1, points=points, generator=torch.Generator().manual_seed(2))
    reported, spread = float(bound.standard_error.square().mean().sqrt()), float(bound.log_prob.std())
    assert 0.85 * spread < reported < 1.25 * spread


def test_bound_of_a_metric_path_agrees_with_its_exact_value() -> None:
    path = example_path("metric", VOCABULARY, a=1.0, c=3.0)
    model = ExactPosterior(path, SEQUENCES, PROBABILITIES)
    bound = evaluate_bound(
        model, path, SEQUENCES[0].expand(2000, 2), points=32, generator=torch.Generator().manual_seed(3)
    )
    exact = exact_bound(path, "kinetic_optimal", model, SEQUENCES[0])
    assert abs(float(bound.log_prob.mean()) - exact) < 4 * float(bound.log_prob.std()) / 2000**0.5 + 2e-3


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("loss", "name"),
    [
        *itertools.product(["cross_entropy", "general_elbo"], ["mask", "uniform", "statistics", "metric", "kindwise"]),
        *itertools.product(["mixture_elbo", "score_entropy"], ["mask", "uniform", "statistics"]),
        ("masked_elbo", "mask"),
    ],
)
def test_losses_and_their_gradients_are_finite_even_for_extreme_logits(
    loss: str, name: str, dtype: torch.dtype
) -> None:
    path = example_path(name, SIX, **({"scheduler": "linear"} if name in ("mask", "uniform", "statistics") else {}))
    x1, t, x_t, _ = random_case(path, 11)
    for scale in (1.0, 20.0 if loss == "score_entropy" else 60.0):  # logits of e^180 are possible, scores are not
        logits = scale * torch.randn(*x1.shape, SIX.size, generator=torch.Generator().manual_seed(1))
        logits = logits.to(dtype).requires_grad_()
        value = LOSSES.get(loss)(path, logits, x1, x_t, t[:, 0]).mean()
        value.backward()
        assert bool(value.isfinite())
        assert bool(logits.grad.isfinite().all())
        assert float(logits.grad.abs().sum()) > 0


@pytest.mark.parametrize("name", ["uniform", "metric"])
def test_gradient_of_the_general_bound_does_not_depend_on_the_memory_budget(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = example_path(name, SIX)
    x1, t, x_t, _ = random_case(path, 13, count=6)
    gradients = []
    for budget in (2**28, 2**11):
        monkeypatch.setattr(chunks, "MEMORY_BUDGET", budget)
        logits = torch.randn(6, 3, 7, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        logits.requires_grad_()
        general = LOSSES.bind("general_elbo", velocity="power")
        general(path, logits, x1, x_t, t[:, 0]).sum().backward()
        gradients.append(logits.grad)
    assert torch.allclose(*gradients, rtol=1e-10, atol=1e-12)


def test_score_of_an_impossible_token_has_no_nan_gradient() -> None:
    path = example_path("mask", SIX)
    x1, t, x_t, posterior = random_case(path, 14)
    probabilities = posterior.exp().requires_grad_()
    posterior_to_score(path, probabilities, torch.zeros_like(x1), x_t, t).sum().backward()
    assert bool(probabilities.grad.isfinite().all())


def test_training_times_are_stratified_up_to_their_end() -> None:
    times = stratified_times(1000, torch.Generator().manual_seed(0), end=0.5)
    assert torch.equal((times * 2000).floor().sort().values, torch.arange(1000).double())
    assert not torch.equal(times, times.sort().values)


def test_conditional_rates_are_the_marginal_ones_of_a_certain_posterior() -> None:
    path = example_path("metric", SIX)
    x1, t, x_t, _ = random_case(path, 12)
    certain = torch.nn.functional.one_hot(x1, SIX.size).double()
    rates = rates_of(path, kinetic_optimal)
    ours = rates.conditional(x1, x_t, t)
    assert torch.allclose(rates.marginal(certain, x_t, t), ours, rtol=1e-12, atol=1e-12)
