"""Validity exactly as the peers count it: CDVAE (Xie et al., 2022), and DiffCSP and FlowMM, which took over its loop.

The published figures come from this loop with SMACT 2.2.1. It differs from :mod:`pipeline.crystals.validity`:

- An element without an electronegativity (He, Ne, Ar, Pm, Rn) is an error in SMACT's test of ions. The loop takes the
  error as a pass, so compounds of Pm and Rn may be valid; the others have no oxidation states. Here none is.
- The test looks at pairs of ions in the order of atomic numbers, and ends at the first pair that decides. So whether
  the error is reached depends on the charges: a pair with equal signs fails first.
- SMACT 2.2.1 lets iridium be -2, later releases -3.
- Beyond ten million combinations of oxidation states, DiffCSP and FlowMM count a composition as not valid.
- Two atoms at exactly 0.5 A are valid, and so are an atom's own images at any distance.
- A crystal whose structure has no fingerprint is not valid as a whole.

FlowMM replaces a cell with an angle outside 50 to 130 degrees by a single atom, which passes both tests. That is not
done here.
"""

import math
from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.validity import (
    SHORTEST_DISTANCE,
    SMALLEST_VOLUME,
    States,
    electronegativities,
    neutral,
    only_metals,
    oxidation_states,
    states_of_ions,
)

MOST_COMBINATIONS = 10**7
IRIDIUM = 77
_OF_IRIDIUM = (-2, -1, 1, 2, 3, 4, 5, 6, 7, 8)


def structural_valid_peers(crystal: Crystal) -> bool:
    """Return whether different atoms are 0.5 A apart or more, with images, in a cell of 0.1 A^3 at least."""
    try:
        structure = crystal.structure()
    except ValueError:
        return False  # the peers get a cell without volume
    if structure.volume < SMALLEST_VOLUME:
        return False
    distances = structure.distance_matrix
    np.fill_diagonal(distances, np.inf)
    return bool(distances.min() >= SHORTEST_DISTANCE)


def composition_valid_peers(composition: Mapping[int, int]) -> bool:
    """Return whether the elements, Z -> count, pass SMACT's test of 2014 as the peers run it."""
    divisor = math.gcd(*composition.values())
    return _valid(tuple(sorted((z, count // divisor) for z, count in composition.items())))


@cache
def _valid(composition: tuple[tuple[int, int], ...]) -> bool:
    numbers = [z for z, _ in composition]
    if len(numbers) == 1 or only_metals(numbers):
        return True
    states = {z: _OF_IRIDIUM if z == IRIDIUM else oxidation_states("smact14")[z] for z in numbers}
    if math.prod(map(len, states.values())) > MOST_COMBINATIONS:
        return False
    return any(neutral(composition, allowed) for allowed in _accepted(numbers, states))


def _accepted(numbers: list[int], states: States) -> Iterator[States]:
    """Yield the oxidation states of elements, in the order of Z, such that the loop accepts every combination."""
    known = electronegativities()
    first, *others = numbers
    strangers = [z for z in numbers if z not in known]
    if not strangers:
        yield from states_of_ions(numbers, states)
        return
    # The first pair with a stranger ends the test: an error, and so a pass, if the signs differ, or else a failure.
    # Before it come the pairs of the first element with those up to the stranger.
    deciding = others[0] if first in strangers else strangers[0]
    for sign in (1, -1):
        allowed = {z: list(states[z]) for z in numbers}
        allowed[first] = [one for one in states[first] if one * sign > 0]
        allowed[deciding] = [one for one in states[deciding] if one * sign < 0]
        for z in others[: others.index(deciding)]:
            if (known[first] - known[z]) * sign >= 0:  # the cation is not the less electronegative of the two
                allowed[z] = [one for one in states[z] if one * sign >= 0]
        yield allowed
