"""Geodesics, their energy, and the schedulers of mixture paths."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rate_matrices import SEVEN, all_targets, matrices, outer, random_source

from pipeline.flow.fluxes import kinetic_energy
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.geodesic import GeodesicPath, geodesic
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.rates import rates_of
from pipeline.flow.schedulers import SCHEDULERS, KineticOptimal
from pipeline.flow.velocities import VELOCITIES
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal


@given(seed=st.integers(0, 10**6))
def test_kinetic_optimal_mixture_is_the_squared_geodesic(seed: int) -> None:
    source = random_source(seed)
    mixture, arc = MixturePath(SEVEN, source, "kinetic_optimal"), GeodesicPath(SEVEN, source)
    x1, t = all_targets(mixture, [0.0, 0.1, 0.5, 0.9, 0.999, 1.0])
    assert torch.allclose(mixture.log_prob(x1, t).exp(), arc.log_prob(x1, t).exp(), rtol=0, atol=1e-12)


def _energy(path: Path, x1: int, points: int = 4000) -> float:
    """Integrate the kinetic energy of the kinetic-optimal flux, weight 1 / p, over t by the midpoint rule."""
    t = (torch.arange(points).double() + 0.5) / points
    tokens = torch.full((points,), x1)
    state = path.state(tokens, t)
    size = path.vocabulary.size
    z = torch.arange(size).expand(points, size)
    net_rates = rates_of(path, kinetic_optimal).net(tokens[:, None].expand_as(z), z, t[:, None].expand_as(z))
    rates = net_rates.clamp(min=0) * path.clock_rate(tokens, t)[:, None, None]
    flux = (rates * state.prob[..., None]).transpose(1, 2)
    return float(kinetic_energy(flux, outer(state.prob)).mean())


def test_kinetic_optimal_path_has_energy_four_omega_squared_and_no_scheduler_has_less() -> None:
    source = random_source(5)
    for x1 in (0, 4):
        omega = math.acos(math.sqrt(float(source[0, x1])))
        best = _energy(MixturePath(SEVEN, source, "kinetic_optimal"), x1)
        assert abs(best - 4 * omega**2) < 1e-6 * best
        for scheduler in ("linear", "cubic", "early_cubic", "cosine"):
            assert _energy(MixturePath(SEVEN, source, scheduler), x1) > best * 1.01


def test_geodesic_between_any_two_distributions_has_energy_four_omega_squared() -> None:
    p, q = random_source(1)[0], random_source(2)[0]
    t = (torch.arange(1000).double() + 0.5) / 1000
    a, a_dot = geodesic(p.expand(1000, -1), q.expand(1000, -1), t)
    omega = torch.acos((p * q).sqrt().sum())
    assert torch.allclose((a**2).sum(-1), torch.ones(()).double(), rtol=0, atol=1e-12)
    assert torch.allclose(4 * (a_dot**2).sum(-1), 4 * omega**2, rtol=1e-10)
    ends, _ = geodesic(p.expand(2, -1), q.expand(2, -1), torch.tensor([0.0, 1.0]).double())
    assert torch.allclose(ends**2, torch.stack([p, q]), rtol=0, atol=1e-12)
    still, still_dot = geodesic(p, p, torch.tensor(0.3).double())
    assert torch.allclose(still**2, p, atol=1e-12)
    assert torch.allclose(still_dot, torch.zeros_like(p), atol=1e-9)


def test_geodesic_to_an_arbitrary_target_obeys_continuity_under_every_velocity() -> None:
    target = torch.cat([random_source(seed) for seed in range(7)])
    path = GeodesicPath(SEVEN, random_source(9), target)
    assert not path.ends_at_x1
    for name in VELOCITIES.names():
        m = matrices(path, VELOCITIES.get(name), [0.1, 0.5, 0.9])
        assert torch.allclose((m.rates * m.prob[:, None, :]).sum(-1), m.prob_dot, rtol=0, atol=1e-12)


def test_kinetic_optimal_scheduler_has_the_limits_of_mask_and_of_full_source_mass() -> None:
    t, token = torch.tensor([0.0, 0.3, 0.7]).double(), torch.zeros(3, dtype=torch.int64)
    mask, full = KineticOptimal(math.pi / 2), KineticOptimal(0.0)
    assert torch.allclose(mask.kappa(t, token), torch.sin(math.pi * t / 2) ** 2, atol=1e-14)
    assert torch.allclose(full.kappa(t, token), 1 - (1 - t) ** 2, atol=1e-14)
    assert torch.allclose(full.rate(t, token), 2 / (1 - t), rtol=1e-14)
    assert bool((mask.rate(t, token) >= 0).all())


@pytest.mark.parametrize(
    ("name", "half"),
    [("linear", 0.5), ("cubic", 0.125), ("cosine", 1 - 0.5**0.5), ("early_cubic", 0.875), ("kinetic_optimal", 2 / 3)],
)
def test_schedulers_have_their_value_half_way(name: str, half: float) -> None:
    scheduler = SCHEDULERS.get(name)(torch.tensor([0.25]), torch.tensor([True]))  # omega = pi / 3
    kappa = scheduler.kappa(torch.tensor([0.5]).double(), torch.tensor([0]))
    assert abs(float(kappa) - half) < 1e-7


@pytest.mark.parametrize("name", SCHEDULERS.names())
def test_schedulers_rise_from_zero_to_one_and_invert(name: str) -> None:
    scheduler = SCHEDULERS.get(name)(torch.tensor([0.25, 0.25]), torch.tensor([True, True]))
    t, x1 = torch.linspace(0, 1, 101).double(), torch.zeros(101, dtype=torch.int64)
    kappa = scheduler.kappa(t, x1)
    assert float(kappa[0]) == 0
    assert float(kappa[-1]) == 1
    assert bool((scheduler.clock(t, x1)[:-1].diff() > 0).all())
    resolved = (kappa < 1 - 1e-9) | (kappa == 1) & (t == 1)  # closer to 1, float64 no longer tells times apart
    assert int(resolved.sum()) > 40
    assert torch.allclose(scheduler.time(kappa[resolved]), t[resolved], atol=1e-7)


def test_first_second_and_third_come_one_after_the_other() -> None:
    schedulers = [
        SCHEDULERS.get(name)(torch.zeros(2), torch.tensor([True, True])) for name in ("first", "second", "third")
    ]
    for earlier, later in itertools.pairwise(schedulers):
        t, x1 = later.time(torch.tensor([0.05]).double()), torch.tensor([0])
        assert float(earlier.kappa(t, x1)) > 0.95
