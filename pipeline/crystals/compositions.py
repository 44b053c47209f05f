"""Laws of numbers of atoms and of compositions: from the training set, and within a chemical system from all there are.

A composition is (Z, count) pairs in the order of Z.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations_with_replacement
from math import comb
from typing import TypeVar

import torch

from pipeline.crystals import tokens as crystal_tokens
from pipeline.crystals.elements import LAST
from pipeline.crystals.limits import Limits
from pipeline.tokens.token_data import TokenData, parts_of

Composition = tuple[tuple[int, int], ...]
Key = TypeVar("Key")

MOST = 100_000  # compositions that are listed, which takes some 5 seconds


def training_sizes(data: TokenData) -> Counter[int]:
    """Return how many training crystals have each number of atoms."""
    return Counter(size for rows in parts_of(data.train) for size in crystal_tokens.atoms_of(rows).tolist())


def training_compositions(data: TokenData) -> Counter[Composition]:
    """Return how many training crystals have each composition."""
    found: Counter[Composition] = Counter()
    for rows in parts_of(data.train):
        numbers = rows[:, crystal_tokens.CELL :: crystal_tokens.PER_ATOM] - crystal_tokens.FIRST_ELEMENT + 1
        distinct, counts = numbers.sort(dim=-1).values.unique(dim=0, return_counts=True)
        for row, count in zip(distinct.tolist(), counts.tolist(), strict=True):
            found[composition_of(Counter(z for z in row if z <= LAST))] += count
    return found


def composition_of(counts: Mapping[int, int]) -> Composition:
    """Return the composition of counts by Z, without those that are zero."""
    return tuple(sorted((z, count) for z, count in counts.items() if count))


def compositions(elements: Collection[int], atoms: int, least: Counter[int]) -> Iterator[Composition]:
    """Yield every composition of so many atoms with at least the given counts.

    >>> list(compositions([3, 16], 3, Counter({16: 1})))
    [((3, 2), (16, 1)), ((3, 1), (16, 2)), ((16, 3),)]
    """
    for further in combinations_with_replacement(sorted(elements), atoms - least.total()):
        yield composition_of(least + Counter(further))


def laws_of_compositions(
    limits: Limits, sizes: Collection[int], least: Counter[int], known: Counter[Composition]
) -> dict[int, dict[Composition, int]]:
    """Return the weights of the compositions of each size that are within the limits and have at least `least`.

    In a chemical system these are all compositions, with the weight 1 + their count in the training set (`known`).
    Without one, or if there are more than `MOST`, they are those of the training set, with their counts as weights.
    """
    sizes = [size for size in sizes if size >= least.total()]
    others = len(limits.elements) - 1
    listed = bool(limits.system) and sum(comb(size - least.total() + others, others) for size in sizes) <= MOST
    laws: dict[int, dict[Composition, int]] = {size: {} for size in sizes}
    if listed:
        for size in sizes:
            laws[size] = {one: 1 + known[one] for one in compositions(limits.elements, size, least)}
    else:
        for one, count in known.items():
            if (size := sum(number for _, number in one)) in laws and Counter(dict(one)) >= least:
                laws[size][one] = count
    within = {
        size: {one: weight for one, weight in law.items() if not limits.fault_of(dict(one))}
        for size, law in laws.items()
    }
    return {size: law for size, law in within.items() if law}


def draw(weights: Mapping[Key, int], count: int, generator: torch.Generator) -> list[Key]:
    """Return keys drawn with the given weights."""
    keys, numbers = list(weights), torch.tensor(list(weights.values()), dtype=torch.float64)
    return [keys[place] for place in torch.multinomial(numbers, count, replacement=True, generator=generator).tolist()]
