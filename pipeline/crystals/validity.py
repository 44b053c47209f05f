"""Whether a crystal could exist at all: its atoms keep apart, and its elements can be ions whose charges sum to zero.

Both rules are those of the Crystal Diffusion Variational Autoencoder (Xie et al., 2022), and later work kept them. Two
details are only in the code of that work: a cell below 0.1 A^3 is not valid, and single elements and alloys need not
be neutral. The rules here are as they are written. :mod:`pipeline.crystals.peers` has them as that code applies them,
and says where the two differ.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.crystals.crystal import Crystal, Floats
from pipeline.crystals.elements import SYMBOLS

if TYPE_CHECKING:
    from pymatgen.core import Lattice

SHORTEST_DISTANCE = 0.5  # A
SMALLEST_VOLUME = 0.1  # A^3
ROUNDING = 1e-8  # A; tokens often put atoms exactly 0.5 A apart, and the last digit must not decide
RULES = ("smact14", "default")

States = Mapping[int, Sequence[int]]  # the oxidation states of each Z


def structural_valid(crystal: Crystal) -> bool:
    """Return whether all atoms, with their periodic images, are more than 0.5 A apart, in a cell of 0.1 A^3 at least.

    An atom's own images count, so no lattice vector may be that short either. The peers' own check takes a distance of
    exactly 0.5 A and images of the same atom for valid: `structural_valid_peers`.
    """
    try:
        structure = crystal.structure()
    except ValueError:
        return False  # there is no such cell
    lattice, radius = structure.lattice.get_lll_reduced_lattice(), SHORTEST_DISTANCE + ROUNDING
    if structure.volume < SMALLEST_VOLUME or min(lattice.abc) <= radius:
        return False  # before counting neighbours: a thin cell has very many
    return _neighbours(lattice, structure.cart_coords, radius) == len(structure)  # each atom finds itself alone


def _neighbours(lattice: "Lattice", places: Floats, radius: float) -> int:
    """Return how many atoms and images of atoms are within a radius of the atoms at places [a, 3], these included.

    Time and memory do not grow with the volume of the cell, as in pymatgen's neighbour list, which divides the cell
    into cubes of the radius. The lattice must be reduced: it is then not thin, and few images are next to its faces.
    """
    from scipy.spatial import cKDTree

    fractions: Floats = lattice.get_fractional_coords(places) % 1.0
    images = fractions
    for axis, spacing in enumerate(1 / np.linalg.norm(lattice.inv_matrix, axis=0)):
        margin = radius / spacing
        shifts = np.arange(-math.ceil(margin), math.ceil(margin) + 1)[:, None, None] * np.eye(3)[axis]
        images = (images + shifts).reshape(-1, 3)
        images = images[(images[:, axis] >= -margin) & (images[:, axis] < 1 + margin)]
    atoms, around = (cKDTree(lattice.get_cartesian_coords(points)) for points in (fractions, images))
    return int(atoms.count_neighbors(around, radius))


def composition_valid(composition: Mapping[int, int], rule: str) -> bool:
    """Return whether the elements, Z -> count, pass the test of SMACT (Davies et al., 2019).

    There must be oxidation states, one for each element, such that the charges sum to zero and every anion is more
    electronegative than every cation. Rule "smact14" takes the states of SMACT's first release (2014), as published
    numbers do. "default" takes those of SMACT 4 itself (seen at least three times in the ICSD of 2024). Alloys and
    single elements are valid, but no compound of an element whose states or electronegativity are not known. The loop
    with which the peers apply "smact14" finds other compounds of such elements valid: `composition_valid_peers`.
    """
    divisor = math.gcd(*composition.values())
    return _valid(tuple(sorted((z, count // divisor) for z, count in composition.items())), rule)


@cache
def _valid(composition: tuple[tuple[int, int], ...], rule: str) -> bool:
    states, known = oxidation_states(rule), electronegativities()
    numbers = [z for z, _ in composition]
    if len(numbers) == 1 or only_metals(numbers):
        return True
    if any(z not in known or not states.get(z) for z in numbers):
        return False
    return any(neutral(composition, allowed) for allowed in states_of_ions(numbers, states))


def states_of_ions(numbers: Iterable[int], states: States) -> Iterator[States]:
    """Yield the oxidation states of elements such that every anion is more electronegative than every cation.

    The least electronegative anion splits the elements: below it, none is an anion; from it on, none is a cation.
    """
    known = {z: electronegativities()[z] for z in numbers}
    for lowest_anion in {*known.values(), math.inf}:
        signs = {z: 1 if value < lowest_anion else -1 for z, value in known.items()}
        yield {z: [state for state in states[z] if state * sign >= 0] for z, sign in signs.items()}


def neutral(composition: Iterable[tuple[int, int]], states: States) -> bool:
    """Return whether the charges of (Z, count) can sum to zero.

    Every sum is followed once, however many combinations of states lead to it. smact's own function tries all
    combinations, which takes hours for a dozen elements.
    """
    charges = {0}
    for z, count in composition:
        charges = {charge + count * state for charge in charges for state in states[z]}
    return 0 in charges


def only_metals(numbers: Iterable[int]) -> bool:
    """Return whether all elements are metals; their alloys need not be neutral."""
    import smact

    return all(SYMBOLS[z - 1] in smact.metals for z in numbers)


@cache
def oxidation_states(rule: str) -> dict[int, tuple[int, ...]]:
    """Return the oxidation states of each Z."""
    from smact.utils.oxidation import ICSD24OxStatesFilter

    if rule == "smact14":
        return {z: tuple(element.oxidation_states_smact14 or ()) for z, element in _elements().items()}
    if rule == "default":
        table = ICSD24OxStatesFilter().filter(consensus=3, include_zero=False, commonality="low")
        of_symbol = {row.element: tuple(map(int, str(row.oxidation_state).split())) for row in table.itertuples()}
        return {z: of_symbol.get(element.symbol, ()) for z, element in _elements().items()}
    raise ValueError(f"unknown rule {rule!r}; there are {', '.join(RULES)}")


@cache
def electronegativities() -> dict[int, float]:
    """Return the Pauling electronegativity of each Z that has one."""
    return {z: float(one.pauling_eneg) for z, one in _elements().items() if one.pauling_eneg is not None}


@cache
def _elements() -> dict[int, Any]:
    import smact

    return {int(element.number): element for element in smact.element_dictionary().values()}
