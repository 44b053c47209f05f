"""The Materials Project's corrections of PBE and PBE+U energies; without them, the two cannot be mixed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.energies import elemental_energies, symbols_of

if TYPE_CHECKING:  # importing pymatgen takes a second, and most commands do not need it
    from pymatgen.analysis.compatibility import MaterialsProject2020Compatibility
    from pymatgen.core import Composition
    from pymatgen.entries.computed_entries import ComputedEntry

ANIONS = ("Br", "I", "Se", "Si", "Sb", "Te", "H", "N", "F", "Cl")  # corrected in 2020 where they are anions
SCHEME = "MP2020 as published"  # what tables call it
MOST_SITES = 20  # in a formula whose oxidation states are guessed, as in the scheme of 2020


def corrected_energy(entry: ComputedEntry) -> tuple[float, str]:
    """Return an entry's energy in eV/atom with the corrections of 2020, or NaN and the reason why it has none.

    Existing corrections of the entry are replaced. Its parameters must have the `run_type` and `hubbards` of its
    calculation. If they name potentials, these are compared with those of the Materials Project.
    """
    from pymatgen.analysis.compatibility import CompatibilityError

    names_potentials = any(entry.parameters.get(key) for key in ("potcar_symbols", "potcar_spec"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about oxidation states that cannot be guessed; the scheme has a rule
        try:
            processed = _scheme(names_potentials).process_entry(entry, inplace=False, clean=True, on_error="raise")
        except CompatibilityError as error:
            return math.nan, f"incompatible: {_cause(entry, str(error))}"
    assert processed is not None  # with on_error="raise", a refusal is an exception
    return float(processed.energy_per_atom), ""


def corrected(crystal: Crystal, energy_per_atom: float) -> tuple[float, str]:
    """Return a raw energy of PBE or PBE+U with the corrections of 2020, in eV/atom, or NaN and the reason why not.

    Which of the two it is, and with which U, is what the Materials Project would take for the composition: models that
    are trained on its raw energies have learnt these. The structure tells oxides, peroxides and superoxides apart.
    """
    from pymatgen.entries.computed_entries import ComputedStructureEntry

    structure = crystal.structure()
    parameters = parameters_of(structure.composition)
    entry = ComputedStructureEntry(structure, energy_per_atom * len(structure), parameters=parameters)
    return corrected_energy(entry)


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


def _cause(entry: ComputedEntry, message: str) -> str:
    """Return why an entry cannot be mixed with others, in the same words every time."""
    if (kind := entry.parameters.get("run_type")) not in ("GGA", "GGA+U"):
        return f"computed with {kind}, not with GGA or GGA+U"
    if "POTCAR" in message:  # the message names them in any order
        return "not the potentials of the Materials Project"
    return message.splitlines()[0].partition(" for {")[0]


def change_of_2020(composition: Composition) -> float:
    """Return how much a formation energy changes from the corrections of 2011 to those of 2020, in eV/atom.

    Those of 2011 correct oxides, sulfides and PBE+U, and the elements H, N, F and Cl. Those of 2020 correct all anions
    and PBE+U, and no element. Peroxides and superoxides are taken as oxides; the two schemes agree on them to 0.02 eV
    per O. For the 13,883 formulas that MP-20 (part) also has, this reduces the mean absolute difference between the
    published formation energies and those of MP-20 from 0.045 to 0.010 eV/atom.
    """
    old, new = _figures()
    counts = {element.symbol: float(amount) for element, amount in composition.items()}
    most = max(composition.elements, key=lambda element: element.X).symbol
    change = sum(count * old.elements.get(symbol, 0.0) for symbol, count in counts.items())  # no longer subtracted
    for symbol in ("O", "S"):
        change += counts.get(symbol, 0.0) * (new.anions[symbol] - old.anions[symbol])
    for symbol, correction in new.hubbards.get(most, {}).items():
        change += counts.get(symbol, 0.0) * (correction - old.hubbards[most][symbol])
    present = [symbol for symbol in ANIONS if symbol in counts]
    states = _oxidation_states(composition) if set(present) - {most} else {}
    for symbol in present:
        if symbol == most or states.get(symbol, 0.0) < 0:
            change += counts[symbol] * new.anions[symbol]
    return change / sum(counts.values())


class Figures(NamedTuple):
    """Corrections in eV per atom: for pure elements, for anions, and (by anion) for metals with a Hubbard U."""

    elements: Mapping[str, float]
    anions: Mapping[str, float]
    hubbards: Mapping[str, Mapping[str, float]]


# A. Jain et al., Phys. Rev. B 84, 045115 (2011), and oxides and sulfides as the Materials Project used them until 2020.
_ELEMENTS_OF_2011 = {1: -3.23973666138, 7: -7.95247218762, 9: -1.42055013381, 17: -1.25385097674}  # eV/atom, by Z
_METALS_OF_2011 = {"V": -1.682, "Cr": -2.013, "Mn": -1.68085015096, "Fe": -2.733, "Co": -1.874, "Ni": -2.164}
_METALS_OF_2011 |= {"Mo": -3.531, "W": -4.351}


@cache
def _figures() -> tuple[Figures, Figures]:
    """Return the corrections of 2011 and of 2020."""
    references, scheme = elemental_energies(), _scheme(False)
    elements = {symbols_of([z]): energy - references[z] for z, energy in _ELEMENTS_OF_2011.items()}
    old = Figures(elements, {"O": -0.70229, "S": -0.66346}, dict.fromkeys(("O", "F"), _METALS_OF_2011))
    anions = scheme.comp_correction | {"O": scheme.comp_correction["oxide"]}
    return old, Figures({}, anions, scheme.u_corrections)


def _oxidation_states(composition: Composition) -> Mapping[str, float]:
    try:
        guesses = composition.oxi_state_guesses(max_sites=-MOST_SITES)
    except ValueError:  # the formula has more sites
        return {}
    return guesses[0] if guesses else {}


@cache
def _scheme(check_potentials: bool) -> MaterialsProject2020Compatibility:
    """Return the scheme as it was published: every element in a negative state of oxidation is an anion.

    Releases of pymatgen since May 2024 take only states of -1 or less unless told otherwise, and leave the Te of NbTe4
    without its correction. The energies of MP-20, of which our hull is made, and those that CHGNet has learnt have it:
    in five compounds of MP-20 where it matters, SevenNet is off by 0.006 eV/atom with it and by 0.26 without.
    """
    from pymatgen.analysis.compatibility import MaterialsProject2020Compatibility

    return MaterialsProject2020Compatibility(check_potcar=check_potentials, strict_anions="no_check")
