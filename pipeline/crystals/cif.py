"""Crystals in the text of CIF files.

Plain files in P 1, as in benchmark data and as pymatgen writes them, are read directly, about thirty times faster.
Everything else goes through pymatgen. Both give the same crystals, up to the order of the atoms: coordinates within
1e-4 of 1/3 and 2/3 become 1/3 and 2/3, and atoms are put into the cell.
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.crystals.crystal import Crystal, fault_of_cell
from pipeline.crystals.elements import NUMBERS

if TYPE_CHECKING:
    from pymatgen.core import Structure

_NUMBER = r"[-+]?\d+(?:\.\d*)?"
_CELL = "".join(rf"_cell_{name} +({_NUMBER}) *\n" for name in ("length_a", "length_b", "length_c"))
_CELL += "".join(rf"_cell_angle_{name} +({_NUMBER}) *\n" for name in ("alpha", "beta", "gamma"))
_PLAIN = re.compile(
    r"\s*(?:#[^\n]*\n)*data_\S*\n"
    r"_symmetry_space_group_name_H-M +'P 1'\n" + _CELL + r"_symmetry_Int_Tables_number +1\n"
    r"(?:_chemical_formula_structural +[^\n]+\n)?(?:_chemical_formula_sum +[^\n]+\n)?"
    r"(?:_cell_volume +\S+\n)?(?:_cell_formula_units_Z +\d+\n)?"
    r"loop_\n +_symmetry_equiv_pos_site_id\n +_symmetry_equiv_pos_as_xyz\n +1 +'x, y, z'\n"
    r"loop_\n +_atom_site_type_symbol\n +_atom_site_label\n +_atom_site_symmetry_multiplicity\n"
    r" +_atom_site_fract_x\n +_atom_site_fract_y\n +_atom_site_fract_z\n +_atom_site_occupancy\n"
    rf"((?: +[A-Z][a-z]? +\w+ +1(?: +{_NUMBER}){{3}} +1(?:\.0*)? *\n)+)\s*"
)
_CELL_ITEM = re.compile(rf"^\s*_cell_(length_[abc]|angle_(?:alpha|beta|gamma))\s+({_NUMBER})", re.MULTILINE)
_HEAVY = re.compile(r"[DT](?![a-z])")  # hydrogen; pymatgen reads it as H
_AT_ONCE = 256  # atoms whose distances to all others are looked at together
_ONE_SITE = 1e-3  # atoms this close may be one site: pymatgen has to decide


def crystals_in_cif(text: str, id: str) -> list[Crystal | str]:
    """Return the structures of a CIF file, each as a crystal or as the reason why it cannot be used."""
    text = text.replace("\r\n", "\n")
    plain = _plain_crystal(text if text.endswith("\n") else f"{text}\n", id)
    return [plain] if plain is not None else _crystals_by_pymatgen(text, id)


def crystal_of_structure(structure: "Structure", id: str) -> Crystal | str:
    """Return the crystal of a pymatgen structure, or the reason why it cannot be used."""
    from pymatgen.core import DummySpecies

    if not structure.is_ordered:
        return "partial occupancies"
    if any(isinstance(site.specie, DummySpecies) for site in structure):
        return "a species that is no element"
    return Crystal.of(id, structure)


def _plain_crystal(text: str, id: str) -> Crystal | None:
    """Return the crystal of a plain file in P 1; None for all other files."""
    match = _PLAIN.fullmatch(text)
    atoms = [line.split() for line in match[7].splitlines()] if match else []
    if match is None or any(atom[0] not in NUMBERS for atom in atoms):
        return None
    cell = np.array([float(match[group]) for group in range(1, 7)])
    numbers = np.array([NUMBERS[atom[0]] for atom in atoms], dtype=np.int64)
    fractions = np.array([[float(value) for value in atom[3:6]] for atom in atoms])
    for third in (1 / 3, 2 / 3):
        fractions[np.abs(fractions / third - 1) <= 1e-4] = third
    fractions %= 1.0
    near = 0
    for start in range(0, len(fractions), _AT_ONCE):
        apart = fractions[start : start + _AT_ONCE, None] - fractions
        near += int((np.abs(apart - np.rint(apart)) < _ONE_SITE).all(-1).sum())
    return None if near > len(fractions) else Crystal(id, cell[:3], cell[3:], numbers, fractions)


def _crystals_by_pymatgen(text: str, id: str) -> list[Crystal | str]:
    from pymatgen.io.cif import CifParser

    results: list[Crystal | str] = []
    # Each data block with atoms is parsed on its own, so that a bad one does not spoil the others.
    blocks = [f"data_{block}" for block in re.split(r"^\s*data_", f"\n{text}", flags=re.MULTILINE)[1:]]
    for block in (block for block in blocks if "_atom_site_" in block):
        if fault := _fault_of_cell(block):
            results.append(fault)
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                parser = CifParser.from_str(block, check_cif=False)
                heavy = any(_HEAVY.match(symbol) for data in parser.as_dict().values() for symbol in _symbols(data))
                structures = parser.parse_structures(primitive=False, on_error="raise")
        # Users have all kinds of files, and the parser may raise anything. The row reports the reason.
        except Exception as error:
            lines = [line for line in str(error).splitlines() if line and not line.startswith("No structure parsed")]
            results.append(f"does not parse: {(lines or [type(error).__name__])[0][:200]}")
        else:
            reason = "deuterium or tritium (D, T), which is not told from hydrogen here; write H if you mean that"
            results += [reason if heavy else crystal_of_structure(structure, id) for structure in structures]
    return results or ["does not parse: no data block with atoms"]


def _symbols(data: Mapping[str, Any]) -> Sequence[str]:
    """Return what a block of a CIF file calls the elements of its atoms."""
    found: str | Sequence[str] = data.get("_atom_site_type_symbol") or data.get("_atom_site_label") or ()
    return [found] if isinstance(found, str) else found


def _fault_of_cell(block: str) -> str:
    """Return what is wrong with the cell of a block, if it has all six numbers: pymatgen accepts any six."""
    found = {name: float(value) for name, value in _CELL_ITEM.findall(block)}
    values = np.array([found[name] for name in sorted(found, key=lambda name: not name.startswith("length"))])
    return fault_of_cell(values[:3], values[3:]) if len(values) == 6 else ""
