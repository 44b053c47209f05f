"""Exported crystals come back, and equal frames give equal files."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from known_crystals import rock_salt, sites_of, wurtzite
from pymatgen.analysis.structure_matcher import StructureMatcher

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.export import cif_text, lattice_vectors, write_cif_zip, write_extxyz
from pipeline.crystals.reading import read_structures
from pipeline.crystals.table import crystals_of, rejected_row, row_of

SKEWED = Crystal(
    "skewed", np.array([3.0, 4, 5]), np.array([70.0, 80, 100]), np.array([94]), np.array([[0.1, 0.2, 0.99]])
)


def frame() -> pd.DataFrame:
    known = {"energy": -1.25, "steps": 3, "stable": True, "note": 'two "words" here'}
    unknown = {"energy": np.nan, "steps": 0, "stable": False, "note": ""}
    return pd.DataFrame(
        [
            row_of(rock_salt("run-000001"), **known),
            rejected_row("run-000002", "no atoms", **unknown),
            row_of(wurtzite(), **unknown),
            row_of(SKEWED, **unknown),
            row_of(rock_salt("rejected later"), **unknown) | {"reason": "time limit"},
        ]
    )


def written(write: Callable[[Path, pd.DataFrame], None], path: Path) -> dict[str, Crystal]:
    """Write the frame and return the crystals that are read from the file, by id."""
    write(path, frame())
    return {crystal.id: crystal for crystal in crystals_of(read_structures(path)) if crystal}


def test_crystals_in_extended_xyz_come_back_as_they_were_without_the_rejected_ones(tmp_path: Path) -> None:
    back = written(write_extxyz, tmp_path / "all.extxyz")
    assert sorted(back) == ["run-000001", "skewed", "wurtzite"]
    for crystal in (rock_salt("run-000001"), SKEWED, wurtzite()):
        read = back[crystal.id]
        np.testing.assert_allclose(np.r_[read.lengths, read.angles], np.r_[crystal.lengths, crystal.angles], atol=1e-6)
        np.testing.assert_allclose(sites_of(read), sites_of(crystal), atol=2e-6)


def test_crystals_in_the_archive_come_back_in_any_setting_without_the_rejected_ones(tmp_path: Path) -> None:
    back = written(write_cif_zip, tmp_path / "all.cif.zip")
    assert sorted(back) == ["run-000001", "skewed", "wurtzite"]
    for crystal in (rock_salt("run-000001"), SKEWED, wurtzite()):
        same = StructureMatcher(scale=False, stol=1e-3).fit(back[crystal.id].structure(), crystal.structure())
        assert same, crystal.id
        assert len(back[crystal.id].numbers) == len(crystal.numbers)


def test_extended_xyz_carries_ids_and_all_known_values(tmp_path: Path) -> None:
    from ase.io import read

    write_extxyz(tmp_path / "all.extxyz", frame())
    first, second, _ = read(tmp_path / "all.extxyz", index=":")
    assert first.pbc.all()
    assert first.get_chemical_formula() == "Cl4Na4"
    assert {
        key: first.info[key] for key in ("id", "formula", "energy", "steps", "stable", "note") if key in first.info
    } == {
        "id": "run-000001",
        "formula": "Na4Cl4",
        "steps": 3,
        "stable": True,
        "note": 'two "words" here',
    }
    assert first.get_potential_energy() == -1.25  # what ASE makes of a field `energy`
    assert second.calc is None


def test_the_archive_names_files_by_id_and_pymatgen_reads_them(tmp_path: Path) -> None:
    from pymatgen.core import Structure

    rows = [row_of(rock_salt(id)) for id in ("../a/b", "a b", "a_b", "..")]
    write_cif_zip(tmp_path / "all.zip", pd.DataFrame(rows))
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert archive.namelist() == ["_a_b.cif", "a_b.cif", "a_b_.cif", "crystal.cif"]
        structure = Structure.from_str(archive.read("a_b.cif").decode(), fmt="cif")
    assert structure.matches(rock_salt().structure())


def test_equal_frames_give_equal_bytes(tmp_path: Path) -> None:
    for write, name in ((write_extxyz, "extxyz"), (write_cif_zip, "zip")):
        write(tmp_path / f"one.{name}", frame())
        write(tmp_path / f"two.{name}", frame())
        assert (tmp_path / f"one.{name}").read_bytes() == (tmp_path / f"two.{name}").read_bytes()


def test_nothing_to_write_gives_files_without_crystals(tmp_path: Path) -> None:
    write_extxyz(tmp_path / "none.extxyz", frame()[1:2])
    write_cif_zip(tmp_path / "none.zip", frame()[1:2])
    assert (tmp_path / "none.extxyz").read_text() == ""
    with zipfile.ZipFile(tmp_path / "none.zip") as archive:
        assert archive.namelist() == []


def test_the_sides_have_the_lengths_and_angles_of_the_cell() -> None:
    from pymatgen.core import Lattice

    lattice = Lattice(lattice_vectors(SKEWED))
    assert lattice.abc == pytest.approx(SKEWED.lengths)
    assert lattice.angles == pytest.approx(SKEWED.angles)
    assert "_cell_angle_gamma   100.00000000\n" in cif_text(SKEWED)
