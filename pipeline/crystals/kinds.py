"""Which crystals are unlike the earlier ones and unlike known ones, by any test of whether two are alike.

This is for protocols with a matcher or an order of their own. A crystal is unique if it is unlike all unique ones
before it, so the answer depends on the order, as it does where these protocols come from. Crystals with the same
reduced formula are compared in one worker process, with a time limit for all of them.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from functools import partial
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

from pipeline.crystals.crystal import Crystal, key_of
from pipeline.crystals.protocols import ProtocolEvidence
from pipeline.crystals.workers import run_tasks

if TYPE_CHECKING:
    from pymatgen.core import Structure

Alike = Callable[["Structure", "Structure"], bool]  # a function of a module, so that workers find it


class Group(NamedTuple):
    """Crystals of a formula by their places in order, the wanted places, and known crystals of the formula."""

    crystals: dict[int, Crystal]
    wanted: frozenset[int]
    known: tuple[Crystal, ...]


def unique_and_novel(
    evidence: ProtocolEvidence, among: Collection[int], wanted: Collection[int], test: Alike
) -> set[int]:
    """Return the wanted places whose crystals are unique among those at some places, and unlike all known ones.

    `test` tells whether two structures are alike. A crystal that is not there, or that takes too long, is neither.
    """
    groups = groups_of(evidence.crystals, sorted(among), set(wanted), evidence.train or ())
    found: set[int] = set()
    work = partial(run_tasks, workers=evidence.workers, seconds=evidence.seconds, label="protocol")
    for _, outcome in work(partial(_new_of, test), groups) if groups else ():
        found |= set(outcome.value or ())
    return found


def groups_of(
    crystals: Sequence[Crystal | None], among: Sequence[int], wanted: set[int], known: Sequence[Crystal]
) -> list[Group]:
    """Return the groups by reduced formula that have a wanted crystal; of exact copies, only the first counts."""
    first = dict[object, int]()
    members: dict[object, dict[int, Crystal]] = defaultdict(dict)
    for place in among:
        crystal = crystals[place]
        if crystal is not None and first.setdefault(key_of(crystal), place) == place:
            members[_formula(crystal)][place] = crystal
    of_formula: dict[object, list[Crystal]] = defaultdict(list)
    for crystal in known:
        of_formula[_formula(crystal)].append(crystal)
    return [
        Group(group, frozenset(wanted & group.keys()), tuple(of_formula.get(formula, ())))
        for formula, group in members.items()
        if wanted & group.keys()
    ]


def alike(first: "Structure", second: "Structure") -> bool:
    """Return whether pymatgen's StructureMatcher with its default tolerances finds two structures the same."""
    from pymatgen.analysis.structure_matcher import StructureMatcher

    return bool(StructureMatcher().fit(first, second))


def _new_of(test: Alike, group: Group) -> list[int]:
    known = [crystal.structure() for crystal in group.known]
    unique: dict[int, Structure] = {}
    for place, crystal in group.crystals.items():
        structure = crystal.structure()
        if not any(test(structure, other) for other in unique.values()):
            unique[place] = structure
    return [
        place
        for place, structure in unique.items()
        if place in group.wanted and not any(test(structure, other) for other in known)
    ]


def _formula(crystal: Crystal) -> object:
    composition = crystal.composition
    divisor = gcd(*composition.values())
    return tuple((z, count // divisor) for z, count in composition.items())
