"""What is known of each structure, put together."""

import json
import math
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from crystal_config import crystal_config
from small_crystals import caesium_chloride, overlapping, rock_salt, table

from pipeline.crystals import verdicts
from pipeline.crystals.assess import COLUMNS, OF_HULL, OF_PUBLISHED, OF_TRAIN, assess_rows
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.describe import NOTHING
from pipeline.crystals.energies import formation_energy
from pipeline.crystals.hull import Hull, Point, elements_of
from pipeline.crystals.hulls import Hulls
from pipeline.crystals.reference_energies import Reference, write_references
from pipeline.crystals.table import rejected_row, row_of
from pipeline.crystals.verdicts import Judge, Scale
from pipeline.errors import KinoflowError
from pipeline.stages.assess import assess as assess_stage
from pipeline.stages.job import Job
from pipeline.store.parquet import read_table, write_table
from pipeline.store.provenance import sidecar_of

ON_HULL = -2.0  # eV/atom at NaCl
SALT, SODIUM = rock_salt(), caesium_chloride("Na", length=4.2, numbers=(11, 11))
PLUTONIUM = caesium_chloride("PuCl", numbers=(94, 17))
NOT_RELAXED = rock_salt("not relaxed", numbers=(11, 35))


def hull() -> Hull:
    points = [Point.at({11: 1, 17: 1}, ON_HULL, "computed", "NaCl"), Point.at({11: 1, 35: 1}, -1, "computed", "NaBr")]
    return Hull([*points, *elements_of(points)], "a test")


HIGHER = 0.02  # eV/atom; how much the published hull is above the model's own
ERROR = 0.03  # eV/atom


@pytest.fixture(autouse=True, scope="module")
def errors() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdicts, "uncertainty", lambda model, chemistry: ERROR if model == "model" else math.nan)
        yield


def hulls() -> Hulls:
    published = [Point.at({11: 1, 17: 1}, ON_HULL + HIGHER, "published", "NaCl")]
    return Hulls(Scale("model", hull()), Hull([*published, *elements_of(published, [35])], "published"))


def energy_at(above: float, numbers: list[int], on_hull: float = ON_HULL) -> float:
    """Return the energy per atom of a crystal that is so far above the hull."""
    return above + on_hull - formation_energy(numbers, 0.0)[0]


def attempt(crystal: Crystal, energy: float, **changes: Any) -> dict[str, Any]:
    found = {"converged": True, "steps": 3, "energy_per_atom": energy, "max_force": 0.01, "rmsd": 0.1}
    return row_of(crystal, **{**found, **changes})


def describe(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a description in which everything but the overlapping atoms is valid."""
    valid = (frame["reason"] == "") & (frame["id"] != "overlap")
    columns = {name: [value] * len(frame) for name, value in NOTHING.items()}
    elements = [len(set(numbers)) for numbers in frame["numbers"]]
    flags = dict.fromkeys(("structural_valid", "composition_valid", "composition_valid_default"), valid)
    return frame.assign(**columns).assign(atoms=2, density=2.0, elements=elements, **flags)


DESCRIBED = describe(
    table(
        SALT,
        rock_salt("again"),
        rock_salt("above"),
        rock_salt("far above"),
        rock_salt("not converged"),
        SODIUM,
        PLUTONIUM,
        NOT_RELAXED,
        overlapping(),
        rejected_row("rejected", "no atoms"),
    )
)
RELAXED = pd.DataFrame(
    [
        attempt(SALT, energy_at(-0.05, [11, 17])),
        attempt(rock_salt("again"), energy_at(0.0, [11, 17])),
        attempt(rock_salt("above"), energy_at(0.0999, [11, 17])),
        attempt(rock_salt("far above"), energy_at(0.2, [11, 17])),
        attempt(rock_salt("not converged"), energy_at(-1, [11, 17]), converged=False, reason="step limit"),
        attempt(SODIUM, energy_at(-0.5, [11, 11], 0.0)),
        attempt(PLUTONIUM, -8.0),
        rejected_row("overlap", "exploded", converged=False, steps=7, energy_per_atom=math.nan),
    ]
)


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    train = [caesium_chloride("known", numbers=(94, 17)), caesium_chloride()]
    return assess_rows(DESCRIBED, RELAXED, hulls(), train, workers=1, seconds=60).set_index("id")


def test_every_structure_has_one_row_of_all_columns(found: pd.DataFrame) -> None:
    assert list(found.index) == list(DESCRIBED["id"])
    assert ["id", *found.columns] == list(COLUMNS)


@pytest.mark.parametrize(
    "id, above, stable, metastable, verdict",
    [
        ("NaCl", -0.05, True, True, "stable"),
        ("again", 0.0, False, True, "within the error"),
        ("above", 0.0999, False, True, "unstable"),
        ("far above", 0.2, False, False, "unstable"),
        ("not converged", -1.0, True, True, "stable"),  # as in the paper, its energy counts
        ("Na", -0.5, False, False, "stable"),  # one element
        ("PuCl", math.nan, False, False, ""),
        ("not relaxed", math.nan, False, False, ""),
        ("overlap", math.nan, False, False, ""),
        ("rejected", math.nan, False, False, ""),
    ],
)
def test_stable_is_below_the_hull_with_two_elements_and_an_energy(
    found: pd.DataFrame, id: str, above: float, stable: bool, metastable: bool, verdict: str
) -> None:
    row = found.loc[id]
    assert row["energy_above_hull"] == pytest.approx(above, abs=1e-9, nan_ok=True)
    if id != "again":  # zero, up to rounding
        assert row["stable"] == stable
    assert row["metastable"] == metastable
    assert row["verdict"] == verdict
    assert (row["verdict_reason"] == "") == (verdict != "")
    assert row["stable_converged"] == (row["stable"] and id != "not converged")


def test_the_published_hull_is_a_second_column(found: pd.DataFrame) -> None:
    both = found.loc[["NaCl", "above"]]
    apart = both["energy_above_hull"] - both["energy_above_published_hull"]
    assert apart.tolist() == pytest.approx([HIGHER, HIGHER])
    again = found.loc["again"]
    assert (again["stable_published"], again["energy_above_published_hull"]) == (True, pytest.approx(-HIGHER))


def test_without_reference_energies_the_published_hull_counts_and_there_is_no_verdict() -> None:
    without = Hulls(Scale("model", Hull([], "no reference energies of model")), hull())
    row = assess_rows(DESCRIBED.iloc[:1], RELAXED.iloc[:1], without, None, workers=1, seconds=60).iloc[0]
    assert (row["stable"], row["energy_above_hull"]) == (True, row["energy_above_published_hull"])
    assert (row["verdict"], row["verdict_reason"]) == ("", "no reference energies of model")


def test_without_a_measured_error_there_is_no_verdict() -> None:
    unknown = Hulls(Scale("another", hull()))
    row = assess_rows(DESCRIBED.iloc[:1], RELAXED.iloc[:1], unknown, None, workers=1, seconds=60).iloc[0]
    assert (row["stable"], row["verdict"]) == (True, "")
    assert row["verdict_reason"] == "the errors of another were not measured"


def test_a_judge_has_its_own_energies_hull_and_verdict() -> None:
    judge = Judge(Scale("model", hull()), {"NaCl": energy_at(0.5, [11, 17])})
    judged = Hulls(Scale("model", hull()), None, {"other": judge})
    rows = assess_rows(DESCRIBED.iloc[:2], RELAXED.iloc[:2], judged, None, workers=1, seconds=60)
    assert rows["energy_above_hull_other"].tolist() == pytest.approx([0.5, math.nan], nan_ok=True)
    assert rows["verdict_other"].tolist() == ["unstable", ""]


def test_what_is_not_known_has_a_reason(found: pd.DataFrame) -> None:
    assert "Pu" in found.loc["PuCl", "hull_reason"]
    assert found.loc["not relaxed", ["relaxed", "relax_reason"]].tolist() == [False, "not attempted"]
    assert found.loc["overlap", ["relaxed", "converged", "relax_reason"]].tolist() == [True, False, "exploded"]
    assert found.loc["not converged", "relax_reason"] == "step limit"
    assert (found.loc[["NaCl", "Na"], ["relax_reason", "hull_reason", "match_reason"]] == "").all(axis=None)


def test_unique_and_novel_are_valid_structures_that_were_not_there_before(found: pd.DataFrame) -> None:
    assert found.index[found["unique"]].tolist() == ["NaCl", "Na", "PuCl", "not relaxed"]
    new = ["NaCl", "again", "above", "far above", "not converged", "Na", "not relaxed"]
    assert found.index[found["novel"]].tolist() == new
    assert found.loc[["PuCl", "NaCl"], "known_as"].tolist() == ["known", ""]


def test_the_relaxed_structure_is_compared_if_it_has_an_energy() -> None:
    generated = describe(table(rock_salt("a"), caesium_chloride("b", length=3.5, numbers=(11, 17))))
    into_the_same = pd.DataFrame([attempt(rock_salt("a"), -3.0), attempt(rock_salt("b"), -3.0, converged=False)])
    apart = pd.DataFrame([attempt(rock_salt("a"), -3.0), attempt(rock_salt("b"), math.nan, converged=False)])
    flags = [
        assess_rows(generated, relaxed, Hulls(), [], workers=1, seconds=60)["unique"].tolist()
        for relaxed in (into_the_same, apart)
    ]
    assert flags == [[True, False], [True, True]]


def test_space_groups_and_the_way_of_the_atoms_are_those_of_the_relaxation(found: pd.DataFrame) -> None:
    assert found.loc["NaCl", ["space_group_relaxed", "rmsd"]].tolist() == [225, 0.1]
    assert found.loc["overlap", "space_group_relaxed"] == 0


@pytest.mark.parametrize("order", list(permutations("abc")), ids="".join)
def test_something_unstable_takes_no_credit_away_from_a_stable_structure_like_it(order: tuple[str, ...]) -> None:
    below = energy_at(-0.1, [11, 17])
    attempts = {
        "a": attempt(rock_salt("a", 3.98), energy_at(0.09, [11, 17])),
        "b": attempt(rock_salt("b", 3.99), below),
        "c": attempt(rock_salt("c", 4.0), below),
    }
    generated = describe(table(*(rock_salt(id) for id in order)))
    relaxed = pd.DataFrame([attempts[id] for id in order])
    found = assess_rows(generated, relaxed, hulls(), [], workers=1, seconds=60).set_index("id")
    first = next(id for id in order if id != "a")
    assert found.index[found["sun"]].tolist() == [first]
    assert found.index[found["msun"]].tolist() == [order[0]]
    assert found.index[found["unique"]].tolist() == [order[0]]


def test_what_the_training_set_has_or_is_not_stable_is_not_sun(found: pd.DataFrame) -> None:
    assert found.index[found["sun"]].tolist() == ["NaCl"]
    known = assess_rows(DESCRIBED.iloc[:1], RELAXED.iloc[:1], hulls(), [rock_salt()], workers=1, seconds=60)
    assert known[["stable", "unique", "novel", "sun"]].iloc[0].tolist() == [True, True, False, False]


@pytest.mark.parametrize("which", ["structures", "relaxed structures"])
def test_ids_that_are_there_twice_are_refused(which: str) -> None:
    twice = [0, 0]
    described, relaxed = (DESCRIBED.iloc[twice], RELAXED.iloc[:1]), (DESCRIBED.iloc[:1], RELAXED.iloc[twice])
    frames = described if which == "structures" else relaxed
    with pytest.raises(KinoflowError, match=f"^{which}: the id 'NaCl' is there twice"):
        assess_rows(*frames, Hulls(), None, workers=1, seconds=60)


def test_without_a_hull_or_a_training_set_their_columns_are_left_out() -> None:
    frame = assess_rows(DESCRIBED.iloc[:1], RELAXED.iloc[:1], Hulls(), None, workers=1, seconds=60)
    assert list(frame.columns) == [name for name in COLUMNS if name not in (*OF_HULL, *OF_PUBLISHED, *OF_TRAIN)]
    assert math.isfinite(frame["formation_energy"][0])


def test_relaxed_structures_of_another_run_are_refused() -> None:
    with pytest.raises(KinoflowError, match="'Na'"):
        assess_rows(DESCRIBED.iloc[:1], RELAXED, Hulls(), None, workers=1, seconds=60)


def test_the_stage_compares_with_the_usable_training_rows(tmp_path: Path) -> None:
    rows = table(SALT, rock_salt("bromide", numbers=(11, 35)), rejected_row("bad", "too large"))
    write_table(tmp_path / "rows.parquet", rows.assign(split=["train", "test", "train"]))
    write_table(tmp_path / "described.parquet", DESCRIBED)
    write_table(tmp_path / "relaxed.parquet", RELAXED)
    hull().save(tmp_path / "hull.parquet")
    cache = tmp_path / "cache"
    energies = {(11,): -1.0, (17,): -2.0, (11, 17): RELAXED["energy_per_atom"][0] + 0.01}
    references = [Reference(str(numbers), "a test", numbers, energy, True) for numbers, energy in energies.items()]
    (cache / "reference_energies").mkdir(parents=True)
    write_references(cache / "reference_energies" / "chgnet.parquet", references, {"model": "CHGNet"})
    output, csv = tmp_path / "structures.parquet", tmp_path / "structures.csv"
    inputs = {name: tmp_path / f"{name}.parquet" for name in ("described", "relaxed", "hull", "rows")}
    assess_stage(Job(crystal_config(str(cache)), "crystals"), **inputs, output=output, csv=csv)
    written, shown = read_table(output).set_index("id"), pd.read_csv(csv).set_index("id")
    assert written.loc["NaCl", "energy_above_hull"] == pytest.approx(-0.01)
    assert written.loc["NaCl", "energy_above_published_hull"] == pytest.approx(-0.05)
    assert not written.loc["NaCl", "novel"]
    assert written.loc["NaCl", "known_as"] == "NaCl"
    assert written.loc["not relaxed", "novel"]
    assert list(shown.columns) == list(written.columns)
    assert shown["stable"].tolist() == written["stable"].tolist()
    assert len(json.loads(sidecar_of(csv).read_text())["inputs"]) == 4
