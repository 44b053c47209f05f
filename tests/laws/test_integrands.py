"""Integrands of the bounds: short forms against the general one, scores, and losses with their gradients."""

import itertools

import pytest
import torch
from torch import Tensor

from pipeline.flow import chunks
from pipeline.flow.elbo import general_elbo
from pipeline.flow.losses import LOSSES, stratified_times
from pipeline.flow.mixture_bounds import masked_elbo, mixture_elbo
from pipeline.flow.paths import PATHS, Path, build_path, example_path
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.posterior import log_posterior
from pipeline.flow.rates import Rates, rates_of
from pipeline.flow.score import posterior_to_score, score_entropy, score_to_posterior, score_to_velocity
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal
from pipeline.flow.vocabulary import Vocabulary

SIX = Vocabulary.single(6, specials=1)


def random_case(path: Path, seed: int, count: int = 40) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return x1, t, x_t, and the logarithm of a random posterior that is possible given x_t."""
    generator = torch.Generator().manual_seed(seed)
    x1 = torch.randint(0, 6, (count, 3), generator=generator)
    t = torch.rand(count, generator=generator, dtype=torch.float64) * 0.98 + 0.01
    x_t = path.sample(x1, t, generator)
    logits = torch.randn(count, 3, path.vocabulary.size, generator=generator, dtype=torch.float64)
    return x1, t[:, None].expand(count, 3), x_t, log_posterior(path, logits, x1, x_t)


@pytest.mark.parametrize("scheduler", ["linear", "cubic", "early_cubic", "cosine", "kinetic_optimal"])
@pytest.mark.parametrize("name", ["mask", "uniform", "statistics"])
def test_mixture_bound_equals_the_general_bound(name: str, scheduler: str) -> None:
    path = example_path(name, SIX, scheduler=scheduler)
    x1, t, x_t, posterior = random_case(path, 3)
    general = general_elbo(Rates(path, kinetic_optimal), posterior.exp(), x1, t, x_t)
    assert torch.allclose(mixture_elbo(path, posterior, x1, t, x_t), general, rtol=1e-10, atol=1e-10)


def test_the_bound_of_a_mixture_for_each_kind_is_the_general_bound() -> None:
    vocabulary = Vocabulary([0, 0, 1, 1, 1, -1])
    parts = [{"name": "mask", "scheduler": "early_cubic"}, {"name": "uniform", "scheduler": "linear"}]
    path = build_path("kindwise", vocabulary, paths=parts)
    generator = torch.Generator().manual_seed(8)
    x1 = torch.randint(0, 5, (40, 3), generator=generator)
    t = torch.rand(40, generator=generator, dtype=torch.float64) * 0.98 + 0.01
    x_t = path.sample(x1, t, generator)
    logits = torch.randn(40, 3, 6, generator=generator, dtype=torch.float64)
    posterior = log_posterior(path, logits, x1, x_t).exp()
    general = general_elbo(Rates(path, kinetic_optimal), posterior, x1, t[:, None].expand(40, 3), x_t)
    losses = LOSSES.get("mixture_elbo")(path, logits, x1, x_t, t)
    assert torch.allclose(-losses, general, rtol=1e-10, atol=1e-10)
    of = torch.arange(40).repeat_interleave(3)
    some = LOSSES.get("mixture_elbo")(path, logits.flatten(0, 1), x1.flatten(), x_t.flatten(), t, of)
    assert torch.equal(some, losses.flatten())


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


@pytest.mark.parametrize("scheduler", ["linear", "cubic", "early_cubic", "cosine", "kinetic_optimal"])
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
    for scale in (
        1.0,
        20.0 if loss == "score_entropy" else 60.0,
    ):  # a logit may be 180, but no score is e^180
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
