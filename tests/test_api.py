"""The package `kinoflow`: the example in its docstring runs, its names are public ones, and crystals come and go."""

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from pymatgen.core import Lattice, Structure

import kinoflow
from pipeline.errors import KinoflowError

SALT = Structure.from_spacegroup("Fm-3m", Lattice.cubic(5.7), ["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]])


def test_the_example_runs() -> None:
    result = doctest.testmod(kinoflow)
    assert (result.failed, result.attempted) == (0, 6)


def test_its_names_are_those_of_its_modules() -> None:
    public = importlib.import_module("pipeline.flow.public").__all__
    assert {*public, "load_weights", "trained", "relax", "evaluate"} <= set(dir(kinoflow))
    assert kinoflow.sample is importlib.import_module("pipeline.flow.sampler").sample
    with pytest.raises(AttributeError, match="no attribute 'smaple'"):
        kinoflow.smaple  # noqa: B018


def test_importing_it_imports_nothing_that_computes() -> None:
    code = "import sys, kinoflow; assert not sys.modules.keys() & {'torch', 'numpy', 'pymatgen'}"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])


def test_structures_are_relaxed() -> None:
    cell = SALT.get_primitive_structure()
    (relaxed,) = kinoflow.relax([cell], steps=3)
    assert relaxed.reason != "" or relaxed.converged
    assert relaxed.structure is not None
    assert relaxed.structure.composition == cell.composition
    assert -4 < relaxed.energy_per_atom < -3


def test_weights_of_the_project_generate_to_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[1])
    structures = kinoflow.load_weights("mp20_part_ordered").generate(2, formula="NaCl", seed=1)
    assert structures
    assert {structure.composition.reduced_formula for structure in structures} == {"NaCl"}
    with pytest.raises(KinoflowError, match="no such weights; did you mean 'mp20_part_ordered'"):
        kinoflow.load_weights("mp20_part_orderd")
