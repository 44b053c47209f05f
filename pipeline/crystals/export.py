"""Crystals as a table, and as files that other programs read: extended XYZ, and a zip archive of CIF files.

These files leave out rows with a reason. Equal frames give equal bytes. Extended XYZ has the crystals just as they are
in the frame. A CIF file has the symmetry of its crystal and the atoms of the asymmetric unit.
"""

import json
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline.crystals.crystal import Crystal, Floats
from pipeline.crystals.elements import SYMBOLS
from pipeline.crystals.symmetry import TOLERANCE, symmetrised, without_symmetry
from pipeline.crystals.table import CRYSTAL_COLUMNS, Row, crystal_of, frame_of, records_of, rejected_row, row_of
from pipeline.crystals.tokens import decode
from pipeline.sampling.samples import SampleSet
from pipeline.store.atomic import replacing
from pipeline.store.parquet import write_table
from pipeline.store.provenance import write_provenance

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the earliest time in a zip archive; the real one would change the bytes
_READABLE = 0o644 << 16


def write_crystals(
    samples: SampleSet,
    table: Path,
    extxyz: Path,
    cifs: Path,
    settings: Mapping[str, Any],
    seed: int,
    inputs: Sequence[Path],
    exact: Sequence[Callable[[Crystal], Crystal]] | None = None,
) -> pd.DataFrame:
    """Write and return the crystals of samples, with the settings, seed and inputs as their provenance.

    Parts of a crystal may have been given. Then `exact` has for each one what puts back the numbers that tokens round.
    """
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pymatgen warns about every noble gas
        for number, tokens in enumerate(samples.tokens.numpy(), start=1):
            id = f"{samples.conditions['run']}-{number:06d}"
            crystal, reason = decode(tokens, id)
            crystal = crystal if crystal is None or exact is None else exact[number - 1](crystal)
            rows.append(rejected_row(id, reason) if crystal is None else row_of(crystal, reason=reason))
    frame = frame_of(rows, CRYSTAL_COLUMNS)
    write_table(table, frame)
    write_extxyz(extxyz, frame)
    write_cif_zip(cifs, frame, TOLERANCE if exact is None else 0.0)  # symmetry would move what was given
    write_provenance([table, extxyz, cifs], settings, seed, inputs)
    return frame


def write_extxyz(path: Path, frame: pd.DataFrame) -> None:
    """Write extended XYZ, with the id, the formula and all columns that hold single known values as fields."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        stream.writelines(_extxyz(row, crystal) for row, crystal in _usable(frame))


def write_cif_zip(path: Path, frame: pd.DataFrame, tolerance: float = TOLERANCE) -> None:
    """Write a zip archive with one CIF file for each crystal, named by its id.

    A file has the symmetry that is found within a tolerance (A): its atoms may lie that far from those of the frame.
    """
    taken: set[str] = set()
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for row, crystal in _usable(frame):
            name = re.sub(r"[^\w.+-]", "_", str(row["id"])).lstrip(".") or "crystal"
            while name in taken:
                name += "_"
            taken.add(name)
            entry = zipfile.ZipInfo(f"{name}.cif", date_time=_EARLIEST)
            entry.external_attr, entry.compress_type = _READABLE, zipfile.ZIP_DEFLATED
            entry.create_system = 3  # as on Unix, wherever it is written
            archive.writestr(entry, cif_text(crystal, tolerance))


def cif_text(crystal: Crystal, tolerance: float | None = None) -> str:
    """Return a CIF file with 8 decimals: in P 1, or with the symmetry that is found within a tolerance (A)."""
    cell = (symmetrised(crystal, tolerance) if tolerance else None) or without_symmetry(crystal)
    composition = Counter[int]()
    for number, count in zip(cell.unit.numbers.tolist(), cell.multiplicities.tolist(), strict=True):
        composition[number] += count
    formula = " ".join(f"{SYMBOLS[number - 1]}{count}" for number, count in sorted(composition.items()))
    names = ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma")
    sides = zip(names, [*cell.unit.lengths.tolist(), *cell.unit.angles.tolist()], strict=True)
    symbols = [SYMBOLS[number - 1] for number in cell.unit.numbers.tolist()]
    sites = zip(symbols, cell.multiplicities.tolist(), cell.unit.fractions.tolist(), strict=True)
    lines = [
        f"data_{formula.replace(' ', '')}",
        f"_symmetry_space_group_name_H-M   '{cell.symbol}'",
        *(f"_cell_{name}   {value:.8f}" for name, value in sides),
        f"_symmetry_Int_Tables_number   {cell.number}",
        f"_chemical_formula_sum   '{formula}'",
        *("loop_", " _symmetry_equiv_pos_site_id", " _symmetry_equiv_pos_as_xyz"),
        *(f"  {number}  '{operation}'" for number, operation in enumerate(cell.operations, start=1)),
        *("loop_", " _atom_site_type_symbol", " _atom_site_label", " _atom_site_symmetry_multiplicity"),
        *(f" _atom_site_fract_{axis}" for axis in "xyz"),
        " _atom_site_occupancy",
        *(
            f"  {symbol}  {symbol}{number}  {count}  {x:.8f}  {y:.8f}  {z:.8f}  1"
            for number, (symbol, count, (x, y, z)) in enumerate(sites)
        ),
    ]
    return "\n".join(lines) + "\n"


def _usable(frame: pd.DataFrame) -> Iterator[tuple[Row, Crystal]]:
    for row in records_of(frame):
        crystal = crystal_of(row)
        if crystal is not None and not row["reason"]:
            yield row, crystal


def _extxyz(row: Row, crystal: Crystal) -> str:
    vectors = lattice_vectors(crystal)
    positions = (crystal.fractions @ vectors).tolist()
    fields = {
        name: _field(value) for name, value in row.items() if name in ("id", "formula") or name not in CRYSTAL_COLUMNS
    }
    known = " ".join(f"{name}={text}" for name, text in fields.items() if text is not None)
    lattice = " ".join(f"{value:.10f}" for value in vectors.ravel().tolist())
    atoms = [
        f"{SYMBOLS[number - 1]:<2} {x:16.8f} {y:16.8f} {z:16.8f}"
        for number, (x, y, z) in zip(crystal.numbers.tolist(), positions, strict=True)
    ]
    comment = f'Lattice="{lattice}" Properties=species:S:1:pos:R:3 {known} pbc="T T T"'
    return "\n".join([str(len(atoms)), comment, *atoms]) + "\n"


def lattice_vectors(crystal: Crystal) -> Floats:
    """Return the sides of the cell as rows: the first along x, the second in the plane of x and y."""
    a, b, c = crystal.lengths
    cos_alpha, cos_beta, cos_gamma = np.cos(np.radians(crystal.angles))
    sin_gamma = np.sin(np.radians(crystal.angles[2]))
    along_y = (cos_alpha - cos_beta * cos_gamma) / sin_gamma
    along_z = np.sqrt(max(1 - cos_beta**2 - along_y**2, 0.0))
    return np.array([[a, 0, 0], [b * cos_gamma, b * sin_gamma, 0], [c * cos_beta, c * along_y, c * along_z]])


def _field(value: Any) -> str | None:
    """Return a value as extended XYZ writes it; None if it is not known or not a single value."""
    if isinstance(value, bool | np.bool_):
        return "T" if value else "F"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return repr(float(value)) if np.isfinite(value) else None
    return json.dumps(value) if isinstance(value, str) else None


def ranked(assessed: pd.DataFrame, relaxed: pd.DataFrame) -> pd.DataFrame:
    """Return the relaxed crystals, the lowest above the hull first; the ids are rank and formula."""
    from pymatgen.core import Composition

    energies = assessed.set_index("id")["energy_above_hull"].dropna().sort_values(kind="stable")
    crystals = relaxed.set_index("id", drop=False).loc[energies.index].reset_index(drop=True)
    digits = max(3, len(str(len(crystals))))
    formulas = [Composition(formula).reduced_formula for formula in crystals["formula"]]
    return crystals.assign(id=[f"{rank:0{digits}d}_{formula}" for rank, formula in enumerate(formulas, start=1)])
