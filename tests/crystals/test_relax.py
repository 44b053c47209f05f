"""Relaxation of one crystal: converged, unconverged, or a reason."""

import math
import re
from typing import Any

import numpy as np
import pytest
from ase.calculators.calculator import Calculator
from ase.calculators.lj import LennardJones
from small_crystals import crystal, overlapping, rock_salt

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.energies import atoms_of, formation_energy
from pipeline.crystals.energy_models.chgnet import load_chgnet
from pipeline.crystals.relaxation import RELAXED_COLUMNS, STEP_LIMIT, displacement, relax, summary
from pipeline.crystals.table import crystal_of


@pytest.fixture(scope="module")
def chgnet() -> Calculator:
    return load_chgnet()


@pytest.fixture
def argon() -> Calculator:
    return LennardJones(sigma=3.4, epsilon=0.01, rc=9.0, smooth=True)


class Constant(Calculator):
    """Gives the same energy and stress everywhere, and the first atom a force that grows as it gives way."""

    implemented_properties = ["energy", "forces", "stress"]  # noqa: RUF012

    def __init__(self, energy: float, stress: float = 0.0, force: float = 0.0) -> None:
        super().__init__()
        self.energy, self.stress, self.force = energy, stress, force

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = ()) -> None:
        super().calculate(atoms, properties, system_changes)
        stress = np.array([self.stress] * 3 + [0.0] * 3)
        forces = np.zeros((len(atoms), 3))
        forces[0, 0] = self.force * (1 + abs(atoms.positions[0, 0]))
        self.results = {"energy": self.energy * len(atoms), "forces": forces, "stress": stress}


def energy_of(calculator: Calculator, crystal: Crystal) -> float:
    return float(atoms_of(crystal, calculator).get_potential_energy()) / len(crystal.numbers)


def test_a_compressed_crystal_relaxes_to_the_minimum(argon: Calculator) -> None:
    row = relax(argon, crystal("Ar", 3.2, {(0, 0, 0): 18}, angles=[60.0] * 3), steps=300, force=1e-4)
    assert list(row) == list(dict.fromkeys([*row, *RELAXED_COLUMNS]))
    assert (row["reason"], row["converged"]) == ("", True)
    assert 0 < row["steps"] < 300
    assert row["max_force"] < 1e-4
    assert row["lengths"] == pytest.approx([1.09 * 3.4] * 3, rel=0.01)  # of a Lennard-Jones crystal
    assert row["rmsd"] == pytest.approx(0, abs=1e-6)
    assert row["formula"] == "Ar1"


def test_the_step_limit_leaves_an_energy_and_a_structure_but_no_convergence(argon: Calculator) -> None:
    row = relax(argon, rock_salt(length=6.0), steps=3, force=1e-6)
    assert (row["reason"], row["converged"], row["steps"]) == (STEP_LIMIT, False, 3)
    assert math.isfinite(row["energy_per_atom"])
    assert row["max_force"] > 1e-6
    assert crystal_of(row) is not None


def test_a_crystal_at_its_minimum_takes_no_step(argon: Calculator) -> None:
    row = relax(argon, rock_salt(length=6.0), steps=3, force=1e3)
    assert (row["converged"], row["steps"]) == (True, 0)


def test_a_crystal_whose_force_gets_no_smaller_is_given_up_if_asked_for() -> None:
    stuck = Constant(-2.0, force=0.2)
    row = relax(stuck, rock_salt(), steps=40, force=0.1, patience=7)
    assert (row["reason"], row["converged"], row["steps"]) == ("given up: no smaller force in 7 steps", False, 7)
    assert row["max_force"] > 0.2
    assert crystal_of(row) is not None
    assert summary([row]) == "relaxed 1 crystals: 0 converged, 1 given up"
    assert relax(stuck, rock_salt(), steps=40, force=0.1)["reason"] == STEP_LIMIT


def test_a_crystal_whose_force_gets_smaller_is_not_given_up(argon: Calculator) -> None:
    start = rock_salt(length=3.6, numbers=(18, 18))
    patient, plain = (relax(argon, start, steps=300, force=1e-4, patience=patience) for patience in (60, None))
    assert patient == plain
    assert plain["converged"]


@pytest.mark.parametrize(
    ("calculator", "start", "reason"),
    [
        (Constant(math.nan), rock_salt(), "exploded: energy or forces are not finite"),
        (Constant(-2.0, stress=math.nan), rock_salt(), "exploded: energy or forces are not finite"),
        (Constant(-2.0), rock_salt(length=1.0), r"exploded: 0.35 A\^3 an atom"),
        (Constant(-2.0, stress=-1.0), rock_salt(), "exploded: .* times the volume"),
        (Constant(-2.0, stress=1.0), rock_salt(length=6), "exploded: .* times the volume"),
        (Constant(-2.0, stress=1.0), rock_salt(length=2.5), r"exploded: .* A\^3 an atom"),
        (Constant(-2.0), overlapping(), "exploded: atoms 0.04 A apart"),
        (Constant(-9.0), rock_salt(), "exploded: a formation energy of -7.42 eV/atom"),
        (Constant(25.0), rock_salt(numbers=(85, 17)), "exploded: an energy of 25 eV/atom"),
        (Constant(-2.0), crystal("open", 4.0, {(0, 0, 0): 11}, angles=[20.0, 60.0, 120.0]), "exploded: angles"),
        (Constant(-2.0), rock_salt(length=900), r"exploded: 2.6e\+08 A\^3 an atom"),
    ],
)
def test_what_cannot_be_a_crystal_any_more_has_a_reason(calculator: Calculator, start: Crystal, reason: str) -> None:
    row = relax(calculator, start, steps=500, force=0.01)
    assert re.match(reason, row["reason"]), row["reason"]
    assert row["numbers"] == []
    assert row["converged"] is False
    assert math.isnan(row["energy_per_atom"])


def test_the_displacement_knows_images_and_no_drift() -> None:
    start = rock_salt(length=4.0)
    moved = start.fractions + np.array([[0.0, 0.0, 0.0], [0.05, 0.0, 0.0]])
    for drift in (0.0, 0.48, 0.7):
        end = Crystal("end", start.lengths, start.angles, start.numbers, (moved + drift) % 1.0)
        assert displacement(start, end) == pytest.approx(0.025 * 4.0)


def test_chgnet_knows_rock_salt(chgnet: Calculator) -> None:
    energy, reason = formation_energy([11, 17], energy_of(chgnet, rock_salt(length=3.99)))
    assert reason == ""
    assert energy == pytest.approx(-2.1, abs=0.1)


def test_chgnet_relaxes_the_same_way_every_time(chgnet: Calculator) -> None:
    start = rock_salt(length=4.1)
    assert relax(chgnet, start, steps=3, force=1e-3) == relax(chgnet, start, steps=3, force=1e-3)


def test_the_energy_is_chgnets_at_the_relaxed_structure(chgnet: Calculator) -> None:
    row = relax(chgnet, rock_salt(length=4.2), steps=100, force=0.1)
    assert row["converged"]
    end = crystal_of(row)
    assert end is not None
    assert row["energy_per_atom"] == pytest.approx(energy_of(chgnet, end), abs=1e-5)


def test_atoms_out_of_reach_of_each_other_have_a_reason(chgnet: Calculator) -> None:
    row = relax(chgnet, rock_salt(length=20.0), steps=3, force=0.1)
    assert row["reason"] == "exploded: atoms without neighbours"
