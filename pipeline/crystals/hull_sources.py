"""Where the points of the convex hull come from: published formation energies and the data set, or computed entries."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from pipeline.config import Crystals
from pipeline.crystals.computed_entries import read_computed_entries
from pipeline.crystals.corrections import change_of_2020
from pipeline.crystals.hull import COMPUTED, DATA_SET, PUBLISHED, Hull, Point, elements_of
from pipeline.crystals.table import records_of
from pipeline.crystals.workers import run_tasks
from pipeline.errors import KinoflowError
from pipeline.store.parquet import read_table
from pipeline.store.provenance import write_provenance

FILES = ("formation_energies/train.csv", "formation_energies/val.csv", "formation_energies/test.csv")
PORTION = 500  # formulas that a worker corrects at a time


def build_hull(crystals: Crystals, seed: int, cache: Path, *, rows: Path, output: Path) -> None:
    """Write the hull for an experiment on crystals; fetched files are in the `cache`."""
    if crystals.hull is not None:
        inputs = [Path(crystals.hull)]
        entries = read_computed_entries(inputs[0])
        points = [Point.at(entry.composition, entry.energy, COMPUTED, entry.id) for entry in entries.compounds]
        points += elements_of(points, entries.elements)
        description = entries.description
    else:
        files = [cache / name for name in FILES]
        inputs = [rows, *files]
        published, on_hull = published_points(files, crystals.workers), list(row_points(read_table(rows)))
        points = [*published, *on_hull]
        points += elements_of(points)
        description = (
            f"{len(published)} published formation energies of the Materials Project with the corrections of 2020, "
            f"and {len(on_hull)} points of its hull from the energies of the data set"
        )
    hull = Hull(points, description)
    hull.save(output)
    write_provenance([output], {"crystals": {"hull": crystals.hull}}, seed, inputs)
    print(f"hull: {len(hull.points)} points ({hull.description})")


def published_points(files: Sequence[Path], workers: int) -> list[Point]:
    """Return the compounds of tables with the columns formula and target (formation energy in eV/atom).

    They were published with the Materials Project's corrections of 2011. They get those of 2020 instead, as in the
    energies of MP-20, of CHGNet and of the Materials Project today.
    """
    try:
        frame = pd.concat(pd.read_csv(file, keep_default_na=False) for file in files)  # NaN is a compound of Na and N
        published = list(zip(frame["formula"], frame["target"].astype(float), strict=True))
    except (OSError, ValueError, KeyError) as error:
        advice = "fetch them with `python -m pipeline fetch formation_energies`"
        names = ", ".join(map(str, files))
        raise KinoflowError(f"{names}: not the tables of formation energies ({error}); {advice}") from error
    portions = [published[start : start + PORTION] for start in range(0, len(published), PORTION)]
    label, corrected = "published formation energies", dict[int, list[Point]]()
    for number, outcome in run_tasks(corrected_points, portions, workers=workers, seconds=600, label=label):
        if outcome.value is None:
            raise KinoflowError(f"{label}: cannot be corrected ({outcome.reason})")
        corrected[number] = outcome.value
    return [point for number in sorted(corrected) for point in corrected[number]]


def corrected_points(published: Sequence[tuple[str, float]]) -> list[Point]:
    """Return the points of compounds, given formulas and energies with the corrections of 2011."""
    from pymatgen.core import Composition

    points = []
    for formula, energy in published:
        composition = Composition(formula)
        if len(composition) > 1:
            counts = {element.Z: amount for element, amount in composition.items()}
            points.append(Point.at(counts, energy + change_of_2020(composition), PUBLISHED, formula))
    return points


def row_points(rows: pd.DataFrame) -> Iterator[Point]:
    """Yield the Materials Project's hull at the compositions of a data set's rows, where both energies are known."""
    for row in records_of(rows):
        energy = row["formation_energy"] - row["energy_above_hull"]
        numbers = [int(number) for number in row["numbers"]]
        if math.isfinite(energy) and len(set(numbers)) > 1:
            yield Point.at({z: numbers.count(z) for z in set(numbers)}, energy, DATA_SET, row["id"])
