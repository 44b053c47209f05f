"""Where the points of the convex hull come from: published formation energies and the data set, or computed entries."""

import gzip
import json
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.config import Crystals
from pipeline.crystals.corrections import change_of_2020, corrected_energy
from pipeline.crystals.energies import symbols_of
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
        points, description = computed_points(inputs[0])
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
        energy, composition = row["formation_energy"] - row["energy_above_hull"], Counter[int](row["numbers"])
        if math.isfinite(energy) and len(composition) > 1:
            yield Point.at(composition, energy, DATA_SET, row["id"])


def computed_points(path: Path) -> tuple[list[Point], str]:
    """Return the compounds and elements of computed entries in a JSON file (.json, .json.gz), and what was read.

    Entries are those of pymatgen, as the Materials Project and Matbench Discovery give them. Formation energies are
    relative to the lowest entry of each element, so the file must have one of each. Entries that say how they were
    computed get the Materials Project's corrections of 2020, and are left out if the scheme finds that they cannot be
    mixed with others. All other entries are taken as they are.
    """
    phases: list[tuple[str, dict[int, float], float]] = []  # id, numbers of atoms by Z, eV/atom
    lowest: dict[int, float] = {}
    corrected, incompatible = 0, 0
    for number, record in enumerate(_records(path)):
        entry = _entry(path, number, record)
        energy = float(entry.energy_per_atom)
        if "run_type" in entry.parameters:
            energy, reason = corrected_energy(entry)
            corrected += 1
            if reason:
                incompatible += 1
                continue
        composition = {element.Z: float(amount) for element, amount in entry.composition.items()}
        phases.append((str(entry.entry_id or number), composition, energy))
        if len(composition) == 1:
            z = next(iter(composition))
            lowest[z] = min(energy, lowest.get(z, energy))
    if missing := sorted({z for _, composition, _ in phases for z in composition} - set(lowest)):
        advice = "formation energies are relative to the elements: add an entry of each"
        raise KinoflowError(f"crystals.hull: {path} has no usable entry of pure {symbols_of(missing)}; {advice}")
    points = []
    for id, composition, energy in phases:
        if len(composition) > 1:
            apart = sum(amount * lowest[z] for z, amount in composition.items()) / sum(composition.values())
            points.append(Point.at(composition, energy - apart, COMPUTED, id))
    description = f"{corrected} entries of {path.name} corrected, {incompatible} of them incompatible and left out"
    as_given = f"{len(phases) - corrected + incompatible} as given"
    return points + elements_of(points, lowest), f"{description}; {as_given}"


def _records(path: Path) -> list[Mapping[str, Any]]:
    """Return the entries of a list, of a mapping by id, or of the column `entry` or `entries` of a table."""
    try:
        content = path.read_bytes()
        value = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise KinoflowError(f"crystals.hull: {path} cannot be read as JSON ({error}); give computed entries") from error
    if isinstance(value, dict):
        value = next((value[column] for column in ("entry", "entries") if column in value), value)
    records = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(records, list) or not records:
        raise KinoflowError(f"crystals.hull: {path} holds no list of computed entries; give one as pymatgen writes it")
    return records


def _entry(path: Path, number: int, record: Mapping[str, Any]) -> Any:
    from pymatgen.entries.computed_entries import ComputedEntry, ComputedStructureEntry

    try:
        return (ComputedStructureEntry if "structure" in record else ComputedEntry).from_dict(dict(record))
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        fault = f"{type(error).__name__}: {error}"
        raise KinoflowError(f"crystals.hull: entry {number} of {path} is no computed entry ({fault})") from error
