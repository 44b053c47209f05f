"""How much faster are pairs of crystals compared than by pymatgen's StructureMatcher on structures?

Both ways keep the reduced cells of a call, as a worker does after its start. Verdicts must be equal, or there is no
answer.
"""

from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any

from benchmarks.crystal_sets import training_structures, with_variants
from benchmarks.timing import Comparison, compare
from pipeline.crystals.alignment import same_crystal
from pipeline.crystals.comparing import reduced
from pipeline.crystals.crystal import Crystal, Key, key_of
from pipeline.crystals.matching import Formula, reduced_formula

Verdict = Callable[[Any, Any], bool]


def answers(count: int = 500) -> list[Comparison]:
    """Compare both ways on training structures, moved ones and larger cells, against all training structures."""
    train = training_structures()
    crystals = with_variants(train, count)
    of_formula: dict[Formula, list[Crystal]] = defaultdict(list)
    for known in train:
        of_formula[reduced_formula(known)].append(known)
    pairs = list[tuple[Crystal, Crystal]]()
    for crystal in crystals:
        pairs += [(crystal, other) for other in of_formula[reduced_formula(crystal)]]
        of_formula[reduced_formula(crystal)].append(crystal)

    def verdicts(cell_of: Callable[[Crystal], Any], same: Verdict) -> list[bool]:
        cells, found = dict[Key, Any](), list[bool]()
        for pair in pairs:
            for crystal in pair:
                if (key := key_of(crystal)) not in cells:
                    cells[key] = cell_of(crystal)
            one, other = (cells[key] for key in sorted(map(key_of, pair)))
            found.append(one is not None and other is not None and (one is other or same(one, other)))
        return found

    before, now = verdicts(structure_of, alike), verdicts(reduced, same_crystal)
    if before != now:
        raise AssertionError("verdicts differ")
    return [
        compare(
            f"{len(crystals)} structures, {len(train)} to train",
            ("structures", lambda: verdicts(structure_of, alike)),
            ("arrays", lambda: verdicts(reduced, same_crystal)),
            note=f"{len(pairs)} pairs of one formula; equal verdicts; {sum(now)} pairs are alike",
        )
    ]


def structure_of(crystal: Crystal) -> Any:
    """Return the reduced structure of a crystal by pymatgen; None if there is none."""
    try:
        return crystal.structure().get_reduced_structure(reduction_algo="niggli").get_primitive_structure()
    except ValueError:
        return None


def alike(first: Any, second: Any) -> bool:
    """Return whether pymatgen finds two reduced structures to be the same."""
    return len(first) == len(second) and bool(_matcher().fit(first, second, skip_structure_reduction=True))


@cache
def _matcher() -> Any:
    from pymatgen.analysis.structure_matcher import StructureMatcher

    return StructureMatcher()
