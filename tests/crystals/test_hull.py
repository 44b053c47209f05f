"""The convex hull: known cases, pymatgen's, and its files."""

import gzip
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crystal_config import crystal_config
from pymatgen.analysis.phase_diagram import PDEntry, PhaseDiagram
from pymatgen.core import Composition
from pymatgen.entries.computed_entries import ComputedEntry
from small_crystals import caesium_chloride, rock_salt

from pipeline.crystals.hull import DATA_SET, PUBLISHED, Hull, Point, elements_of, label_of_hull
from pipeline.crystals.table import frame_of, rejected_row, row_of
from pipeline.errors import KinoflowError
from pipeline.stages.hull import hull as hull_stage
from pipeline.stages.job import Job
from pipeline.store.parquet import write_table
from pipeline.store.provenance import sidecar_of

ROWS = {"id": "str", "reason": "str", "numbers": "list", "formation_energy": "float64", "energy_above_hull": "float64"}


def hull_of(*points: tuple[dict[int, float], float]) -> Hull:
    compounds = [Point.at(composition, energy, PUBLISHED, str(composition)) for composition, energy in points]
    return Hull([*compounds, *elements_of(compounds)], "a test")


def test_the_hull_of_one_compound_is_two_straight_lines() -> None:
    hull = hull_of(({11: 1, 17: 1}, -2.0))
    assert hull.energy({11: 1, 17: 1}) == (pytest.approx(-2.0), "")
    assert hull.energy({11: 3, 17: 1})[0] == pytest.approx(-1.0)
    assert hull.energy({11: 2, 17: 8})[0] == pytest.approx(-0.8)
    assert hull.energy({11: 5})[0] == pytest.approx(0.0)


def test_a_multiple_of_a_formula_is_the_same_composition() -> None:
    hull = hull_of(({3: 1, 8: 2}, -1.0), ({3: 2, 8: 4}, -1.5), ({3: 3, 8: 6}, -0.5))
    assert len(hull.points) == 3  # the lowest, lithium and oxygen
    assert hull.energy({3: 7, 8: 14})[0] == pytest.approx(-1.5)


def test_a_compound_above_its_neighbours_or_the_elements_does_not_lower_the_hull() -> None:
    hull = hull_of(({11: 1, 17: 1}, -2.0), ({11: 3, 17: 1}, -0.7), ({11: 1, 55: 1}, 0.4))
    assert hull.energy({11: 3, 17: 1})[0] == pytest.approx(-1.0)
    assert hull.energy({11: 1, 55: 1})[0] == pytest.approx(0.0)


def test_what_lies_below_the_hull_is_negative_by_as_much() -> None:
    assert -2.3 - hull_of(({11: 1, 17: 1}, -2.0)).energy({11: 1, 17: 1})[0] == pytest.approx(-0.3)


def test_elements_without_a_point_are_the_reason() -> None:
    energy, reason = hull_of(({11: 1, 17: 1}, -2.0)).energy({11: 1, 93: 1, 94: 1})
    assert math.isnan(energy)
    assert reason == "no reference for Np, Pu"


@pytest.mark.parametrize("composition", [{}, {11: 0}, {11: 1, 17: -1}])
def test_what_is_no_composition_is_an_error(composition: dict[int, float]) -> None:
    with pytest.raises(KinoflowError, match="no composition"):
        hull_of(({11: 1, 17: 1}, -2.0)).energy(composition)


@pytest.mark.parametrize("seed", range(3))
def test_a_random_system_has_the_hull_that_pymatgen_finds(seed: int) -> None:
    random = np.random.default_rng(seed)
    elements = [3, 26, 15, 8]
    points = []
    for _ in range(60):
        counts = random.integers(0, 5, len(elements))
        if (counts > 0).sum() > 1:
            composition = {z: float(n) for z, n in zip(elements, counts, strict=True) if n}
            points.append((composition, float(random.normal(-0.5, 0.6))))
    hull = hull_of(*points)
    entries = [PDEntry(Composition({"Li": 1}), 0), PDEntry(Composition({"Fe": 1}), 0)]
    entries += [PDEntry(Composition({"P": 1}), 0), PDEntry(Composition({"O": 1}), 0)]
    symbols = {3: "Li", 26: "Fe", 15: "P", 8: "O"}
    entries += [PDEntry(_composition(symbols, counts), energy * sum(counts.values())) for counts, energy in points]
    diagram = PhaseDiagram(entries)
    for _ in range(30):
        counts = {z: float(n) for z, n in zip(elements, random.integers(1, 9, len(elements)), strict=True)}
        expected = diagram.get_hull_energy_per_atom(_composition(symbols, counts))
        assert hull.energy(counts)[0] == pytest.approx(expected, abs=1e-6)


def _composition(symbols: dict[int, str], counts: dict[int, float]) -> Composition:
    return Composition({symbols[z]: amount for z, amount in counts.items()})


def test_the_data_sets_point_holds_at_its_composition_unless_it_is_left_out() -> None:
    points = [
        Point.at({11: 1, 17: 1}, -2.1, PUBLISHED, "NaCl"),
        Point.at({11: 4, 17: 4}, -2.0, DATA_SET, "row"),
        Point.at({11: 1, 17: 3}, -0.9, PUBLISHED, "NaCl3"),
    ]
    hull = Hull([*points, *elements_of(points)], "")
    assert hull.energy({11: 1, 17: 1})[0] == pytest.approx(-2.0)
    assert hull.energy({11: 1, 17: 1}, leave_out=DATA_SET)[0] == pytest.approx(-2.1)
    assert hull.energy({11: 1, 17: 3}, leave_out=DATA_SET)[0] == pytest.approx(-1.0)  # another's stays
    assert hull.of({PUBLISHED, "element"}).energy({11: 1, 17: 1})[0] == pytest.approx(-2.1)


def test_a_saved_hull_is_the_same(tmp_path: Path) -> None:
    hull = hull_of(({11: 1, 17: 2}, -2.0), ({11: 2, 17: 1}, math.nan))
    hull.save(tmp_path / "hull.parquet")
    loaded = Hull.load(tmp_path / "hull.parquet")
    assert loaded.points == hull.points
    assert loaded.description == "a test"
    hull.save(tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "hull.parquet").read_bytes()


def test_a_label_tells_versions_of_a_hull_apart_and_is_read_without_the_points(tmp_path: Path) -> None:
    hulls = [hull_of(({11: 1, 17: 1}, energy)) for energy in (-2.0, -2.0, -2.1)]
    labels = [hull.label for hull in hulls]
    assert labels[0] == labels[1] != labels[2]
    assert re.fullmatch(r"a test \(\d points, SHA-256 [0-9a-f]{12}\)", labels[0])
    hulls[2].save(tmp_path / "hull.parquet")
    assert label_of_hull(tmp_path / "hull.parquet") == labels[2] == Hull.load(tmp_path / "hull.parquet").label


def test_a_file_of_another_version_or_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hull.parquet"
    hull_of(({11: 1, 17: 1}, -2.0)).save(path)
    table = pq.read_table(path)
    for metadata, message in (({"kinoflow_hull": '{"version": 7}'}, "version 7"), (None, "holds no hull")):
        pq.write_table(table.replace_schema_metadata(metadata), path)
        with pytest.raises(KinoflowError, match=message):
            Hull.load(path)
    path.write_bytes(b"nothing")
    with pytest.raises(KinoflowError, match="make it again"):
        Hull.load(path)


@pytest.fixture
def cache(tmp_path: Path) -> str:
    folder = tmp_path / "cache" / "formation_energies"
    folder.mkdir(parents=True)
    published = {"train": [("Cs1Cl1", -2.1), ("Na1N1", 0.5)], "val": [("Ni1Al1", -0.6)], "test": [("K1Br1", -1.8)]}
    for name, rows in published.items():
        pd.DataFrame(rows, columns=["formula", "target"]).to_csv(folder / f"{name}.csv", index=False)
    return str(tmp_path / "cache")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    on_hull = row_of(rock_salt(), formation_energy=-2.0, energy_above_hull=0.1)
    unknown = row_of(caesium_chloride(), formation_energy=-2.0, energy_above_hull=math.nan)
    rejected = rejected_row("none", "no atoms", formation_energy=-2.0, energy_above_hull=0.0)
    write_table(tmp_path / "rows.parquet", frame_of([on_hull, unknown, rejected], ROWS))
    return tmp_path / "rows.parquet"


def test_the_hull_of_an_experiment_has_published_and_known_points(cache: str, rows: Path, tmp_path: Path) -> None:
    path = tmp_path / "hull.parquet"
    hull_stage(Job(crystal_config(cache), "crystals"), rows=rows, output=path)
    hull = Hull.load(path)
    assert hull.energy({28: 2, 13: 2})[0] == pytest.approx(-0.6)
    assert hull.energy({19: 1, 35: 1})[0] == pytest.approx(-1.8 - 0.534 / 2)  # the correction of 2020
    assert hull.energy({11: 1, 17: 1})[0] == pytest.approx(-2.1)
    assert hull.energy({11: 1, 7: 1})[0] == pytest.approx(0)
    assert {point.origin for point in hull.points} == {"element", PUBLISHED, DATA_SET}
    assert "4 published formation energies" in hull.description
    assert "1 points of its hull" in hull.description
    assert len(json.loads(sidecar_of(path).read_text())["inputs"]) == 4


def test_files_that_were_not_fetched_are_an_error_that_says_how(rows: Path, tmp_path: Path) -> None:
    with pytest.raises(KinoflowError, match="pipeline fetch formation_energies"):
        hull_stage(Job(crystal_config(str(tmp_path)), "crystals"), rows=rows, output=tmp_path / "hull.parquet")


def computed(*entries: tuple[str, float], **parameters: Any) -> list[dict[str, Any]]:
    return [
        ComputedEntry(formula, energy, parameters=parameters, entry_id=f"{formula}-{number}").as_dict()
        for number, (formula, energy) in enumerate(entries)
    ]


def build_computed(tmp_path: Path, value: Any, name: str = "entries.json") -> Hull:
    content = json.dumps(value).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    path = tmp_path / "hull.parquet"
    config = crystal_config(hull=str(tmp_path / name))
    hull_stage(Job(config, "crystals"), rows=tmp_path / "not needed", output=path)
    return Hull.load(path)


ENTRIES = (("Na", -1.3), ("Na", -2.4), ("Cl2", -3.7), ("NaCl", -6.8), ("NaCl", -6.6))


@pytest.mark.parametrize("name", ["entries.json", "entries.json.gz"])
def test_computed_entries_are_relative_to_their_lowest_elements(tmp_path: Path, name: str) -> None:
    hull = build_computed(tmp_path, computed(*ENTRIES), name)
    assert hull.energy({11: 1, 17: 1})[0] == pytest.approx((-6.8 + 2.4 + 1.85) / 2)
    assert hull.origins == {"element", "computed"}


@pytest.mark.parametrize("wrap", [lambda entries: {"entry": dict(enumerate(entries))}, lambda e: {"entries": e}])
def test_computed_entries_may_be_the_column_of_a_table(tmp_path: Path, wrap: Any) -> None:
    assert build_computed(tmp_path, wrap(computed(*ENTRIES))).energy({11: 1, 17: 1})[0] == pytest.approx(-1.275)


def test_computed_entries_that_say_how_they_were_computed_are_corrected(tmp_path: Path) -> None:
    entries = computed(*ENTRIES, run_type="GGA", hubbards={}) + computed(("NaCl", -9.0), run_type="SCAN")
    hull = build_computed(tmp_path, entries)
    assert hull.energy({11: 1, 17: 1})[0] == pytest.approx((-6.8 + 2.4 + 1.85 - 0.614) / 2)
    assert "6 entries of entries.json corrected, 1 of them incompatible" in hull.description


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (computed(("Na", -1.3), ("NaCl", -6.8), ("KF", -7)), "no usable entry of pure F, Cl, K"),
        ([], "no list of computed entries"),
        ([{"energy": 1}], "entry 0 of .* is no computed entry"),
    ],
)
def test_computed_entries_that_give_no_hull_are_an_error(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(KinoflowError, match=message):
        build_computed(tmp_path, value)


def test_a_file_that_is_no_json_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "entries.json.gz").write_bytes(b"nothing")
    config = crystal_config(hull=str(tmp_path / "entries.json.gz"))
    with pytest.raises(KinoflowError, match="cannot be read as JSON"):
        hull_stage(Job(config, "crystals"), rows=tmp_path, output=tmp_path / "hull.parquet")


def test_the_points_of_a_hull_are_plain_columns(tmp_path: Path) -> None:
    hull_of(({11: 1, 17: 1}, -2.0)).save(tmp_path / "hull.parquet")
    table = pq.read_table(tmp_path / "hull.parquet")
    assert table.schema.field("numbers").type == pa.list_(pa.int64())
    assert table.column("formation_energy").to_pylist() == [-2.0, 0.0, 0.0]
