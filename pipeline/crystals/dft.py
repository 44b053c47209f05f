"""Density functional theory, the last word on stability: inputs of VASP for a user to run, and their results."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from pipeline.crystals.corrections import corrected_energy, parameters_of
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.energies import formation_energy
from pipeline.crystals.hull import Hull
from pipeline.crystals.table import CRYSTAL_COLUMNS, Row, crystal_of, records_of
from pipeline.errors import KinoflowError
from pipeline.store.atomic import write_text
from pipeline.store.parquet import read_table, write_table
from pipeline.store.provenance import write_provenance

if TYPE_CHECKING:  # importing pymatgen takes a second, and most commands do not need it
    from pymatgen.core import Composition
    from pymatgen.entries.computed_entries import ComputedEntry

MANIFEST = "manifest.csv"
CELL, ATOM = "energy_ev", "energy_ev_per_atom"  # columns of a table of results: energy of the cell, or per atom
NO_RESULT = "no result"
SAME_FUNCTIONAL = {"PBE": "GGA", "PBE+U": "GGA+U"}  # VASP 6 writes out what VASP 5 takes from the potentials
OUTPUTS = ("vasprun.xml", "vasprun.xml.gz")
COLUMNS = dict.fromkeys(("dft_energy_per_atom", "dft_formation_energy", "dft_energy_above_hull"), "float64")
COLUMNS |= {"dft_stable": "boolean", "dft_reason": "str"}


class Result(NamedTuple):
    """The entry of a calculation, or the reason why there is none."""

    entry: ComputedEntry | None
    reason: str = ""


def write_dft_inputs(structures: Path, relaxed: Path, folder: Path, threshold: float) -> None:
    """Write VASP inputs for the relaxed crystals that are less than a threshold (eV/atom) above the hull.

    Each has a folder of its own, and a line in the manifest. Nothing in the folder is deleted.
    """
    crystals = {row["id"]: crystal_of(row) for row in records_of(read_table(relaxed, CRYSTAL_COLUMNS))}
    lines, names = [], dict[str, str]()
    for row in records_of(read_table(structures, ("id", "formula", "energy_above_hull"))):
        if not row["energy_above_hull"] < threshold:  # NaN is not below anything
            continue
        crystal, name = crystals.get(row["id"]), folder_name(row["id"])
        if names.setdefault(name, row["id"]) != row["id"]:
            raise KinoflowError(f"{structures}: {names[name]!r} and {row['id']!r} have the same folder; rename one")
        reason = "no relaxed structure" if crystal is None else write_inputs(crystal, folder / name)
        lines.append(row | {"folder": "" if reason else name, "reason": reason})
    manifest = folder / MANIFEST
    columns = ["id", "formula", "energy_above_hull", "folder", "reason"]
    write_text(manifest, pd.DataFrame(lines, columns=columns).to_csv(index=False))
    write_provenance([manifest], {"threshold": threshold}, 0, [structures, relaxed])
    without = sum(line["reason"] != "" for line in lines)
    print(f"{folder}: inputs of {len(lines) - without} crystals, {without} without; see {MANIFEST}")


def collect_dft(results: Path, structures: Path, hull: Path, output: Path) -> None:
    """Write a copy of a table of structures, with the results of DFT added.

    `results` is the folder of `write_dft_inputs` with a vasprun.xml or vasprun.xml.gz in the folder of each crystal, or
    a CSV table with the columns id and either `energy_ev` (of the cell) or `energy_ev_per_atom`, before any correction.
    It may have run_type (GGA or GGA+U) and hubbards (such as {"Fe": 5.3}); the defaults are the Materials Project's.
    Energies get the Materials Project's corrections of 2020. Without a structure, formulas tell which are peroxides.
    """
    frame, known = read_table(structures, ("id", "formula")), Hull.load(hull)
    rows = records_of(frame)
    found = results_in_table(results, rows) if results.is_file() else results_in_folder(results, rows)
    verdicts = [verdict(row, found.get(row["id"], Result(None, NO_RESULT)), known) for row in rows]
    values = pd.DataFrame(verdicts, columns=list(COLUMNS)).astype(COLUMNS)
    kept = frame.drop(columns=[name for name in COLUMNS if name in frame])
    write_table(output, pd.concat([kept, values], axis=1))
    files = [results] if results.is_file() else [path for row in rows if (path := _output_of(results, row))]
    write_provenance([output], {"corrections": "MaterialsProject2020Compatibility"}, 0, [structures, hull, *files])
    reasons = values["dft_reason"][values["dft_reason"] != NO_RESULT]
    stable = int(values["dft_stable"].fillna(False).sum())
    print(f"{output}: {len(reasons)} results, {int((reasons != '').sum())} of no use, {stable} stable crystals")


def verdict(row: Row, result: Result, hull: Hull) -> dict[str, Any]:
    """Return the columns of :data:`COLUMNS` for a structure."""
    values: dict[str, Any] = dict.fromkeys(COLUMNS, math.nan) | {"dft_stable": None, "dft_reason": result.reason}
    if result.entry is None:
        return values
    composition = result.entry.composition
    if composition.reduced_composition != _composition(row).reduced_composition:
        return values | {"dft_reason": f"another composition: {composition.reduced_formula}"}
    counts = {element.Z: int(amount) for element, amount in composition.items()}
    apart, reason = formation_energy([z for z, count in counts.items() for _ in range(count)], 0.0)
    energy, reason = (math.nan, reason) if reason else corrected_energy(result.entry)
    if reason:
        return values | {"dft_reason": reason}
    formed = energy + apart
    values |= {"dft_energy_per_atom": energy, "dft_formation_energy": formed}
    on_hull, reason = hull.energy(counts)
    if reason:
        return values | {"dft_reason": reason}
    above = formed - on_hull
    return values | {"dft_energy_above_hull": above, "dft_stable": above < 0 and len(counts) > 1}


def results_in_folder(folder: Path, rows: Sequence[Row]) -> dict[str, Result]:
    """Return the results of the structures that have a folder."""
    if not folder.is_dir():
        advice = "give the folder with the results of DFT, or a CSV table"
        raise KinoflowError(f"{folder}: no such file or folder; {advice}")
    found = {}
    for row in rows:
        if path := _output_of(folder, row):
            found[row["id"]] = read_output(path)
        elif (folder / folder_name(row["id"])).is_dir():
            found[row["id"]] = Result(None, "missing vasprun.xml")
    return found


def results_in_table(path: Path, rows: Sequence[Row]) -> dict[str, Result]:
    """Return the results in a CSV table."""
    try:
        frame = pd.read_csv(path, dtype={"id": "str"}, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise KinoflowError(f"{path}: cannot be read as a CSV table ({error})") from error
    energies = [name for name in (CELL, ATOM) if name in frame]
    if "id" not in frame or len(energies) != 1:
        has = ", ".join(map(str, frame.columns))
        raise KinoflowError(f"{path}: needs the column id and either {CELL} (of the cell) or {ATOM}; it has {has}")
    known, found = {row["id"]: row for row in rows}, dict[str, Result]()
    for line in records_of(frame):
        if line["id"] not in known:
            raise KinoflowError(f"{path}: id {line['id']!r} is not in the table of structures; correct or remove it")
        if line["id"] in found:
            raise KinoflowError(f"{path}: id {line['id']!r} is there twice; keep one of the lines")
        found[line["id"]] = _result(path, line, _composition(known[line["id"]]), energies[0])
    return found


def folder_name(id: str) -> str:
    """Return an id as the name of a folder."""
    return re.sub(r"[^A-Za-z0-9._-]|^\.+", "_", id)


def write_inputs(crystal: Crystal, folder: Path) -> str:
    """Write INCAR, KPOINTS, POSCAR and POTCAR of a relaxation (MPRelaxSet); return the reason if that is impossible.

    If pymatgen knows no pseudopotentials (PMG_VASP_PSP_DIR), write a POTCAR.spec with their names instead.
    """
    from pymatgen.core import SETTINGS
    from pymatgen.io.vasp.sets import MPRelaxSet

    structure = crystal.structure().get_sorted_structure()
    if missing := sorted({site.symbol for site in structure.species} - set(MPRelaxSet.CONFIG["POTCAR"])):
        return f"no potential for {', '.join(missing)}"
    folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # today the Materials Project would choose some of them differently
        try:
            MPRelaxSet(structure).write_input(str(folder), potcar_spec="PMG_VASP_PSP_DIR" not in SETTINGS)
        except (OSError, ValueError, KeyError) as error:
            return f"no inputs: {type(error).__name__}: {str(error).splitlines()[0]}"
    return ""


def read_output(path: Path) -> Result:
    """Return the entry of a finished relaxation, or the reason why there is none."""
    from pymatgen.io.vasp.outputs import Vasprun

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = Vasprun(path, parse_dos=False, parse_eigen=False, parse_potcar_file=False)
            if not run.converged_electronic:
                return Result(None, "electronic steps not converged")
            if not run.converged_ionic:
                return Result(None, "ionic steps not converged")
            entry = run.get_computed_entry(entry_id=path.parent.name)
            kind = entry.parameters["run_type"]
            entry.parameters["run_type"] = SAME_FUNCTIONAL.get(kind, kind)
        except Exception as error:  # a file may be cut off or broken anywhere, and pymatgen may raise anything
            message = (str(error).splitlines() or [""])[0]
            return Result(None, f"unreadable {path.name}: {type(error).__name__}: {message}")
    if not math.isfinite(entry.energy):
        return Result(None, "energy not finite")
    return Result(entry)


def _result(path: Path, line: Mapping[str, Any], composition: Composition, column: str) -> Result:
    from pymatgen.entries.computed_entries import ComputedEntry

    if line[column] == "":
        return Result(None, NO_RESULT)
    parameters = parameters_of(composition)
    try:
        energy = float(line[column]) * (composition.num_atoms if column == ATOM else 1)
        if line.get("run_type"):
            parameters["run_type"] = str(line["run_type"])
        if line.get("hubbards"):
            parameters["hubbards"] = dict(json.loads(line["hubbards"]))
    except (ValueError, TypeError) as error:
        raise KinoflowError(f"{path}: the line of id {line['id']!r} cannot be read ({error})") from error
    if not math.isfinite(energy):
        return Result(None, "energy not finite")
    return Result(ComputedEntry(composition, energy, parameters=parameters, entry_id=line["id"]))


def _output_of(folder: Path, row: Row) -> Path | None:
    files = (folder / folder_name(row["id"]) / name for name in OUTPUTS)
    return next((file for file in files if file.is_file()), None)


def _composition(row: Row) -> Composition:
    from pymatgen.core import Composition

    return Composition(row["formula"])
