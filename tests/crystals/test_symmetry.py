"""Space groups, and crystals written with their symmetry."""

import io
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from known_crystals import rock_salt, wurtzite
from pymatgen.analysis.structure_matcher import StructureMatcher
from pymatgen.core import Lattice, Structure
from small_crystals import caesium_chloride, crystal, table

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.export import cif_text, write_cif_zip
from pipeline.crystals.reading import read_structures
from pipeline.crystals.symmetry import TOLERANCE, TOLERANCE_RELAXED, UNKNOWN, space_group, symmetrised
from pipeline.crystals.table import crystals_of
from pipeline.crystals.tokens import decode, encode

CELLS = {  # the international number, its cell, and one atom of each kind of site
    2: (Lattice.from_parameters(4.1, 5.2, 6.3, 95, 100, 110), {"Na": [0.1, 0.23, 0.31], "Cl": [0.6, 0.7, 0.15]}),
    14: (Lattice.monoclinic(5.15, 5.21, 5.32, 99.2), {"Zr": [0.275, 0.04, 0.208], "O": [0.07, 0.33, 0.345]}),
    15: (Lattice.monoclinic(9.7, 8.9, 5.25, 105.9), {"Ca": [0, 0.3, 0.25], "Si": [0.286, 0.093, 0.229]}),
    62: (Lattice.orthorhombic(5.4, 7.6, 5.3), {"Ca": [0.04, 0.25, 0.99], "O": [0.48, 0.25, 0.07]}),
    70: (Lattice.orthorhombic(6.1, 7.3, 8.9), {"S": [0.05, 0.11, 0.21]}),
    88: (Lattice.tetragonal(5.2, 11.4), {"Ca": [0, 0.25, 0.625], "W": [0, 0.25, 0.125], "O": [0.15, 0.009, 0.211]}),
    136: (Lattice.tetragonal(4.59, 2.96), {"Ti": [0, 0, 0], "O": [0.305, 0.305, 0]}),
    152: (Lattice.hexagonal(4.91, 5.4), {"Si": [0.47, 0, 1 / 3], "O": [0.41, 0.27, 0.45]}),
    166: (Lattice.hexagonal(4.38, 30.5), {"Bi": [0, 0, 0.4], "Te": [0, 0, 0.212]}),
    205: (Lattice.cubic(5.42), {"Fe": [0, 0, 0], "S": [0.385, 0.385, 0.385]}),
    227: (Lattice.cubic(5.43), {"Si": [0.125, 0.125, 0.125]}),
}

EXACT = 0.01  # A; the crystals above are exactly symmetric, and CaWO4 is within 0.1 A of a higher symmetry
ASYMMETRIC = crystal("asymmetric", 4, {(0, 0, 0): 11, (0.2, 0.3, 0.44): 17, (0.6, 0.1, 0.8): 8})
SHARED = crystal("one place", 4, {(0, 0, 0): 11, (1, 0, 0): 11})


def of_group(number: int, seed: int = 0) -> Crystal:
    """Return a crystal of a space group, in a primitive cell that is turned into another of the same lattice."""
    lattice, sites = CELLS[number]
    whole = Structure.from_spacegroup(number, lattice, list(sites), list(sites.values())).get_primitive_structure()
    draw = np.random.default_rng(seed)
    other = np.array([[1, draw.integers(-1, 2), 0], [0, 1, 0], [draw.integers(-1, 2), 0, 1]])
    moved = Structure(
        Lattice(other @ whole.lattice.matrix),
        whole.species,
        (whole.frac_coords + draw.random(3)) @ np.linalg.inv(other),
    )
    return Crystal.of(str(number), moved)


def through_pymatgen(text: str) -> Structure:
    return Structure.from_str(text, fmt="cif")


def through_ase(text: str) -> Structure:
    from ase.io import read

    atoms = read(io.StringIO(text), format="cif")
    return Structure(atoms.cell.array, atoms.numbers, atoms.get_scaled_positions())


@pytest.mark.parametrize(
    "structure, number",
    [
        (rock_salt(), 225),
        (wurtzite(), 186),
        (caesium_chloride(), 221),
        (caesium_chloride(numbers=(11, 11)), 229),
        (SHARED, 0),
        (crystal("no such cell", 4, {(0, 0, 0): 11}, angles=[10, 20, 150]), 0),
        (Crystal("no atoms", np.full(3, 4.0), np.full(3, 90.0), np.array([], dtype=np.int64), np.zeros((0, 3))), 0),
    ],
    ids=lambda value: value.id if isinstance(value, Crystal) else str(value),
)
def test_a_space_group_is_that_of_the_textbook_or_unknown(structure: Crystal, number: int) -> None:
    assert space_group(structure) == number


@pytest.mark.parametrize("number", CELLS)
def test_a_space_group_does_not_depend_on_cell_and_origin(number: int) -> None:
    assert [space_group(of_group(number, seed), EXACT) for seed in range(3)] == [number] * 3


def test_a_supercell_has_the_space_group_of_its_crystal_and_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert space_group(crystal("two cells", 4, {(0, 0, 0): 11, (0.5, 0, 0): 11}, lengths=(8, 4, 4))) == 221
    assert capfd.readouterr() == ("", "")


def test_an_atom_may_be_off_its_place_by_the_tolerance() -> None:
    off = rock_salt()
    off.fractions[0, 0] += 0.05 / 5.64
    assert (space_group(off), space_group(off, EXACT)) == (225, 99)


@pytest.mark.parametrize(
    ("lengths", "angles", "places", "group"),
    [
        ([4.0508, 4.0372, 4.0453], [60.836, 59.958, 59.688], {(0, 0, 0): 11, (0.5, 0.5, 0.5): 17}, 225),
        ([3.8523, 3.884, 3.8679], [59.827, 60.117, 59.968], {(0, 0, 0): 14, (0.25, 0.25, 0.25): 14}, 227),
    ],
    ids=["NaCl", "Si"],
)
def test_cells_that_a_relaxation_leaves_under_stress_have_their_group_within_the_tolerance_of_relaxed_crystals(
    lengths: list[float], angles: list[float], places: dict[tuple[float, float, float], int], group: int
) -> None:
    """The cells of disturbed crystals as CHGNet left them with forces below 0.1 eV/A."""
    relaxed = crystal("relaxed", 4, places, lengths=lengths, angles=angles)
    assert space_group(relaxed, TOLERANCE_RELAXED) == group
    assert f"_symmetry_Int_Tables_number   {group}\n" in cif_text(relaxed, TOLERANCE_RELAXED)


def test_a_relaxed_crystal_whose_cell_is_a_little_askew_has_its_group() -> None:
    """The cell of MgO as CHGNet left it with forces below 0.1 eV/A."""
    lengths, angles = [2.995, 3.021, 3.017], [59.80, 59.84, 59.87]
    askew = crystal("MgO", 3, {(0, 0, 0): 12, (0.5, 0.5, 0.5): 8}, lengths=lengths, angles=angles)
    assert (space_group(askew), space_group(askew, EXACT)) == (225, 12)
    assert "_symmetry_Int_Tables_number   225\n" in cif_text(askew, TOLERANCE)


@pytest.mark.parametrize("read", [through_pymatgen, through_ase])
@pytest.mark.parametrize("number", CELLS)
def test_a_symmetrised_file_is_the_same_crystal_of_the_same_group(read, number: int) -> None:  # type: ignore[no-untyped-def]
    before, text = of_group(number), cif_text(of_group(number), EXACT)
    after = read(text)
    assert f"_symmetry_Int_Tables_number   {number}\n" in text
    assert len(text.split("_occupancy\n")[1].splitlines()) == len(CELLS[number][1])
    assert len(after) % len(before.numbers) == 0
    assert StructureMatcher(scale=False, stol=0.01).fit(before.structure(), after)
    assert space_group(Crystal.of("after", after), EXACT) == number


@pytest.mark.parametrize("read", [through_pymatgen, through_ase])
def test_rock_salt_is_written_as_two_sites_and_read_as_eight_atoms(read) -> None:  # type: ignore[no-untyped-def]
    found = symmetrised(rock_salt())
    assert found is not None
    assert (found.number, found.symbol, len(found.operations)) == (225, "F m -3 m", 192)
    assert (found.unit.numbers.tolist(), found.multiplicities.tolist()) == ([11, 17], [4, 4])
    text = cif_text(rock_salt(), TOLERANCE)
    assert text.split("_occupancy\n")[1].splitlines() == [
        "  Na  Na0  4  0.00000000  0.00000000  0.00000000  1",
        "  Cl  Cl1  4  0.50000000  0.50000000  0.50000000  1",
    ]
    assert Counter(map(str, read(text).species)) == {"Na": 4, "Cl": 4}


def test_the_formula_and_the_multiplicities_are_of_the_whole_cell() -> None:
    text = cif_text(of_group(136), TOLERANCE)
    assert "_chemical_formula_sum   'O4 Ti2'\n" in text
    assert re.findall(r"^  (\w+)  \w+  (\d+)", text.split("_occupancy\n")[1], re.MULTILINE) == [("Ti", "2"), ("O", "4")]


@pytest.mark.parametrize("structure", [ASYMMETRIC, SHARED], ids=lambda structure: structure.id)
def test_without_a_symmetry_a_file_has_the_atoms_as_they_are(structure: Crystal) -> None:
    assert symmetrised(structure) is None
    assert cif_text(structure, TOLERANCE) == cif_text(structure)
    assert "'P 1'" in cif_text(structure)


@pytest.mark.parametrize("number", CELLS)
def test_a_crystal_of_tokens_is_written_with_its_symmetry_and_stays_near(number: int) -> None:
    rounded, reason = decode(encode(of_group(number), "nearest", 20), "rounded")
    assert rounded is not None
    assert not reason
    after = through_pymatgen(cif_text(rounded, TOLERANCE))
    assert StructureMatcher().fit(rounded.structure(), after)
    assert after.volume / len(after) == pytest.approx(rounded.structure().volume / len(rounded.numbers), rel=0.05)
    assert space_group(rounded) in (1, 2, number) or number in (88, 227)


def test_an_archive_of_symmetrised_files_comes_back(tmp_path: Path) -> None:
    crystals = {str(number): of_group(number) for number in CELLS}
    write_cif_zip(tmp_path / "all.zip", table(*crystals.values()))
    back = {one.id: one for one in crystals_of(read_structures(tmp_path / "all.zip")) if one}
    assert back.keys() == crystals.keys()
    for id, one in back.items():
        assert StructureMatcher(scale=False).fit(one.structure(), crystals[id].structure())


@pytest.mark.parametrize("shortest", [0.1, 0.4, 1.9])
def test_a_lattice_thinner_than_any_has_no_symmetry_and_costs_no_memory(shortest: float) -> None:
    thin = crystal("thin", 3.0, {(0, 0, 0): 11, (0.5, 0.5, 0.5): 17}, lengths=[20.8, shortest, 8.1])
    assert space_group(thin) == UNKNOWN
    assert symmetrised(thin) is None
