"""The making of a table of reference energies: choose crystals, compute their energies, keep what is finished."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.energy_model import EnergyModel
from pipeline.crystals.hull import DATA_SET, Hull, Point, elements_of
from pipeline.crystals.hull_sources import published_points
from pipeline.crystals.reference_candidates import (
    Known,
    candidates,
    distances_from,
    published_distances,
    read_known,
    without_copies,
)
from pipeline.crystals.reference_energies import Reference, formed, hull_of, lowest_of_elements, write_references
from pipeline.crystals.relaxation import relax
from pipeline.crystals.static_energies import static_energy
from pipeline.crystals.workers import DIED, run_tasks
from pipeline.store.journal import Journal
from pipeline.store.provenance import file_hash, settings_hash

FORMAT = "reference energies 1"
DIGITS = 6  # of lengths, angles and fractions in the key of a crystal: CIF files give no more
ON_HULL = 1e-6  # eV/atom
VERSIONS = ("torch", "ase", "numpy", "pymatgen")


class Kept(NamedTuple):
    """An energy in eV/atom, or None and the reason."""

    energy: float | None
    reason: str


def make_references(
    model: EnergyModel,
    sources: Mapping[str, Sequence[Path]],
    published: Sequence[Path],
    *,
    folder: Path,
    output: Path,
    within: float | None,
    margin: float,
    steps: int,
    force: float,
    workers: int,
    seconds: float,
    compute: bool = True,
) -> None:
    """Write the table of a model's energies of known crystals; the folder keeps what is finished, also afterwards.

    `sources` are files of known crystals by name, and `published` the tables of formation energies by DFT. Crystals
    that can be at most `within` eV/atom above the hull by DFT (None: all) get an energy as they are. Those at most
    `margin` above the model's own hull are then relaxed, up to `steps` steps or until no force is above `force` (eV/A),
    and the lower energy counts. Without `compute`, the table has what is finished by now.
    """
    known = without_copies(one for name, paths in sources.items() for path in paths for one in read_known(name, path))
    files = [*published, *(path for paths in sources.values() for path in paths)]
    made_from = settings_hash({"files": [file_hash(path) for path in files]})
    label = f"{model.name} {model.package} {version(model.package)}"
    # Entries are kept by the model's version, the crystal and the settings, and not by a hash of our code as elsewhere:
    # an energy is a property of these three, and hours of computation must not be lost by an edit somewhere else.
    journal = Journal(folder, FORMAT)
    chosen = _chosen(known, published, folder / f"published-{made_from[:12]}.parquet", journal, within, workers)
    chosen.sort(key=lambda one: (len(one.formula) > 1, len(one.crystal.numbers)))  # elements first, the largest last
    print(f"{len(chosen)} of {len(known)} known crystals can lie on the hull, or are elements", flush=True)

    tasks = {"workers": workers, "seconds": seconds, "initialise": partial(model.load, "cpu")}
    crystals = [one.crystal for one in chosen]
    kept = partial(_kept, journal=journal, compute=compute, tasks=tasks)
    static = kept(crystals, partial(_static_energy, model=model), f"{label} static", "energies")
    near = _near(_references(chosen, static, {}), folder / f"{model.name}-unrelaxed.parquet", margin, workers)
    order = [place for place, one in enumerate(chosen) if one.crystal.id in near]
    order.sort(key=lambda place: (len(chosen[place].formula) > 1, near[chosen[place].crystal.id] > ON_HULL, place))
    work = partial(_relaxed_energy, model=model, steps=steps, force=force)
    outcomes = kept([crystals[place] for place in order], work, f"{label} relaxed {steps} {force:g}", "relaxing")
    relaxed = dict(zip(order, outcomes, strict=True))
    references = _references(chosen, static, relaxed)
    counts = {"static": _counts(static), "relaxed": _counts(outcomes)}
    record = {
        "model": model.label,
        "packages": {name: version(name) for name in (model.package, *VERSIONS)},
        "settings": {"within": within, "margin": margin, "steps": steps, "force": force, "seconds": seconds},
        "sources": {name: Counter(one.source for one in known)[name] for name in sources},
        "files": {f"{path.parent.name}/{path.name}": file_hash(path) for path in files},
        "candidates": len(chosen),
        **counts,
    }
    write_references(output, references, record)
    after = sum(one.relaxed for one in references)
    print(f"{output}: {len(references)} energies by {model.label}, {after} of them relaxed")
    for what, count_of in counts.items():
        print(f"{what}: {', '.join(f'{count} {reason}' for reason, count in count_of.items())}")


def structure_key(crystal: Crystal) -> str:
    """Return a key that is the same for a crystal from any file with enough digits, on any machine."""
    rounded = [np.round(values, DIGITS).tolist() for values in (crystal.lengths, crystal.angles, crystal.fractions)]
    text = json.dumps([crystal.numbers.tolist(), *rounded])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _chosen(
    known: Sequence[Known], published: Sequence[Path], hull: Path, journal: Journal, within: float | None, workers: int
) -> list[Known]:
    """Return the candidates, by the hull of published energies, which is written if it is not there."""
    if within is None:
        return list(known)
    if not hull.is_file():
        points = published_points(published, workers)
        points += [
            Point.at(dict(one.formula), one.formed - one.above, DATA_SET, one.crystal.id)
            for one in known
            if len(one.formula) > 1 and math.isfinite(one.formed - one.above)
        ]
        Hull([*points, *elements_of(points)], "published energies").save(hull)
    formulas = sorted({one.formula for one in known if len(one.formula) > 1})

    def compute() -> list[Any]:
        return list(published_distances(hull, formulas, workers).items())

    pairs = journal.once(f"published distances {hull.name}", compute)
    distances = {tuple((z, count) for z, count in formula): distance for formula, distance in pairs}
    return candidates(known, distances, within)


def _kept(
    crystals: Sequence[Crystal],
    function: Callable[..., Any],
    what: str,
    label: str,
    *,
    journal: Journal,
    compute: bool,
    tasks: Mapping[str, Any],
) -> list[Kept]:
    """Return what a function says of each crystal, from the journal where it is known."""
    keys = [f"{what} {structure_key(crystal)}" for crystal in crystals]
    todo = [place for place, key in enumerate(keys) if key not in journal.entries] if compute else []
    lost = dict[int, Kept]()
    for number, outcome in run_tasks(function, [crystals[place] for place in todo], label=label, **tasks):
        if outcome.reason.startswith(DIED):  # it may succeed in another attempt with more memory
            lost[todo[number]] = Kept(None, outcome.reason)
        else:
            journal.add(keys[todo[number]], outcome.value or (None, outcome.reason))
    missing = Kept(None, "not computed")
    return [Kept(*journal.entries.get(key, lost.get(place, missing))) for place, key in enumerate(keys)]


def _static_energy(calculator: Any, crystal: Crystal, *, model: EnergyModel) -> Kept:
    """Return the energy of a crystal as it is, or None and the reason."""
    energy, reason = static_energy(calculator, crystal, model=model)
    return Kept(None, reason) if reason else Kept(energy, "")


def _relaxed_energy(calculator: Any, crystal: Crystal, *, model: EnergyModel, steps: int, force: float) -> Kept:
    """Return the energy of a relaxed crystal, or None and the reason; at the step limit it has an energy, too."""
    row = relax(calculator, crystal, model=model, steps=steps, force=force)
    energy = float(row["energy_per_atom"])
    return Kept(energy, "") if math.isfinite(energy) else Kept(None, row["reason"])


def _references(chosen: Sequence[Known], static: Sequence[Kept], relaxed: Mapping[int, Kept]) -> list[Reference]:
    """Return the rows of the crystals that have an energy: the lower one of the two."""
    found = []
    for place, one in enumerate(chosen):
        before, after = static[place].energy, relaxed[place].energy if place in relaxed else None
        if before is not None:
            numbers, lower = tuple(one.crystal.numbers.tolist()), before if after is None else min(before, after)
            found.append(Reference(one.crystal.id, one.source, numbers, lower, after is not None))
    return found


def _near(references: Sequence[Reference], path: Path, margin: float, workers: int) -> dict[str, float]:
    """Return the energies above the model's own hull that are at most `margin`, by the ids of the crystals."""
    hull_of(references, "before relaxation").save(path)
    lowest = lowest_of_elements(references)
    energies = ((tuple(Counter(one.numbers).items()), formed(one, lowest)) for one in references)
    above = distances_from(path, list(energies), workers).tolist()
    return {one.id: distance for one, distance in zip(references, above, strict=True) if distance <= margin}


def _counts(outcomes: Sequence[Kept]) -> dict[str, int]:
    """Return how many have an energy, and how many do not for each kind of reason."""
    return dict(Counter("computed" if not reason else reason.partition(":")[0] for _, reason in outcomes).most_common())
