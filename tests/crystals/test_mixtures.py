"""The lowest mixture of phases is that of a general solver."""

import numpy as np
import pytest
from scipy.optimize import linprog

from pipeline.crystals import mixtures
from pipeline.crystals.crystal import Floats
from pipeline.crystals.mixtures import lowest_mixture


def programme(seed: int, elements: int, phases: int) -> tuple[Floats, Floats, Floats]:
    """Return shares of phases with small whole ratios, many of them at one composition or almost, and energies."""
    draw = np.random.default_rng(seed)
    counts = draw.integers(0, 4, (elements, phases)).astype(float)
    counts[draw.integers(elements, size=phases), np.arange(phases)] += 1
    shares = np.round(counts / counts.sum(axis=0), 12)  # as points of the hull keep them
    shares[:, ::7] += draw.choice([0, 1e-12, -1e-12], shares[:, ::7].shape)
    matrix = np.hstack([np.eye(elements), shares])
    energies = np.concatenate([np.zeros(elements), np.round(-draw.random(phases), 1)])  # rounded: many ties
    return matrix, energies, shares[:, int(draw.integers(phases))]


@pytest.mark.parametrize(("elements", "phases"), [(2, 20), (3, 60), (5, 300), (7, 150)])
def test_the_lowest_energy_is_that_of_a_general_solver(elements: int, phases: int) -> None:
    for seed in range(40):
        matrix, energies, shares = programme(seed, elements, phases)
        general = linprog(energies, A_eq=matrix, b_eq=shares, method="highs-ds")
        assert lowest_mixture(matrix, energies, shares) == pytest.approx(general.fun, abs=1e-8)


def test_where_rounding_leads_astray_the_general_solver_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def astray(*programme: Floats) -> None:
        raise np.linalg.LinAlgError("Singular matrix")

    matrix, energies, shares = programme(0, 3, 60)
    expected = lowest_mixture(matrix, energies, shares)
    monkeypatch.setattr(mixtures, "_by_simplex", astray)
    assert lowest_mixture(matrix, energies, shares) == pytest.approx(expected, abs=1e-12)
