"""Reference energies: which known crystals get one, that no energy is computed twice, and the hull that they make."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from energy_model import LOG, STALL, load_model
from small_crystals import caesium_chloride, crystal, rock_salt, table

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.energy_model import EnergyModel
from pipeline.crystals.hull import PUBLISHED, Hull, Point, elements_of
from pipeline.crystals.matching import reduced_formula
from pipeline.crystals.reference_candidates import (
    Known,
    candidates,
    packed_crystals,
    published_distances,
    read_known,
    without_copies,
)
from pipeline.crystals.reference_energies import (
    FOLDER,
    Reference,
    description_of,
    hull_of,
    model_hull,
    read_references,
    write_references,
)
from pipeline.crystals.reference_table import make_references, structure_key
from pipeline.errors import KinoflowError
from pipeline.store.parquet import write_table
from pipeline.store.provenance import file_hash

NA, CL = 11, 17
SALT, NACL = ((NA, 1), (CL, 1)), {NA: 1, CL: 1}


def metal(id: str, z: int, length: float = 3.0) -> Crystal:
    return crystal(id, length, {(0, 0, 0): z})


def known(one: Crystal, above: float = math.nan) -> Known:
    return Known("a test", one, reduced_formula(one), math.nan, above)


def test_the_hull_is_relative_to_the_models_lowest_energy_of_each_element() -> None:
    references = [
        Reference("Na", "s", (NA,), -1.0, True),
        Reference("Na again", "s", (NA, NA), -1.5, True),
        Reference("Cl", "s", (CL,), -2.0, False),
        Reference("NaCl", "s", (NA, CL), -3.0, True),
        Reference("NaCl of two cells", "s", (NA, CL, NA, CL), -2.75, True),
    ]
    hull = hull_of(references, "five crystals")
    assert hull.energy(NACL) == (pytest.approx(-3.0 - (-1.5 - 2.0) / 2), "")
    assert hull.energy({NA: 1})[0] == 0
    assert hull.description == "five crystals"


def test_crystals_without_an_energy_of_an_element_are_left_out_and_it_is_named() -> None:
    hull = hull_of([Reference("Na", "s", (NA,), -1.0, True), Reference("NaCl", "s", (NA, CL), -3.0, True)], "two")
    assert [point.id for point in hull.points] == ["Na"]
    assert hull.description == "two; no energy of Cl"


def test_a_table_comes_back_as_it_was_and_makes_the_hull(tmp_path: Path) -> None:
    references = [Reference("Na", "s", (NA,), -1.0, True), Reference("Cl", "t", (CL, CL), -2.0, False)]
    path = tmp_path / FOLDER / "model.parquet"
    path.parent.mkdir()
    write_references(path, references, {"model": "model 1.0"})
    back, record = read_references(path)
    assert back == references
    assert record["model"] == "model 1.0"
    assert description_of("model", tmp_path) == model_hull("model", tmp_path).description
    version = file_hash(path)[:12]
    assert model_hull("model", tmp_path).description == f"2 known crystals, energies by model 1.0 (SHA-256 {version})"


def test_a_model_without_a_table_has_a_hull_without_points_that_says_why(tmp_path: Path) -> None:
    hull = model_hull("nobody", tmp_path)
    assert hull.points == ()
    assert "no reference energies of nobody" in hull.description
    assert hull.energy(NACL)[1] != ""


def test_a_file_that_is_no_table_of_energies_is_refused(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    write_table(tmp_path / FOLDER / "model.parquet", table(rock_salt()))
    with pytest.raises(KinoflowError, match="no reference energies"):
        model_hull("model", tmp_path)


def test_elements_and_all_polymorphs_near_the_hull_are_candidates() -> None:
    far = caesium_chloride("far", numbers=(12, 35))
    found = [
        known(metal("Na", NA)),
        known(rock_salt("by its row", numbers=(11, 9)), 0.02),
        known(caesium_chloride("its polymorph", numbers=(11, 9)), 0.4),
        known(rock_salt("published")),
        known(far),
        known(rock_salt("unknown", numbers=(19, 53))),
    ]
    distances = {SALT: 0.0, reduced_formula(far): 0.031}
    near = [one.crystal.id for one in candidates(found, distances, 0.03)]
    assert near == ["Na", "by its row", "its polymorph", "published"]


def test_published_distances_are_those_of_published_ground_states(tmp_path: Path) -> None:
    points = [Point.at(NACL, -1.8, PUBLISHED, "NaCl"), Point.at({NA: 3, CL: 1}, -0.5, PUBLISHED, "Na3Cl")]
    Hull([*points, *elements_of(points)], "").save(tmp_path / "hull.parquet")
    above = ((NA, 3), (CL, 1))
    found = published_distances(tmp_path / "hull.parquet", [SALT, above, ((NA, 1), (CL, 3))], 1)
    assert found == {SALT: pytest.approx(0.0), above: pytest.approx(0.4)}


def test_packed_structures_are_read_beyond_what_a_byte_can_count(tmp_path: Path) -> None:
    count, atoms = 20, 20
    cells = np.tile(np.array([5, 6, 7, 80, 90, 100], dtype=np.float32), (count, 1))
    arrays: dict[str, Any] = {"ids": np.array([f"mp-{n}" for n in range(count)]), "lattice": cells}
    arrays |= {"num_atoms": np.full(count, atoms, dtype=np.uint8), "Z": np.arange(count * atoms) // atoms + 1}
    np.savez(tmp_path / "packed.npz", **arrays, frac=np.zeros((count * atoms, 3), dtype=np.float32))
    found = packed_crystals(tmp_path / "packed.npz")
    assert [(one.id, one.numbers.tolist()) for one in found] == [(f"mp-{n}", [n + 1] * atoms) for n in range(count)]
    assert found[-1].angles.tolist() == [80, 90, 100]


def test_of_an_id_in_several_sources_the_first_counts() -> None:
    first, second = known(rock_salt("mp-1")), known(caesium_chloride("mp-1"))
    assert without_copies([first, second, known(rock_salt("mp-2"))])[0] is first


def test_the_key_of_a_crystal_does_not_depend_on_digits_that_files_lose() -> None:
    keys = {structure_key(rock_salt(length=length)) for length in (3.99, 3.99 + 1e-9)}
    assert len(keys) == 1
    assert structure_key(rock_salt(length=3.991)) not in keys


def make(folder: Path, **options: Any) -> str:
    """Make a table from two elements and two polymorphs of a compound, one with an atom that has no neighbour."""
    settings = {"within": None, "margin": 0.02, "steps": 50, "force": 0.05, "workers": 1, "seconds": 120} | options
    source = folder / "known.parquet"
    crystals = [metal("Na", NA), metal("Cl", CL), rock_salt("NaCl"), caesium_chloride("other", 6.5, (NA, CL))]
    write_table(source, table(*crystals))
    model = EnergyModel("lennard_jones", "Lennard-Jones", True, "ase", (), load_model)
    make_references(
        model,
        {"known": [source]},
        [],
        folder=folder / "kept",
        output=folder / "table.parquet",
        **settings,
    )
    return (folder / "log").read_text()


def test_every_energy_is_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOG, str(tmp_path / "log"))
    monkeypatch.setenv(STALL, str(tmp_path / "stall"))
    said = make(tmp_path)
    references, record = read_references(tmp_path / "table.parquet")
    assert [one.id for one in references] == ["Na", "Cl", "NaCl", "other"]
    relaxed = {one.id: one.relaxed for one in references}
    assert relaxed == {"Na": True, "Cl": True, "NaCl": True, "other": False}  # far above the hull
    assert record["static"] == {"computed": 4}
    assert record["relaxed"] == {"computed": 3}
    assert make(tmp_path) == said
    assert read_references(tmp_path / "table.parquet") == (references, record)
    assert make(tmp_path, force=0.01) != said


def test_what_is_finished_can_be_written_at_any_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOG, str(tmp_path / "log"))
    monkeypatch.setenv(STALL, str(tmp_path / "stall"))
    said = make(tmp_path)
    make(tmp_path, force=0.01, compute=False)
    references, record = read_references(tmp_path / "table.parquet")
    assert not any(one.relaxed for one in references)
    assert record["relaxed"] == {"not computed": 3}
    assert (tmp_path / "log").read_text() == said


def test_a_table_of_structures_brings_its_energies(tmp_path: Path) -> None:
    frame = table(rock_salt()).assign(formation_energy=-2.0, energy_above_hull=0.01)
    write_table(tmp_path / "rows.parquet", frame)
    (found,) = read_known("rows", tmp_path / "rows.parquet")
    assert (found.source, found.formula, found.formed, found.above) == ("rows", SALT, -2.0, 0.01)


def test_an_id_that_is_a_number_gets_the_name_of_its_source(tmp_path: Path) -> None:
    write_table(tmp_path / "rows.parquet", table(rock_salt("7"), rock_salt("mp-7")))
    assert [one.crystal.id for one in read_known("salts", tmp_path / "rows.parquet")] == ["salts-7", "mp-7"]
