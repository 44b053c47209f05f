"""Which crystals are new: the first of their kind (unique), and unlike those of the training set (novel).

Two crystals of the same reduced formula are the same if the StructureMatcher of pymatgen says so with its default
tolerances: 0.2 for lengths (as a share), 0.3 for sites (as a share of the mean free length per atom) and 5 degrees for
angles, after scaling both primitive cells to one volume. This is not an equivalence: A may be like B, and B like C, but
A unlike C. Crystals are of one kind if such a chain connects them, so the number of kinds does not depend on their
order. Two that such a chain connects already need no comparison, as long as all of the chain counts.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import gcd
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import DisjointSet

from pipeline.crystals.comparing import Library, Question
from pipeline.crystals.crystal import Crystal, Key, key_of
from pipeline.store.journal import Journal

Formula = tuple[tuple[int, int], ...]


class Match(NamedTuple):
    """The places of earlier crystals that are the same as a crystal, and whether none of the training set is.

    Exact copies of a crystal share its match, and `original` is its place. If `like` is None, and not just empty, the
    comparison failed, and the reason says why. `known` is the id of the first training structure that is the same.
    """

    original: int = -1
    like: tuple[int, ...] | None = None
    novel: bool = False
    reason: str = ""
    known: str = ""


class Matches:
    """The match of each crystal by its place. Pairs of crystals are compared when it matters if they are the same."""

    def __init__(
        self,
        crystals: Sequence[Crystal | None],
        train: Sequence[Crystal],
        *,
        workers: int,
        seconds: float,
        finished: Journal | None = None,
    ) -> None:
        """Compare crystals with the training set, and each with the earlier ones until it is like one of them."""
        first: dict[Key | int, int] = {}  # the place of the first exact copy of each crystal
        keys = (place if crystal is None else key_of(crystal) for place, crystal in enumerate(crystals))
        self._originals = [first.setdefault(key, place) for place, key in enumerate(keys)]
        own = {place: crystals[place] for place in sorted(set(self._originals))}
        originals = {place: crystal for place, crystal in own.items() if crystal is not None}
        formulas = set(map(reduced_formula, originals.values()))
        known = [crystal for crystal in train if reduced_formula(crystal) in formulas]
        self._library = Library([*originals.values(), *known], workers=workers, seconds=seconds, finished=finished)
        self._cells = {place: self._library.number(crystal) for place, crystal in originals.items()}
        self._places = {cell: place for place, cell in self._cells.items()}
        reasons = {place: self._library.reasons.get(cell, "") for place, cell in self._cells.items()}
        self._found = {place: Match(reason=why) if why else Match(place, (), True) for place, why in reasons.items()}
        self._tested: dict[int, list[int]] = defaultdict(list)
        self._train = dict[int, str]()  # id by cell
        for crystal in known:
            self._train.setdefault(self._library.number(crystal), crystal.id)
        self._compare(list(self._questions(self._cells, list(self._train))))

    def __len__(self) -> int:
        return len(self._originals)

    def __getitem__(self, place: int) -> Match:
        return self._found.get(self._originals[place], Match())

    def __iter__(self) -> Iterator[Match]:
        return map(self.__getitem__, range(len(self)))

    def settle(self, among: Iterable[int]) -> None:
        """Compare until `like` connects all crystals of one kind at the given places, without the help of others."""
        places = {self._originals[place] for place in among}
        while questions := list(self._questions(places)):
            self._compare(questions)

    def _questions(self, among: Iterable[int], train: Sequence[int] = ()) -> Iterator[Question]:
        """Yield with which structures each crystal has to be compared: those of the training set, and earlier ones."""
        places, known = sorted(place for place in among if self[place].like is not None), np.array(train, dtype=int)
        kinds, groups = connected(self, places), defaultdict[int, list[int]](list)
        for place in places:
            groups[self._library.group(self._cells[place])].append(place)
        for group in groups.values():
            cells, roots = np.array([self._cells[place] for place in group]), np.array([kinds[one] for one in group])
            for number, cell in enumerate(cells.tolist()):
                apart = self._library.candidates(cell, cells[:number][roots[:number] != roots[number]])
                earlier = apart[~np.isin(apart, self._tested[group[number]])]
                question = Question(cell, self._library.candidates(cell, known).tolist(), earlier.tolist())
                if question.train or question.earlier:
                    yield question

    def _compare(self, questions: Sequence[Question]) -> None:
        for question, outcome in self._library.answers(questions):
            place = self._places[question.cell]
            if outcome.value is None:
                self._found[place] = Match(reason=outcome.reason)
                continue
            known, like = outcome.value
            tested, match = question.earlier, self._found[place]
            if known is not None:
                match = match._replace(novel=False, known=self._train[known])
            if like is not None:
                tested = tested[: tested.index(like) + 1]
                match = match._replace(like=(*(match.like or ()), self._places[like]))
            self._tested[place] += tested
            self._found[place] = match


def match_crystals(
    crystals: Sequence[Crystal | None],
    train: Sequence[Crystal],
    *,
    workers: int,
    seconds: float,
    finished: Journal | None = None,
) -> Matches:
    """Return the match of each crystal, found in worker processes with a time limit per crystal.

    What is in the journal of `finished` comparisons is not compared again.
    """
    return Matches(crystals, train, workers=workers, seconds=seconds, finished=finished)


def kinds_of(matches: Matches | Sequence[Match], among: Iterable[int]) -> dict[int, int]:
    """Return the place of the first crystal of its kind for each of the given places whose match is known.

    No other crystal counts: two crystals are not of one kind just because both are like a third that is not among them.
    """
    places = sorted(among)
    if isinstance(matches, Matches):
        matches.settle(places)
    known = [place for place in places if matches[place].like is not None]
    kinds, first = connected(matches, [matches[place].original for place in known]), dict[int, int]()
    return {place: first.setdefault(kinds[matches[place].original], place) for place in known}


def first_places(matches: Matches | Sequence[Match], among: Iterable[int]) -> set[int]:
    """Return the places of the first crystals of each kind, among those at the given places whose match is known."""
    return set(kinds_of(matches, among).values())


def connected(matches: Matches | Sequence[Match], originals: Iterable[int]) -> DisjointSet:
    """Return the kinds of crystals at the given places, by what is known of them."""
    kinds = DisjointSet(set(originals))
    for original in kinds:
        for other in matches[original].like or ():
            if other in kinds:
                kinds.merge(original, other)
    return kinds


def reduced_formula(crystal: Crystal) -> Formula:
    """Return the elements and their smallest whole ratio."""
    composition = crystal.composition
    divisor = gcd(*composition.values())
    return tuple((z, count // divisor) for z, count in composition.items())
