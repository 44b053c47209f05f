"""Laws of every registered path under every registered velocity. Register a new one, and it is tested too."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rate_matrices import all_targets, data_tokens, matrices, with_diagonal

from pipeline.flow.correctors import CORRECTORS, Corrector
from pipeline.flow.fluxes import divergence
from pipeline.flow.jumps import Correction
from pipeline.flow.paths import PATHS, Path
from pipeline.flow.steps import STEPS, Transition
from pipeline.flow.velocities import VELOCITIES, Velocity
from pipeline.flow.velocities.net_rates import preserving

TIMES = st.lists(st.floats(0, 0.999, allow_subnormal=False), min_size=20, max_size=20).map(lambda times: [0.0, *times])
INNER_TIMES = st.lists(st.floats(0.01, 0.97), min_size=20, max_size=20)


def close(left: torch.Tensor, right: torch.Tensor, tolerance: float, scale: torch.Tensor | float = 1.0) -> bool:
    return bool(((left - right).abs() <= tolerance * (1 + torch.as_tensor(scale).abs())).all())


@given(times=TIMES)
def test_continuity_equation_holds(path: Path, velocity: Velocity, times: list[float]) -> None:
    m = matrices(path, velocity, times).representable()
    assert close((m.rates * m.prob[:, None, :]).sum(-1), m.prob_dot, 1e-12, m.flux.amax())
    assert close(-divergence(m.flux), m.prob_dot, 1e-12, m.flux.amax())


@given(times=TIMES)
def test_rate_conditions_hold(path: Path, velocity: Velocity, times: list[float]) -> None:
    m = matrices(path, velocity, times)
    assert bool((m.net_rates.diagonal(dim1=-2, dim2=-1) == 0).all())
    rates = m.rates
    off_diagonal = rates - torch.diag_embed(rates.diagonal(dim1=-2, dim2=-1))
    assert bool(rates.isfinite().all())
    assert bool((off_diagonal >= 0).all())
    assert close(rates.sum(-2), torch.zeros(()), 1e-12, off_diagonal.amax())


@given(times=TIMES)
def test_no_flux_leaves_a_state_without_mass(path: Path, velocity: Velocity, times: list[float]) -> None:
    m = matrices(path, velocity, times)
    empty = (m.log_prob == -torch.inf)[:, None, :].expand_as(m.net_rates)
    assert bool((m.net_rates[empty] == 0).all())


@given(times=TIMES)
def test_no_rate_leads_out_of_the_kind_of_x1(path: Path, velocity: Velocity, times: list[float]) -> None:
    kinds = path.vocabulary.kinds_of(all_targets(path, times)[0])
    possible = path.vocabulary.targets(kinds) | (path.source(kinds) > -torch.inf)
    rates_into = matrices(path, velocity, times).net_rates.abs().sum(-1)
    assert bool((rates_into[~possible] == 0).all())


@given(times=TIMES)
def test_net_flux_is_antisymmetric(path: Path, velocity: Velocity, times: list[float]) -> None:
    m = matrices(path, velocity, times).representable()
    net_flux = m.net_rates * m.prob[:, None, :]
    between_masses = (m.prob > 0)[:, None, :] & (m.prob > 0)[:, :, None]
    assert close((net_flux + net_flux.transpose(1, 2))[between_masses], torch.zeros(()), 1e-12, net_flux.abs().amax())


@given(times=INNER_TIMES)
def test_corrector_leaves_the_path_unchanged(path: Path, velocity: Velocity, times: list[float]) -> None:
    m = matrices(path, velocity, times).representable()
    corrector = with_diagonal(preserving(m.net_rates))
    change = (corrector * m.prob[:, None, :]).sum(-1)
    assert close(change, torch.zeros(()), 1e-12, (m.net_rates.abs() * m.prob[:, None, :]).amax())


@given(times=INNER_TIMES)
def test_corrector_within_its_limit_leaves_the_path_unchanged(
    path: Path, velocity: Velocity, times: list[float]
) -> None:
    m = matrices(path, velocity, times).representable()
    for weight, limit in ((1.0, 0.7), (30.0, 2.0)):
        correction = Correction(*(torch.full(m.prob.shape, value).double() for value in (weight, limit)))
        prob = m.prob[:, None, :].expand(-1, m.prob.shape[-1], -1)  # of the destination, for every z
        rates = correction.rates(m.net_rates.transpose(1, 2), prob).transpose(1, 2)
        change = (with_diagonal(rates) * m.prob[:, None, :]).sum(-1)
        assert close(change, torch.zeros(()), 1e-12, (rates * m.prob[:, None, :]).amax())
        assert bool((rates.sum(-2) <= limit * (1 + 1e-12)).all())


@pytest.mark.parametrize("kind", CORRECTORS.names())
@pytest.mark.parametrize("weight, limit", [(0.3, 0.5), (40.0, 1.0)])
def test_a_step_of_every_corrector_leaves_the_path_unchanged(
    path: Path, velocity: Velocity, kind: str, weight: float, limit: float
) -> None:
    x1, t = all_targets(path, [0.0, 0.2, 0.5, 0.8])
    t_next = t + 0.1
    m = matrices(path, velocity, [0.1, 0.3, 0.6, 0.9])
    held = ((m.log_prob > -300) | (m.log_prob == -torch.inf)).all(-1)  # see `representable`
    corrector = Transition(path, velocity, "exact", Corrector(weight, limit=limit, kind=kind))
    kernel = corrector._corrections(x1, t, t_next)[held]
    assert bool((kernel >= -1e-12).all())
    assert close((m.prob[held][:, None, :] @ kernel).squeeze(-2), m.prob[held], 1e-12)
    assert float((kernel.diagonal(dim1=-2, dim2=-1) < 0.99).double().sum()) > 0


@pytest.mark.parametrize("step", STEPS.names())
@pytest.mark.parametrize(
    "corrector", [None, *(Corrector(2.0, kind=kind) for kind in CORRECTORS.names())], ids=["none", *CORRECTORS.names()]
)
def test_every_kernel_is_a_distribution_for_any_step(
    path: Path, velocity: Velocity, step: str, corrector: Corrector | None
) -> None:
    x1 = data_tokens(path.vocabulary)
    shape = (len(x1), path.vocabulary.size)
    x1, z = x1[:, None].expand(shape), torch.arange(path.vocabulary.size).expand(shape)
    for t, t_next in ((0.0, 0.05), (0.0, 1.0), (0.0, 0.999), (0.3, 0.31), (0.5, 0.98)):
        start, end = (torch.full(shape, time, dtype=torch.float64) for time in (t, t_next))
        rows = Transition(path, velocity, step, corrector).probabilities(x1, z, start, end)
        assert bool((rows >= 0).all())
        assert close(rows.sum(-1), torch.ones(()), 1e-12)


def test_at_least_four_paths_and_five_velocities_are_tested() -> None:
    assert len(PATHS.names()) >= 4
    assert len(VELOCITIES.names()) >= 5
