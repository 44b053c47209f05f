"""Which crystals are new: unlike those before them (unique), and unlike those of the training set (novel).

Two crystals are the same if the StructureMatcher of pymatgen says so with its default tolerances: 0.2 for lengths (as a
share), 0.3 for sites (as a share of the mean free length per atom) and 5 degrees for angles, after scaling both
primitive cells to one volume. Only crystals of one reduced formula are compared.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.workers import run_tasks

if TYPE_CHECKING:
    from pymatgen.core import Structure

Formula = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Match:
    """Whether a crystal is unique and novel; if that could not be found out it is neither, and the reason says why."""

    unique: bool
    novel: bool
    reason: str = ""


@dataclass(frozen=True)
class Comparison:
    """A crystal, the crystals of the same formula before it, and those of the training set."""

    crystal: Crystal
    earlier: Sequence[Crystal]
    train: Sequence[Crystal]


class Matcher:
    """Tells whether two crystals are the same, and keeps their reduced cells for the next question."""

    def __init__(self) -> None:
        from pymatgen.analysis.structure_matcher import StructureMatcher

        self._matcher = StructureMatcher()
        self._reduced: dict[tuple[bytes, ...], Structure | None] = {}

    def same(self, first: Crystal, second: Crystal) -> bool:
        """Return whether two crystals are the same; one whose cell cannot be reduced is like no other."""
        pair = self.reduced(first), self.reduced(second)
        if pair[0] is None or pair[1] is None or len(pair[0]) != len(pair[1]):
            return False
        return bool(self._matcher.fit(pair[0], pair[1], skip_structure_reduction=True))

    def reduced(self, crystal: Crystal) -> "Structure | None":
        """Return the primitive cell of the Niggli cell, as the matcher would; None if there is none."""
        key = tuple(part.tobytes() for part in (crystal.lengths, crystal.angles, crystal.numbers, crystal.fractions))
        if key not in self._reduced:
            try:
                niggli = crystal.structure().get_reduced_structure(reduction_algo="niggli")
                self._reduced[key] = niggli.get_primitive_structure()
            except ValueError:  # the lattice does not exist, or the reduction does not come to an end
                self._reduced[key] = None
        return self._reduced[key]


def unique_flags(crystals: Sequence[Crystal | None]) -> list[bool]:
    """Return for each crystal whether none before it is the same; None is not unique."""
    return [match.unique for match in _matches_here(crystals, [])]


def novel_flags(crystals: Sequence[Crystal | None], train: Sequence[Crystal]) -> list[bool]:
    """Return for each crystal whether none of the training set is the same; None is not novel."""
    return [match.novel for match in _matches_here(crystals, train)]


def match_crystals(
    crystals: Sequence[Crystal | None], train: Sequence[Crystal], *, workers: int, seconds: float
) -> list[Match]:
    """Return both flags for each crystal, found in worker processes with a time limit for each crystal."""
    matches = [Match(False, False, "") for _ in crystals]
    comparisons = comparisons_of(crystals, train)
    places, items = list(comparisons), list(comparisons.values())
    work = run_tasks(compare, items, workers=workers, seconds=seconds, label="uniqueness", initialise=Matcher)
    for item, outcome in work:
        matches[places[item]] = outcome.value or Match(False, False, outcome.reason)
    return matches


def comparisons_of(crystals: Sequence[Crystal | None], train: Sequence[Crystal]) -> dict[int, Comparison]:
    """Return what each crystal has to be compared with, by its place."""
    of_formula: dict[Formula, list[Crystal]] = defaultdict(list)
    for crystal in train:
        of_formula[reduced_formula(crystal)].append(crystal)
    places: dict[Formula, list[tuple[int, Crystal]]] = defaultdict(list)
    for place, crystal_or_none in enumerate(crystals):
        if crystal_or_none is not None:
            places[reduced_formula(crystal_or_none)].append((place, crystal_or_none))
    return {
        place: Comparison(crystal, [earlier for _, earlier in bucket[:count]], of_formula.get(formula, []))
        for formula, bucket in places.items()
        for count, (place, crystal) in enumerate(bucket)
    }


def compare(matcher: Matcher, comparison: Comparison) -> Match:
    """Return whether a crystal is unlike all that it has to be compared with."""
    if matcher.reduced(comparison.crystal) is None:
        return Match(False, False, "failed: the cell cannot be reduced")
    return Match(
        not any(matcher.same(comparison.crystal, other) for other in comparison.earlier),
        not any(matcher.same(comparison.crystal, other) for other in comparison.train),
    )


def reduced_formula(crystal: Crystal) -> Formula:
    """Return the elements and their smallest whole ratio."""
    composition = crystal.composition
    divisor = gcd(*composition.values())
    return tuple((z, count // divisor) for z, count in composition.items())


def _matches_here(crystals: Sequence[Crystal | None], train: Sequence[Crystal]) -> list[Match]:
    matcher = Matcher()
    matches = [Match(False, False)] * len(crystals)
    for place, comparison in comparisons_of(crystals, train).items():
        matches[place] = compare(matcher, comparison)
    return matches
