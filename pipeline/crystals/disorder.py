"""Whether two crystals are the same, or order one disordered alloy in two ways, as MatterGen asks.

Two elements may take each other's place if their atomic radii differ by at most 30 % of the mean and their
electronegativities by at most 1: a modified rule of Hume-Rothery (Zeni et al., 2025; the limits are those of
`utils/structure_matcher.py` in microsoft/mattergen). Elements that may do so stand together on all their sites, each
with its share, and pymatgen's StructureMatcher compares the result.
"""

from itertools import combinations
from typing import TYPE_CHECKING

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.symmetry import space_group

if TYPE_CHECKING:
    from pymatgen.core import Element, Structure

RADII = 0.3  # largest difference, as a share of the mean
ELECTRONEGATIVITIES = 1.0  # largest difference


def alike_if_disordered(first: "Structure", second: "Structure") -> bool:
    """Return whether two ordered structures of one reduced formula are the same, or may be two orders of an alloy."""
    from pymatgen.analysis.structure_matcher import OrderDisorderElementComparator, StructureMatcher

    if _group(first) == _group(second) and StructureMatcher().fit(first, second):
        return True
    mixed = disordered(first)
    if mixed is None:
        return False
    matcher = StructureMatcher(attempt_supercell=True, allow_subset=True, comparator=OrderDisorderElementComparator())
    return bool(matcher.fit(mixed, second))


def disordered(structure: "Structure") -> "Structure | None":
    """Return a structure with all elements that may take each other's place mixed; None if no two may."""
    from pymatgen.core import Element

    kinds = {element: {element} for element in map(Element.from_Z, sorted(set(structure.atomic_numbers)))}
    for first, second in combinations(kinds, 2):
        if may_substitute(first, second) and kinds[first] is not kinds[second]:
            joined = kinds[first] | kinds[second]
            kinds |= dict.fromkeys(joined, joined)
    if all(len(kind) == 1 for kind in kinds.values()):
        return None
    counts = structure.composition
    shares = {
        element: {one: counts[one] / sum(counts[other] for other in kind) for one in kind}
        for element, kind in kinds.items()
    }
    mixed = structure.copy()
    for site, number in zip(mixed, structure.atomic_numbers, strict=True):
        site.species = shares[Element.from_Z(number)]
    return mixed


def may_substitute(first: "Element", second: "Element") -> bool:
    """Return whether two elements are alike enough to take each other's place; not if a number is not known."""
    one, other = first.atomic_radius, second.atomic_radius
    if one is None or other is None:
        return False
    apart = 2 * abs(one - other) / (one + other)
    return bool(apart <= RADII and abs(first.X - second.X) <= ELECTRONEGATIVITIES)  # X may be NaN


def _group(structure: "Structure") -> int:
    return space_group(Crystal.of("", structure))
