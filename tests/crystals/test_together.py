"""Relaxations whose energies are computed together."""

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from ase import Atoms
from ase.calculators.calculator import Calculator
from small_crystals import caesium_chloride, crystal, rock_salt

from pipeline.config import EnergyModelChoice
from pipeline.crystals.energies import atoms_of
from pipeline.crystals.energy_model import EnergyModel
from pipeline.crystals.relaxation import relax_several
from pipeline.crystals.together import run_together


def energies(calls: list[int], crystals: Sequence[Atoms]) -> list[dict[str, Any] | Exception]:
    calls.append(len(crystals))
    return [ValueError("too many") if len(atoms) > 5 else {"energy": float(len(atoms))} for atoms in crystals]


def ask(calculator: Calculator, item: tuple[int, int]) -> float:
    """Ask for the energy of so many atoms so many times."""
    number, times = item
    for shift in range(times):
        atoms = Atoms(f"H{number}", positions=[[place, 0, shift] for place in range(number)], calculator=calculator)
        energy = atoms.get_potential_energy()
    return float(energy)


def test_all_that_are_left_are_computed_in_one_call() -> None:
    calls: list[int] = []
    assert run_together(ask, [(1, 3), (2, 1), (3, 2)], partial(energies, calls)) == [1.0, 2.0, 3.0]
    assert calls == [3, 2, 1]


def test_an_error_of_one_reaches_only_that_one() -> None:
    def relaxed(calculator: Calculator, item: tuple[int, int]) -> float | str:
        try:
            return ask(calculator, item)
        except ValueError as error:
            return str(error)

    assert run_together(relaxed, [(2, 2), (6, 2)], partial(energies, [])) == [2.0, "too many"]


def test_an_error_of_the_model_reaches_all_and_no_thread_is_left() -> None:
    def fails(crystals: Sequence[Atoms]) -> Any:
        raise MemoryError("full")

    before = threading.active_count()
    with pytest.raises(MemoryError, match="full"):
        run_together(ask, [(2, 2), (3, 1)], fails)
    assert threading.active_count() == before


@pytest.fixture(scope="module")
def chgnet() -> EnergyModel:
    return EnergyModel.of(EnergyModelChoice(name="chgnet"))


@pytest.fixture(scope="module")
def calculator(chgnet: EnergyModel) -> Any:
    return chgnet.load("cpu")


STARTS = [
    rock_salt(length=5.9),
    caesium_chloride(length=4.4),
    rock_salt(length=20.0),
    crystal("Cu", 2.6, {(0, 0, 0): 29}),
]


def test_chgnet_gives_several_crystals_the_results_that_each_has_alone(calculator: Any) -> None:
    several = calculator.compute([atoms_of(start, None) for start in STARTS])
    for start, found in zip(STARTS, several, strict=True):
        (alone,) = calculator.compute([atoms_of(start, None)])
        if isinstance(alone, Exception):
            assert (type(found), str(found)) == (type(alone), str(alone))
            continue
        for name in ("energy", "forces", "stress"):
            assert found[name] == pytest.approx(alone[name], abs=1e-4)


def test_crystals_that_are_relaxed_together_end_where_each_would_alone(chgnet: EnergyModel, calculator: Any) -> None:
    how = {"model": chgnet, "steps": 60, "force": 0.1}
    together = relax_several(calculator, STARTS, **how)
    for start, row in zip(STARTS, together, strict=True):
        (alone,) = relax_several(calculator, [start], **how)
        assert (row["id"], row["reason"], row["converged"]) == (alone["id"], alone["reason"], alone["converged"])
        assert row["energy_per_atom"] == pytest.approx(alone["energy_per_atom"], abs=2e-3, nan_ok=True)
