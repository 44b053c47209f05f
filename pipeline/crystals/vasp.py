"""VASP as the Materials Project uses it: the inputs of a relaxation, and the energy in its output."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.crystals.crystal import Crystal

if TYPE_CHECKING:  # importing pymatgen takes a second, and most commands do not need it
    from pymatgen.core import Composition
    from pymatgen.entries.computed_entries import ComputedEntry

SAME_FUNCTIONAL = {"PBE": "GGA", "PBE+U": "GGA+U"}  # VASP 6 writes out what VASP 5 takes from the potentials
OUTPUTS = ("vasprun.xml", "vasprun.xml.gz")


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


def parameters_of(composition: Composition) -> dict[str, Any]:
    """Return how the Materials Project computes a composition: functional, Hubbard U and potentials."""
    from pymatgen.io.vasp.sets import MPRelaxSet

    most = max(composition.elements, key=lambda element: element.X).symbol
    settings, potentials = MPRelaxSet.CONFIG["INCAR"]["LDAUU"].get(most, {}), MPRelaxSet.CONFIG["POTCAR"]
    symbols = [element.symbol for element in composition.elements]
    hubbards = {symbol: float(settings[symbol]) for symbol in symbols if settings.get(symbol)}
    return {
        "run_type": "GGA+U" if hubbards else "GGA",
        "hubbards": hubbards,
        "potcar_symbols": [f"PAW_PBE {potentials.get(symbol, symbol)}" for symbol in symbols],
    }


def output_in(folder: Path) -> Path | None:
    """Return the output of VASP in a folder, if there is one."""
    return next((folder / name for name in OUTPUTS if (folder / name).is_file()), None)


def read_output(path: Path) -> tuple[ComputedEntry | None, str]:
    """Return the entry of a finished relaxation, or the reason why there is none."""
    from pymatgen.io.vasp.outputs import Vasprun

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = Vasprun(path, parse_dos=False, parse_eigen=False, parse_potcar_file=False)
            if not run.converged_electronic:
                return None, "electronic steps not converged"
            if not run.converged_ionic:
                return None, "ionic steps not converged"
            entry = run.get_computed_entry(entry_id=path.parent.name)
            kind = entry.parameters["run_type"]
            entry.parameters["run_type"] = SAME_FUNCTIONAL.get(kind, kind)
        except Exception as error:  # a file may be cut off or broken anywhere, and pymatgen may raise anything
            message = (str(error).splitlines() or [""])[0]
            return None, f"unreadable {path.name}: {type(error).__name__}: {message}"
    if not math.isfinite(entry.energy):
        return None, "energy not finite"
    return entry, ""
