"""What generated crystals must meet: which elements, how many atoms, and whether charges can sum to zero."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.crystals import tokens as crystal_tokens
from pipeline.crystals.elements import LAST, NUMBERS, SYMBOLS
from pipeline.crystals.validity import composition_valid
from pipeline.errors import KinoflowError

RULE = "smact14"  # of charge neutrality, as in the tables


@dataclass(frozen=True)
class Limits:
    """Crystals consist of `elements` only, contain all that are `required`, and have one of the `sizes` in atoms.

    Elements are numbers Z. If they are those of a chemical system, `system` is its name. `neutral` crystals pass the
    test of SMACT, in which single elements and alloys count as neutral.
    """

    elements: frozenset[int]
    required: frozenset[int]
    sizes: range
    neutral: bool
    system: str = ""

    @classmethod
    def of(
        cls,
        *,
        max_atoms: int,
        chemical_system: str | None = None,
        elements: Sequence[str] = (),
        exclude: Sequence[str] = (),
        atoms: str | None = None,
        charge_neutral: bool = False,
    ) -> "Limits":
        """Return the limits that the flags of the same names set.

        >>> limits = Limits.of(max_atoms=20, chemical_system="Li-P-S", exclude=["P"], atoms="4-12")
        >>> sorted(limits.elements), limits.sizes
        ([3, 16], range(4, 13))
        """
        system = None if chemical_system is None else _elements_in("chemical-system", [chemical_system])
        excluded, required = _elements_in("exclude", exclude), _elements_in("elements", elements)
        allowed = frozenset(range(1, LAST + 1) if system is None else system) - excluded
        if not allowed:
            named = "" if chemical_system is None else f"--chemical-system {chemical_system} "
            raise KinoflowError(f"{named}--exclude {' '.join(exclude)}: no element is left; exclude fewer")
        if missing := required - allowed:
            wrong = SYMBOLS[min(missing) - 1]
            why = "--exclude" if missing & excluded else f"not in --chemical-system {chemical_system}"
            raise KinoflowError(f"--elements {' '.join(elements)}: {wrong} is required, but {why}; leave one out")
        sizes = _sizes_in(atoms, max_atoms)
        if len(required) > sizes[-1]:
            many = f"{len(required)} elements do not fit into {sizes[-1]} atoms"
            raise KinoflowError(f"--elements {' '.join(elements)}: {many}; require fewer or allow more atoms (--atoms)")
        return cls(allowed, required, sizes, charge_neutral, chemical_system or "")

    def tokens(self) -> Tensor | None:
        """Return which tokens are within the limits, bool[K]; None: all are."""
        if len(self.elements) == LAST:
            return None
        possible = torch.ones(crystal_tokens.SIZE, dtype=torch.bool)
        possible[crystal_tokens.FIRST_ELEMENT : crystal_tokens.BEGIN] = False
        possible[[crystal_tokens.FIRST_ELEMENT + z - 1 for z in sorted(self.elements)]] = True
        return possible

    def fault_of(self, composition: Mapping[int, int]) -> str:
        """Return which limit a composition, Z -> count, breaks, or ''; the number of atoms is not looked at."""
        if foreign := composition.keys() - self.elements:
            return f"{SYMBOLS[min(foreign) - 1]} is not allowed (--chemical-system, --exclude)"
        if missing := self.required - composition.keys():
            return f"{SYMBOLS[min(missing) - 1]} is required (--elements)"
        if self.neutral and not composition_valid(composition, RULE):
            return "not charge-neutral by SMACT's oxidation states of 2014 (--charge-neutral)"
        return ""


def range_text(sizes: Sequence[int]) -> str:
    """Return numbers of atoms as users write them, such as 4-12."""
    return f"{sizes[0]}-{sizes[-1]}" if len(sizes) > 1 else str(sizes[0])


def _elements_in(flag: str, words: Sequence[str]) -> frozenset[int]:
    """Return the Z of elements that a flag names, in words such as `Li` or `Li-P-S`."""
    symbols = [symbol for word in words for symbol in word.split("-")]
    for symbol in symbols:
        if symbol not in NUMBERS:
            wrong = f"{symbol!r} is no element from Z = 1 (H) to {LAST} (Pu)"
            raise KinoflowError(f"--{flag} {' '.join(words)}: {wrong}; write symbols like Li-P-S")
    return frozenset(NUMBERS[symbol] for symbol in symbols)


def _sizes_in(atoms: str | None, max_atoms: int) -> range:
    """Return the numbers of atoms in text such as 8 or 4-12."""
    if atoms is None:
        return range(1, max_atoms + 1)
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", atoms.strip())
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last:
        raise KinoflowError(f"--atoms {atoms}: write a number or a range, like 8 or 4-12")
    if last > max_atoms:
        raise KinoflowError(f"--atoms {atoms}: at most {max_atoms} atoms are possible (max_atoms of the run's tokens)")
    return range(first, last + 1)
