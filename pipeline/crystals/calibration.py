"""How far energy models and the hull can be trusted: both are compared with known energies of test structures."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline.config import Crystals
from pipeline.crystals.chemistry import CHEMISTRIES, chemistry_of
from pipeline.crystals.crystal import Floats
from pipeline.crystals.energies import METASTABLE, formation_energy
from pipeline.crystals.energy_model import EnergyModel
from pipeline.crystals.hull import DATA_SET, ELEMENT, PUBLISHED, Hull, shares_of
from pipeline.crystals.static_energies import static_energies
from pipeline.crystals.table import CRYSTAL_COLUMNS, Row, crystal_of, records_of
from pipeline.report.formats import markdown_table, wrapped, write_numbers
from pipeline.store.atomic import write_text
from pipeline.store.journal import Journal
from pipeline.store.parquet import read_table

RESAMPLES = 2000
NEARLY = 1e-6  # eV/atom; less is on the hull
NOTE = (
    "Energies in eV/atom, with the 95 % interval of the mean; left out: structures without one of the energies. 68 % "
    "of the absolute errors are at most the absolute error of 68. Verdicts by a model are on the data set's own hull."
)
GROUND_STATE = "published ground state of the same formula (another polymorph would be lower than the structure)"
MEAN = ("mean_absolute_error", "mean_absolute_error_low", "mean_absolute_error_high")
AGREEMENT = ("agree_at_0", "agree_at_0.1")
USUAL = 0.68  # of the absolute errors are at most the uncertainty, as within one standard deviation
ERRORS = (*MEAN, "median_absolute_error", "absolute_error_of_68", "bias")
COLUMNS = ("compared", "against", "n", "left_out", *ERRORS, *AGREEMENT, "unit")


def write_calibration(
    chosen: Crystals,
    models: Sequence[EnergyModel],
    seed: int,
    *,
    rows: Path,
    hull: Path,
    csv: Path,
    markdown: Path,
    numbers: Path,
) -> None:
    """Write a table with one row per comparison, over structures drawn from the test split of a data set.

    If the data set has energies, the comparison is with those. Otherwise it is with the published formation energy of
    the ground state of the same formula. Each energy model has a row for all structures and one for each chemistry.
    """
    known = Hull.load(hull)
    drawn = draw_test_rows(rows, chosen.calibration, seed)
    actual = np.array([row["formation_energy"] for row in drawn], dtype=float)
    above = np.array([row["energy_above_hull"] for row in drawn], dtype=float)
    against, hulls = "formation energies of the data set (DFT)", list[Row]()
    if np.isfinite(actual).any():
        hulls = list(compare_hulls(known, drawn, actual, seed))
    else:
        against, lowest = GROUND_STATE, dict[Any, float]()
        for point in known.points:
            lowest[point.shares] = min(point.energy, lowest.get(point.shares, point.energy))
        actual = np.array([lowest.get(shares_of(_composition(row)), math.nan) for row in drawn])
    kinds, table = np.array([chemistry_of(row["numbers"]) for row in drawn]), list[Row]()
    for model in models:
        predicted = formation_energies(model, drawn, workers=chosen.workers, seconds=chosen.seconds)
        table += compare_model(model.label, against, kinds, predicted, actual, above, seed)
    table += hulls
    write_text(csv, pd.DataFrame(table, columns=list(COLUMNS)).to_csv(index=False))
    write_text(markdown, f"{markdown_table(table, [], COLUMNS[:2], COLUMNS[2:-1])}\n{wrapped(NOTE)}")
    write_numbers(numbers, {row["compared"]: row for row in table})


def formation_energies(
    model: EnergyModel, rows: Sequence[Row], *, workers: int, seconds: float, finished: Journal | None = None
) -> Floats:
    """Return the formation energy of each structure by a model, in eV/atom; NaN: the model has none for it."""
    crystals = [crystal for row in rows if (crystal := crystal_of(row)) is not None]
    label = f"calibrating {model.name}"
    energies = static_energies(model, crystals, workers=workers, seconds=seconds, label=label, finished=finished)
    pairs = zip(rows, energies, strict=True)
    return np.array([formation_energy(row["numbers"], energy)[0] for row, (energy, _) in pairs])


def compare_model(
    label: str, against: str, kinds: Any, predicted: Floats, actual: Floats, above: Floats, seed: int
) -> Iterable[Row]:
    """Yield the comparison of a model's formation energies with known ones, for all structures and by chemistry.

    A verdict is right if the structure is on the same side of the hull of the data set with either energy.
    """
    name = f"formation energy by {label}"
    for kind in ("", *CHEMISTRIES):
        chosen = np.flatnonzero(kinds == kind) if kind else np.arange(len(kinds))
        if len(chosen) or not kind:
            ours, theirs, hull = predicted[chosen], actual[chosen], above[chosen]
            row = compare(f"{name}, {kind}" if kind else name, against, ours, theirs, seed)
            yield row | agreement(ours - theirs + hull, hull)


def draw_test_rows(rows: Path, count: int, seed: int) -> list[Row]:
    """Return up to `count` usable rows of the test split, drawn without replacement, in their order."""
    frame = read_table(rows, [*CRYSTAL_COLUMNS, "split", "formation_energy", "energy_above_hull"])
    usable = frame[(frame["split"] == "test") & (frame["reason"] == "")]
    places = np.random.default_rng(seed).permutation(len(usable))[:count]
    return records_of(usable.iloc[np.sort(places)])


def compare_hulls(hull: Hull, rows: Sequence[Row], formed: Floats, seed: int) -> Iterable[Row]:
    """Yield comparisons of energies above hulls with the data set's own, all for the data set's formation energies.

    A row's own point is part of the hull, and gives back what it was made from. So there is also a comparison with the
    published energies alone, and one that leaves out the data set's points at a row's own composition.
    """
    against = "energies above the hull of the data set (Materials Project)"
    theirs = np.array([row["energy_above_hull"] for row in rows], dtype=float)
    if DATA_SET not in hull.origins:
        kinds = {"energy above the hull of computed entries": (hull, "")}
    else:
        kinds = {
            "energy above the hull of published energies": (hull.of({ELEMENT, PUBLISHED}), ""),
            "energy above the hull, no row's own point counted": (hull, DATA_SET),
            "energy above the hull, as used": (hull, ""),
        }
    for name, (chosen, left_out) in kinds.items():
        on_hull = np.array([chosen.energy(_composition(row), left_out)[0] for row in rows], dtype=float)
        ours = formed - on_hull
        yield compare(name, against, ours, theirs, seed) | agreement(ours, theirs)


def compare(name: str, against: str, values: Floats, references: Floats, seed: int) -> Row:
    """Return the errors of values, and the 95 % interval of their mean by the bootstrap; NaN values are left out."""
    differences = (values - references)[np.isfinite(values) & np.isfinite(references)]
    row: Row = {"compared": name, "against": against, "n": len(differences), "unit": "eV/atom"}
    row["left_out"] = len(values) - len(differences)
    if not len(differences):
        return row
    errors = np.abs(differences)
    resampled = np.random.default_rng(seed).choice(errors, (RESAMPLES, len(errors))).mean(axis=1)
    mean = map(float, (errors.mean(), *np.quantile(resampled, (0.025, 0.975))))
    rest = {
        "median_absolute_error": float(np.median(errors)),
        "absolute_error_of_68": float(np.quantile(errors, USUAL)),
        "bias": float(differences.mean()),
    }
    return row | dict(zip(MEAN, mean, strict=True)) | rest


def agreement(ours: Floats, theirs: Floats) -> Row:
    """Return the shares of structures for which both agree on whether they are on the hull, and near it."""
    both = np.isfinite(ours) & np.isfinite(theirs)
    if not both.any():
        return {}
    limits = zip(AGREEMENT, (NEARLY, METASTABLE + NEARLY), strict=True)
    return {name: float(((ours[both] <= limit) == (theirs[both] <= limit)).mean()) for name, limit in limits}


def _composition(row: Row) -> dict[int, float]:
    return {int(z): float(count) for z, count in Counter[int](row["numbers"]).items()}
