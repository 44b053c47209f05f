"""Closed forms against the general formulas that they shorten."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rate_matrices import SEVEN, VOCABULARIES, all_targets, matrices, outer, random_source
from scipy.optimize import OptimizeResult, minimize
from torch import Tensor

from pipeline.flow.fluxes import kinetic_energy, local_conductance, optimal_flux, potential
from pipeline.flow.paths import example_path
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.schedulers import SCHEDULERS
from pipeline.flow.velocities import VELOCITIES, Velocity
from pipeline.flow.velocities.campbell import campbell
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal
from pipeline.flow.velocities.laplacian import laplacian
from pipeline.flow.velocities.power import power
from pipeline.flow.velocities.power_infinity import power_infinity
from pipeline.flow.vocabulary import Vocabulary

TIMES = [0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95]


def general_rates(path: Path, velocity: Velocity, times: list[float]) -> Tensor:
    """Return the net rates [n, x, z] from the velocity itself, without the closed forms of a path."""
    x1, t = all_targets(path, times)
    rows = [velocity(path.state(x1, t), torch.full_like(x1, z), x1) for z in range(path.vocabulary.size)]
    return torch.stack(rows, dim=-1)


@pytest.mark.parametrize("scheduler", SCHEDULERS.names())
@given(seed=st.integers(0, 10**6), zeros=st.integers(0, 3))
def test_kinetic_optimal_velocity_of_any_mixture_goes_straight_to_x1(scheduler: str, seed: int, zeros: int) -> None:
    path = MixturePath(SEVEN, random_source(seed, zeros=zeros), scheduler)
    x1, t = all_targets(path, TIMES[1:])
    general = general_rates(path, kinetic_optimal, TIMES[1:])
    closed = matrices(path, kinetic_optimal, TIMES[1:]).net_rates
    assert torch.allclose(general, closed, rtol=1e-9, atol=1e-12)
    rate = general.clamp(min=0) * path.clock_rate(x1, t)[:, None, None]
    h = 1e-6
    lam = (path.scheduler.clock(t + h, x1) - path.scheduler.clock(t - h, x1)) / (2 * h)  # kappa' / (1 - kappa)
    for z in range(SEVEN.size):
        expected = torch.zeros(len(x1), SEVEN.size, dtype=torch.float64)
        leaves = (x1 != z) & (path.log_prob(x1, t)[:, z] > -torch.inf)
        expected[leaves, x1[leaves]] = lam[leaves]
        assert torch.allclose(rate[:, :, z], expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", ["mask", "uniform"])
@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=VOCABULARIES)
def test_campbell_is_kinetic_optimal_on_mask_and_uniform_sources(name: str, vocabulary: Vocabulary) -> None:
    path = example_path(name, vocabulary)
    ours, theirs = (matrices(path, velocity, TIMES).flux for velocity in (kinetic_optimal, campbell))
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-12)


def test_campbell_differs_on_a_source_that_is_not_uniform() -> None:
    path = example_path("statistics", SEVEN)
    ours, theirs = (matrices(path, velocity, TIMES).rates for velocity in (kinetic_optimal, campbell))
    assert float((ours - theirs).abs().max()) > 1e-2


@pytest.mark.parametrize("lp", [1.0, 3.0, 4.0])
@pytest.mark.parametrize("a", [0.9, 5.0])
def test_metric_velocity_is_the_general_kinetic_optimal_one(lp: float, a: float) -> None:
    path = example_path("metric", VOCABULARIES["kinds, pad, mask"], lp=lp, a=a)
    general, closed = general_rates(path, kinetic_optimal, TIMES), matrices(path, kinetic_optimal, TIMES).net_rates
    assert torch.allclose(general, closed, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("lp", [1.0, 3.0])
def test_metric_velocity_only_moves_closer_to_x1(lp: float) -> None:
    path = example_path("metric", SEVEN, lp=lp)
    rates = matrices(path, kinetic_optimal, [0.5]).rates
    number = torch.arange(7)
    for x1, x, z in itertools.product(range(7), repeat=3):
        if x != z and abs(number[x] - x1) >= abs(number[z] - x1):
            assert rates[x1, x, z] < 1e-15


@given(seed=st.integers(0, 10**6))
def test_power_one_is_kinetic_optimal_and_power_towards_zero_is_campbell(seed: int) -> None:
    path = MixturePath(SEVEN, random_source(seed), "linear")
    x1, t = all_targets(path, TIMES[1:])
    state = path.state(x1, t)
    for z in range(7):
        here = torch.full_like(x1, z)
        assert torch.allclose(
            power(state, here, x1, alpha=1.0), kinetic_optimal(state, here, x1), rtol=1e-9, atol=1e-12
        )
        assert torch.allclose(power(state, here, x1, alpha=1e-9), campbell(state, here, x1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["metric", "statistics"])
def test_large_powers_tend_to_power_infinity(name: str) -> None:
    path = example_path(name, SEVEN)
    x1, t = all_targets(path, [0.35, 0.62])
    state = path.state(x1, t)
    top = state.prob.topk(2, dim=-1).values
    clear = top[:, 0] > 1.12 * top[:, 1]  # the law does not cover ties, and converges slowly near them
    assert int(clear.sum()) >= 4
    for z in range(7):
        here = torch.full_like(x1, z)
        near, limit = (velocity(state, here, x1) * state.prob[:, z, None] for velocity in (_power_200, power_infinity))
        assert torch.allclose(near[clear], limit[clear], rtol=0, atol=1e-6)


def _power_200(*arguments: object) -> Tensor:
    return VELOCITIES.bind("power", alpha=200.0)(*arguments)


def test_power_infinity_breaks_ties_towards_x1_then_the_lowest_index() -> None:
    uniform = example_path("uniform", SEVEN)
    m = matrices(uniform, power_infinity, [0.0])
    for x1 in range(7):  # at t = 0 all states tie; the hub is x1, so every other state sends its mass there
        assert bool((m.net_rates[x1, x1, [z for z in range(7) if z != x1]] > 0).all())
    skewed = MixturePath(SEVEN, torch.tensor([[0.05, 0.3, 0.3, 0.2, 0.05, 0.05, 0.05]]).double(), "linear")
    state = skewed.state(torch.tensor([5]), torch.tensor([0.01]).double())
    rows = power_infinity(state, torch.tensor([1]), torch.tensor([5]))
    assert float(rows[0, 5]) > 0  # the hub is source token 1, the lowest index of the tie; it feeds x1
    assert float(power_infinity(state, torch.tensor([2]), torch.tensor([5]))[0, 1]) > 0


@pytest.mark.parametrize("velocity", [campbell, kinetic_optimal], ids=lambda velocity: velocity.__name__)
def test_laplacian_solve_gives_the_closed_form_for_its_weight(velocity: Velocity) -> None:
    conductance = {
        campbell: lambda prob: outer((prob > 0).double() / (prob > 0).sum(-1, keepdim=True).sqrt()),
        kinetic_optimal: outer,
    }[velocity]
    masked = example_path("mask", Vocabulary.single(6, 1))
    for path in (example_path("metric", SEVEN, a=1.0), example_path("statistics", SEVEN), masked):
        x1, t = all_targets(path, TIMES[1:])
        state = path.state(x1, t)
        for z in range(7):
            here = torch.full_like(x1, z)
            solved = laplacian(state, here, x1, conductance=conductance)
            closed, mass = velocity(state, here, x1), state.prob[:, z, None]
            assert torch.allclose(solved * mass, closed * mass, rtol=1e-8, atol=1e-12)


@given(seed=st.integers(0, 10**6))
def test_potential_solves_the_laplacian_system(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(6, 6, generator=generator, dtype=torch.float64)
    rho = weights + weights.T
    prob_dot = torch.randn(6, generator=generator, dtype=torch.float64)
    prob_dot -= prob_dot.mean()
    f = potential(rho, prob_dot)
    assert torch.allclose((rho * (f[:, None] - f)).sum(-1), prob_dot, rtol=0, atol=1e-12)


CONDUCTANCES = {
    "campbell": lambda prob: torch.full((*prob.shape, prob.shape[-1]), 1 / prob.shape[-1]).double(),
    "kinetic_optimal": outer,
    "power": lambda prob: outer(prob**2) / (prob**2).sum(-1)[..., None, None],
    "laplacian": local_conductance,
}


def _least_energy(matrix: np.ndarray, target: np.ndarray, conductance: np.ndarray) -> OptimizeResult:
    """Minimise sum j^2 / rho over j >= 0 with matrix j = target; in j / sqrt(rho), where it is a sum of squares."""
    scale = conductance**0.5
    return minimize(
        lambda y: float((y**2).sum()),
        x0=scale,
        jac=lambda y: 2 * y,
        bounds=[(0, None)] * len(scale),
        constraints={"type": "eq", "fun": lambda y: matrix @ (scale * y) - target, "jac": lambda y: matrix * scale},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )


@pytest.mark.parametrize("name", CONDUCTANCES)
def test_flux_attains_the_optimum_of_a_convex_solver(name: str) -> None:
    size = 5
    path = example_path("statistics", Vocabulary.single(size), scheduler="cubic")
    m = matrices(path, VELOCITIES.get(name), [0.45])
    pairs = [(x, z) for x in range(size) for z in range(size) if x != z]
    for row in (0, 3):
        rho = CONDUCTANCES[name](m.prob[row])
        conductance = torch.tensor([rho[x, z] for x, z in pairs]).double().numpy()
        balance = torch.zeros(size, len(pairs), dtype=torch.float64)
        for column, (x, z) in enumerate(pairs):
            balance[x, column], balance[z, column] = 1, -1
        matrix, target = balance.numpy()[1:], m.prob_dot[row].numpy()[1:]  # the first balance follows from the others
        solved = _least_energy(matrix, target, conductance)
        assert solved.success, solved.message
        ours = float(kinetic_energy(m.flux[row], rho))
        assert abs(ours - solved.fun) < 1e-6 * max(1, abs(solved.fun))
        assert torch.allclose(optimal_flux(rho, m.prob_dot[row]), m.flux[row], rtol=1e-8, atol=1e-10)
