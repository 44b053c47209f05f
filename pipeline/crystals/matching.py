"""Which crystals are new: the first of their kind (unique), and unlike those of the training set (novel).

Two crystals of the same reduced formula are the same if the StructureMatcher of pymatgen says so with its default
tolerances: 0.2 for lengths (as a share), 0.3 for sites (as a share of the mean free length per atom) and 5 degrees for
angles, after scaling both primitive cells to one volume. This is not an equivalence: A may be like B, and B like C, but
A unlike C. Crystals are of one kind if such a chain connects them, so the number of kinds does not depend on their
order.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import gcd
from typing import NamedTuple

from pipeline.crystals.alignment import same_crystal
from pipeline.crystals.crystal import Crystal, Key, key_of
from pipeline.crystals.reduction import Cell, reduced_cell
from pipeline.crystals.workers import run_tasks

Formula = tuple[tuple[int, int], ...]


class Match(NamedTuple):
    """The places of earlier crystals that are the same as a crystal, and whether none of the training set is.

    If one is, `known` is its id.
    Exact copies of a crystal share its match, and `original` is its place. If `like` is None, and not just empty, the
    comparison failed, and the reason says why.
    """

    original: int = -1
    like: tuple[int, ...] | None = None
    novel: bool = False
    reason: str = ""
    known: str = ""


class Comparison(NamedTuple):
    """A crystal and its place, the earlier crystals of the same formula and theirs, and those of the training set."""

    place: int
    crystal: Crystal
    earlier: Sequence[tuple[int, Crystal]]
    train: Sequence[Crystal]


class Matcher:
    """Tells whether two crystals are the same, and keeps their reduced cells for later calls."""

    def __init__(self) -> None:
        self._reduced: dict[Key, Cell | None] = {}

    def same(self, first: Crystal, second: Crystal) -> bool:
        """Return whether two crystals are the same; one whose cell cannot be reduced is like no other.

        The answer may depend on which comes first, as pymatgen's does, so they are sorted.
        """
        one, other = map(self.reduced, sorted((first, second), key=key_of))
        if one is None or other is None:
            return False
        return one is other or same_crystal(one, other)  # exact copies share their cell

    def reduced(self, crystal: Crystal) -> Cell | None:
        """Return the reduced cell of a crystal; None if there is none."""
        key = key_of(crystal)
        if key not in self._reduced:
            try:
                self._reduced[key] = reduced_cell(crystal)
            except ValueError:  # the lattice does not exist, or the reduction does not end
                self._reduced[key] = None
        return self._reduced[key]


def match_crystals(
    crystals: Sequence[Crystal | None], train: Sequence[Crystal], *, workers: int, seconds: float
) -> list[Match]:
    """Return the match of each crystal, found in worker processes with a time limit per crystal."""
    first: dict[Key | int, int] = {}  # the place of the first exact copy of each crystal
    keys = (place if crystal is None else key_of(crystal) for place, crystal in enumerate(crystals))
    originals = [first.setdefault(key, place) for place, key in enumerate(keys)]
    comparisons, found = comparisons_of(crystals, originals, train), dict[int, Match]()
    work = run_tasks(compare, comparisons, workers=workers, seconds=seconds, label="uniqueness", initialise=Matcher)
    for item, outcome in work:
        found[comparisons[item].place] = outcome.value or Match(reason=outcome.reason)
    return [found.get(original, Match()) for original in originals]


def first_places(matches: Sequence[Match], among: Iterable[int]) -> set[int]:
    """Return the places of the first crystals of each kind, among those at the given places whose match is known.

    No other crystal counts: two crystals are not of one kind just because both are like a third that is not among them.
    """
    from scipy.cluster.hierarchy import DisjointSet

    known = [place for place in sorted(among) if matches[place].like is not None]
    kinds = DisjointSet({matches[place].original for place in known})
    for original in kinds:
        for other in matches[original].like or ():
            if other in kinds:
                kinds.merge(original, other)
    first: dict[int, int] = {}
    for place in known:
        first.setdefault(kinds[matches[place].original], place)
    return set(first.values())


def comparisons_of(
    crystals: Sequence[Crystal | None], originals: Sequence[int], train: Sequence[Crystal]
) -> list[Comparison]:
    """Return what each crystal that is its own original has to be compared with."""
    of_formula: dict[Formula, list[Crystal]] = defaultdict(list)
    for known in train:
        of_formula[reduced_formula(known)].append(known)
    buckets: dict[Formula, list[tuple[int, Crystal]]] = defaultdict(list)
    for place, crystal in enumerate(crystals):
        if crystal is not None and originals[place] == place:
            buckets[reduced_formula(crystal)].append((place, crystal))
    return [
        Comparison(place, crystal, bucket[:count], of_formula.get(formula, []))
        for formula, bucket in buckets.items()
        for count, (place, crystal) in enumerate(bucket)
    ]


def compare(matcher: Matcher, comparison: Comparison) -> Match:
    """Return which of the other crystals a crystal is like."""
    if matcher.reduced(comparison.crystal) is None:
        return Match(reason="failed: the cell cannot be reduced")
    known = next((other.id for other in comparison.train if matcher.same(comparison.crystal, other)), None)
    return Match(
        comparison.place,
        tuple(place for place, other in comparison.earlier if matcher.same(comparison.crystal, other)),
        novel=known is None,
        known=known or "",
    )


def reduced_formula(crystal: Crystal) -> Formula:
    """Return the elements and their smallest whole ratio."""
    composition = crystal.composition
    divisor = gcd(*composition.values())
    return tuple((z, count // divisor) for z, count in composition.items())
