"""Computed entries: energies of phases as the Materials Project and Matbench Discovery give them (JSON)."""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.crystals.corrections import corrected_energy
from pipeline.crystals.energies import symbols_of
from pipeline.errors import KinoflowError


@dataclass(frozen=True)
class Phase:
    """A composition (numbers of atoms by Z) and its energy in eV/atom."""

    id: str
    composition: dict[int, float]
    energy: float


@dataclass(frozen=True)
class ComputedEntries:
    """The compounds of a file with their formation energies, its elements, and a description of what was read."""

    compounds: list[Phase]
    elements: list[int]
    description: str


def read_computed_entries(path: Path) -> ComputedEntries:
    """Read entries of pymatgen from a JSON file (.json or .json.gz), and return their formation energies.

    These are relative to the lowest entry of each element, so the file must have one of each. Entries that say how they
    were computed get the Materials Project's corrections of 2020, and are left out if the scheme finds that they cannot
    be mixed with others. All other entries are taken as they are.
    """
    phases, corrected, incompatible = [], 0, 0
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
        phases.append(Phase(str(entry.entry_id or number), composition, energy))
    lowest: dict[int, float] = {}
    for phase in phases:
        if len(phase.composition) == 1:
            z = next(iter(phase.composition))
            lowest[z] = min(phase.energy, lowest.get(z, phase.energy))
    if missing := sorted({z for phase in phases for z in phase.composition} - set(lowest)):
        advice = "formation energies are relative to the elements: add an entry of each"
        raise KinoflowError(f"crystals.hull: {path} has no usable entry of pure {symbols_of(missing)}; {advice}")
    compounds = [_formed(phase, lowest) for phase in phases if len(phase.composition) > 1]
    description = f"{corrected} entries of {path.name} corrected, {incompatible} of them incompatible and left out"
    return ComputedEntries(
        compounds, sorted(lowest), f"{description}; {len(phases) - corrected + incompatible} as given"
    )


def _formed(phase: Phase, elements: Mapping[int, float]) -> Phase:
    total = sum(phase.composition.values())
    apart = sum(amount * elements[z] for z, amount in phase.composition.items()) / total
    return Phase(phase.id, phase.composition, phase.energy - apart)


def _records(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of a list, of a mapping by id, or of the column `entry` or `entries` of a table."""
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
    yield from records


def _entry(path: Path, number: int, record: Mapping[str, Any]) -> Any:
    from pymatgen.entries.computed_entries import ComputedEntry, ComputedStructureEntry

    try:
        return (ComputedStructureEntry if "structure" in record else ComputedEntry).from_dict(dict(record))
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        fault = f"{type(error).__name__}: {error}"
        raise KinoflowError(f"crystals.hull: entry {number} of {path} is no computed entry ({fault})") from error
