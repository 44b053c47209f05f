"""Likelihood bounds: from exact expectations over x_t on a fine grid in t, without sampling noise."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from pipeline.flow.elbo import general_elbo
from pipeline.flow.likelihood import evaluate_bound
from pipeline.flow.paths import Path, example_path
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.posterior import ExactPosterior, log_posterior
from pipeline.flow.rates import rates_of
from pipeline.flow.schedulers import KineticOptimal, Polynomial, Scheduler
from pipeline.flow.vocabulary import Vocabulary

VOCABULARY = Vocabulary.single(3, specials=1)
SEQUENCES = torch.tensor([[0, 0], [1, 2], [2, 1], [2, 2], [0, 1]])
PROBABILITIES = torch.tensor([0.4, 0.25, 0.2, 0.1, 0.05]).double()


def exact_bound(
    path: Path, velocity: str, model: ExactPosterior, x1: Tensor, points: int = 1000, grid: Scheduler | None = None
) -> float:
    """Integrate the exact expectation of the general bound by the midpoint rule.

    The integral is over the kappa of `grid`, or without one over t, with more points near both ends.
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

    def model(x: Tensor, t: Tensor) -> Tensor:  # surer as t grows
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
