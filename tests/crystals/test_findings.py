"""What an evaluation says, on the terminal and in its files."""

import math
from typing import Any

import pandas as pd

from pipeline.crystals.assess import COLUMNS
from pipeline.crystals.columns import MEANINGS, readme
from pipeline.crystals.dft import COLUMNS as DFT_COLUMNS
from pipeline.crystals.findings import ROWS, WIDTH, explanation, number_text, summary, table, unusable, with_intervals


def row(id: str, **changes: Any) -> dict[str, Any]:
    """Return the row of a crystal that was relaxed."""
    flags = {"structural_valid": True, "composition_valid": True, "stable": False, "metastable": True, "novel": True}
    known = {"energy_per_atom": -3.0, "energy_above_hull": 0.0321, "relax_reason": "", "hull_reason": "", "reason": ""}
    return {"id": id, "formula": "Na1Cl1", "kind": id, **flags, **known, **changes}


def lines_of(*rows: dict[str, Any]) -> list[str]:
    return [" ".join(line.split()) for line in table(pd.DataFrame(list(rows)))[2:]]


def test_a_line_has_verdict_energy_space_group_and_novelty() -> None:
    new = {"verdict": "within the error", "uncertainty": 0.035, "space_group": 1, "space_group_relaxed": 225}
    assert lines_of(row("a", **new)) == ["a Na1Cl1 within the error +0.032 ± 0.035 Fm-3m new -"]
    assert lines_of(row("a", known_as="mp-22862", novel=False)) == ["a Na1Cl1 metastable +0.032 copy of mp-22862 -"]
    assert lines_of(row("a", listed_as="mp-22862")) == ["a Na1Cl1 metastable +0.032 known: mp-22862 -"]
    unlisted = row("a", listed_as="")
    del unlisted["novel"]
    assert lines_of(unlisted) == ["a Na1Cl1 metastable +0.032 new -"]
    assert lines_of(row("a", kind="b")) == ["a Na1Cl1 metastable +0.032 repeats b -"]
    assert lines_of(row("a", kind="", structural_valid=False)) == ["a Na1Cl1 metastable +0.032 not compared structure"]


def test_a_line_without_an_energy_says_why() -> None:
    lost = {"energy_above_hull": math.nan}
    exploded = row("a", **lost, energy_per_atom=math.nan, relax_reason="exploded: 5 times the volume")
    foreign = row("b", **lost, hull_reason="no reference for Pu")
    assert [line.split("Na1Cl1 ")[1] for line in lines_of(exploded, foreign)] == [
        "exploded new -",
        "no reference for Pu new -",
    ]
    no_hull = row("c", energy_per_atom=-3.0)
    del no_hull["energy_above_hull"]
    assert lines_of(no_hull) == ["c Na1Cl1 no hull new -"]


def test_units_are_in_the_second_line_and_no_line_is_longer_than_a_terminal() -> None:
    wide = {"verdict": "within the error", "uncertainty": 0.035, "space_group": 224, "known_as": "x" * 60}
    lines = table(pd.DataFrame([row("y" * 80, formula="Na10Cl10Br20" * 3, **wide, composition_valid=False)]))
    assert lines[1].split() == ["eV/atom"]
    assert max(map(len, lines)) <= WIDTH < 100
    assert "+0.032 ± 0.035" in lines[2]


def test_of_many_the_lowest_are_shown() -> None:
    rows = [row(f"s{number}", energy_above_hull=-number / 10) for number in range(ROWS + 5)]
    lines = table(pd.DataFrame(rows))
    assert len(lines) == ROWS + 3
    assert lines[2].startswith(f"s{ROWS + 4} ")
    assert lines[-1] == f"the {ROWS} lowest in energy of {ROWS + 5}, without those that repeat another"


def test_of_many_copies_the_first_is_shown() -> None:
    rows = [row(f"s{number}", kind="s0") for number in range(ROWS + 5)]
    lines = table(pd.DataFrame([*rows, row("x", kind="")]))
    assert [line.split()[0] for line in lines[2:-1]] == ["s0", "x"]
    assert lines[-1] == f"the 2 lowest in energy of {ROWS + 6}, without those that repeat another"


def test_a_count_has_all_its_digits() -> None:
    assert [number_text(value) for value in (10000.0, 12.5, 0.0123456)] == ["10000", "12.5", "0.01235"]


def test_what_cannot_be_used_is_listed_with_its_reason() -> None:
    bad = [row(f"bad{number}", reason="does not parse: no atoms") for number in range(ROWS + 2)]
    frame = pd.DataFrame([row("good"), *bad])
    assert len(table(frame)) == 3
    lines = unusable(frame)
    assert lines[:2] == [f"{ROWS + 2} of {ROWS + 3} cannot be used:", "  bad0: does not parse: no atoms"]
    assert lines[-1] == "  and 2 more"
    assert unusable(pd.DataFrame([row("good")])) == []


def test_the_summary_has_conditions_scores_structures_and_files() -> None:
    frame = pd.DataFrame([row("a|b"), row("bad", reason="no atoms")])
    scores = {"novelty": 50.0, "novelty_low": 10.0, "novelty_high": 90.0, "relaxed": 2.0}
    text = summary({"hull": "a test", "training set": None}, frame, scores, {"structures.csv": "the table"})
    assert "- hull: a test\n\n| score" in text
    assert "| novelty | 50 | % [10.0, 90.0] |\n| relaxed | 2 |  |\n" in text
    assert "| a\\|b | Na1Cl1 | metastable | +0.032 |" in text
    assert "1 of 2 cannot be used:\n\n- bad: no atoms\n" in text
    assert text.endswith("- `structures.csv`: the table\n")


def test_every_column_of_the_tables_has_a_meaning() -> None:
    assert {*COLUMNS, *DFT_COLUMNS} <= MEANINGS.keys()
    assert all(meaning for _, meaning in MEANINGS.values())


def test_only_columns_that_are_there_are_explained() -> None:
    assert readme(["density"]).splitlines()[2:] == ["| `density` | g/cm^3 | density as given, before relaxation |"]
    text = explanation(pd.DataFrame([row("a")]), {"structures.csv": "the table"})
    assert "`energy_above_hull` | eV/atom |" in text
    assert "uncertainty" not in text


def test_only_the_intervals_of_rates_are_in_percent() -> None:
    scores = {"novelty": 50.0, "novelty_low": 10.0, "novelty_high": 90.0}
    scores |= {"mean_rmsd": 0.25, "mean_rmsd_low": 0.125, "mean_rmsd_high": 0.5, "with_rmsd": 4.0}
    assert with_intervals(scores) == [
        ("novelty", 50.0, "% [10.0, 90.0]"),
        ("mean_rmsd", 0.25, "[0.125, 0.5]"),
        ("with_rmsd", 4.0, ""),
    ]
