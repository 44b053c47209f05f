"""How much faster are crystals matched than by pymatgen's StructureMatcher on structures?

Both ways keep the reduced cells of a call, as a worker does after its start. Verdicts must be equal, or there is no
answer.
"""

from functools import cache
from typing import Any

from benchmarks.crystal_sets import training_structures, with_variants
from benchmarks.timing import Comparison, compare
from pipeline.crystals.crystal import Crystal, Key, key_of
from pipeline.crystals.matching import Match, Matcher, comparisons_of
from pipeline.crystals.matching import compare as match


class Before(Matcher):
    """The matcher as it was before the arrays."""

    def __init__(self) -> None:
        self._structures: dict[Key, Any] = {}

    def same(self, first: Crystal, second: Crystal) -> bool:
        """Return whether two crystals are the same."""
        pair = [self.reduced(crystal) for crystal in sorted((first, second), key=key_of)]
        if pair[0] is None or pair[1] is None or len(pair[0]) != len(pair[1]):
            return False
        return bool(_matcher().fit(pair[0], pair[1], skip_structure_reduction=True))

    def reduced(self, crystal: Crystal) -> Any:
        """Return the reduced structure of a crystal; None if there is none."""
        key = key_of(crystal)
        if key not in self._structures:
            try:
                niggli = crystal.structure().get_reduced_structure(reduction_algo="niggli")
                self._structures[key] = niggli.get_primitive_structure()
            except ValueError:
                self._structures[key] = None
        return self._structures[key]


def answers(count: int = 500) -> list[Comparison]:
    """Compare both ways on training structures, moved ones and larger cells, against all training structures."""
    train = training_structures()
    crystals = with_variants(train, count)
    comparisons = comparisons_of(crystals, range(len(crystals)), train)

    def matches(matcher: Matcher) -> list[Match]:
        return [match(matcher, comparison) for comparison in comparisons]

    verdicts = matches(Before())
    if verdicts != matches(Matcher()):
        raise AssertionError("verdicts differ")
    alike = sum(len(verdict.like or ()) for verdict in verdicts)
    pairs = sum(len(comparison.earlier) + len(comparison.train) for comparison in comparisons)
    return [
        compare(
            f"{len(crystals)} structures, {len(train)} to train",
            ("structures", lambda: matches(Before())),
            ("arrays", lambda: matches(Matcher())),
            note=f"up to {pairs} pairs of one formula; equal verdicts; {alike} pairs of the structures are alike",
        )
    ]


@cache
def _matcher() -> Any:
    from pymatgen.analysis.structure_matcher import StructureMatcher

    return StructureMatcher()
