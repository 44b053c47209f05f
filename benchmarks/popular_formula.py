"""How much less time does matching take where many crystals have one formula than with all pairs compared in full?

Before, each crystal was compared with all earlier ones and all training structures of its formula. Verdicts must be
equal, or there is no answer: what is novel, and the kinds among all crystals and among every second one.
"""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import gcd

import numpy as np

from benchmarks.crystal_sets import training_structures, with_variants
from benchmarks.timing import Comparison, children, compare
from pipeline.crystals.alignment import same_crystal
from pipeline.crystals.comparing import reduced
from pipeline.crystals.crystal import Crystal, key_of
from pipeline.crystals.matching import Formula, Match, Matches, kinds_of, match_crystals, reduced_formula
from pipeline.crystals.reduction import Cell

ELEMENTS = (38, 22, 8)  # Sr, Ti, O


def answers(count: int = 2000, popular: int = 500) -> list[Comparison]:
    """Compare both ways on variants of training structures, `popular` of them with one formula."""
    train = training_structures()
    crystals = [*with_variants(train, count - popular), *with_variants(of_one_formula(train), popular)]
    found = dict[str, Sequence[Match] | Matches]()

    def before() -> None:
        found["before"] = in_full(crystals, train)

    def now() -> None:
        found["now"] = match_crystals(crystals, train, workers=1, seconds=600)

    answer = compare(
        f"{len(crystals)} structures, {popular} of one formula, {len(train)} to train",
        ("all pairs in full", before),
        ("screened, until connected", now),
        repeats=1,
        clock=lambda: time.process_time() + children(),
        rehearse=False,
    )
    novel = [[match.novel for match in matches] for matches in found.values()]
    kinds, half = ([kinds_of(one, range(0, len(crystals), step)) for one in found.values()] for step in (1, 2))
    if any(before != now for before, now in (novel, kinds, half)):
        raise AssertionError("verdicts differ")
    return [replace(answer, note=f"equal verdicts; {len(set(kinds[0].values()))} kinds")]


def of_one_formula(structures: Sequence[Crystal]) -> list[Crystal]:
    """Return the structures of the most frequent ratio of three elements, all with the same elements."""
    by_ratio: dict[tuple[int, ...], list[Crystal]] = defaultdict(list)
    for one in structures:
        counts = one.composition
        if len(counts) == len(ELEMENTS):
            order = sorted(counts, key=lambda z: (counts[z], z))
            numbers = np.array([ELEMENTS[order.index(z)] for z in one.numbers.tolist()])
            ratio = tuple(counts[z] // gcd(*counts.values()) for z in order)
            by_ratio[ratio].append(Crystal(one.id, one.lengths, one.angles, numbers, one.fractions))
    return max(by_ratio.values(), key=len)


def in_full(crystals: Sequence[Crystal], train: Sequence[Crystal]) -> list[Match]:
    """Return the match of each crystal by comparisons of all pairs of a formula."""
    cells = {key_of(one): reduced(one) for one in [*crystals, *train]}
    buckets: dict[Formula, list[tuple[int, Crystal]]] = defaultdict(list)
    known: dict[Formula, list[Crystal]] = defaultdict(list)
    for one in train:
        known[reduced_formula(one)].append(one)
    matches = []
    for place, one in enumerate(crystals):
        formula = reduced_formula(one)
        like = tuple(earlier for earlier, other in buckets[formula] if _same(cells, one, other))
        novel = not any(_same(cells, one, other) for other in known[formula])
        matches.append(Match(place, like, novel))
        buckets[formula].append((place, one))
    return matches


def _same(cells: dict[tuple[bytes, ...], Cell | None], *pair: Crystal) -> bool:
    """Return whether two crystals are the same, each way of laying them over each other tried in full."""
    first, second = (cells[key] for key in sorted(map(key_of, pair)))
    if first is None or second is None or sorted(first.numbers.tolist()) != sorted(second.numbers.tolist()):
        return False
    return first is second or same_crystal(first, second, screened=False)
