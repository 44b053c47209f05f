"""Templates: which tokens of a crystal are given, from a formula or from a structure.

A template fixes tokens at some positions of a crystal, and says which kind every position has. A sampler keeps the
fixed tokens (:class:`pipeline.flow.clamp.Clamp`). The number of atoms is always given.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from pipeline.crystals import tokens as crystal_tokens
from pipeline.crystals.crystal import Crystal, Floats
from pipeline.crystals.elements import LAST
from pipeline.errors import KinoflowError
from pipeline.flow.clamp import Clamp

Value = TypeVar("Value")

PARTS = ("composition", "lattice", "sites")


@dataclass(frozen=True, eq=False)
class Exact:
    """What is kept of a structure, not rounded to tokens: its lengths and angles, and places of atoms by number."""

    lengths: Floats | None = None
    angles: Floats | None = None
    places: Mapping[int, Floats] = field(default_factory=dict)

    def restored(self, crystal: Crystal) -> Crystal:
        """Return a crystal with the exact values in place of the rounded ones."""
        fractions = crystal.fractions.copy()
        for atom, place in self.places.items():
            fractions[atom] = place
        if self.lengths is None or self.angles is None:
            return replace(crystal, fractions=fractions)
        return replace(crystal, fractions=fractions, lengths=self.lengths, angles=self.angles)


@dataclass(frozen=True, eq=False)
class Template:
    """Tokens [D], given where `fixed` bool[D] is true and masks elsewhere, and the `kinds` [D] of positions."""

    tokens: Tensor
    fixed: Tensor
    kinds: Tensor
    exact: Exact = field(default_factory=Exact)

    def with_elements(self, numbers: Sequence[int], generator: torch.Generator | None = None) -> "Template":
        """Return the template with elements Z for its first atoms that have none, or for random ones of these."""
        free = ((self.kinds == crystal_tokens.ELEMENT) & ~self.fixed).nonzero().squeeze(-1)
        if generator is not None:
            free = free[torch.randperm(len(free), generator=generator)]
        tokens, fixed = self.tokens.clone(), self.fixed.clone()
        tokens[free[: len(numbers)]] = crystal_tokens.FIRST_ELEMENT + torch.tensor(numbers, dtype=torch.int64) - 1
        fixed[free[: len(numbers)]] = True
        return replace(self, tokens=tokens, fixed=fixed)


def blank(atoms: int, max_atoms: int = 20) -> Template:
    """Return a template that fixes nothing but the number of atoms."""
    kinds = crystal_tokens.layout(atoms, max_atoms)
    fixed = kinds == crystal_tokens.PADDING
    return Template(torch.where(fixed, crystal_tokens.PAD, crystal_tokens.MASK), fixed, kinds)


def from_formula(formula: str, *, formula_units: int | None = None, max_atoms: int = 20) -> list[Template]:
    """Return templates that fix the elements: so many formula units, or each number of them that fits."""
    cells = cells_of(formula, formula_units=formula_units, max_atoms=max_atoms)
    return [blank(len(numbers), max_atoms).with_elements(numbers) for numbers in cells]


def cells_of(formula: str, *, formula_units: int | None = None, max_atoms: int = 20) -> list[list[int]]:
    """Return the Z of every atom, for so many formula units or for each number of them that fits."""
    unit = _elements_of(formula, max_atoms)
    if formula_units is not None and formula_units < 1:
        raise KinoflowError(f"formula_units: {formula_units}; give 1 or more")
    multiples = range(1, max_atoms // len(unit) + 1) if formula_units is None else [formula_units]
    if not multiples or len(unit) * multiples[-1] > max_atoms:
        count = len(unit) * (formula_units or 1)
        raise KinoflowError(f"formula {formula!r}: {count} atoms, but at most {max_atoms} are possible (max_atoms)")
    return [unit * multiple for multiple in multiples]


@dataclass(frozen=True)
class Kept:
    """The parts of a structure that are kept: its lattice or not, and the elements and the sites of some atoms.

    `all_atoms`: the elements or the sites of all atoms were asked for, so no other number of atoms is possible.
    """

    lattice: bool
    elements: list[int]
    sites: list[int]
    all_atoms: bool

    @classmethod
    def of(cls, keep: Collection[str], atoms: int) -> "Kept":
        """Return what words such as `lattice` or `sites:1-4,7` mean for a structure of so many atoms.

        >>> Kept.of(["composition", "sites:2-3"], atoms=3)
        Kept(lattice=False, elements=[0, 1, 2], sites=[1, 2], all_atoms=True)
        """
        if not keep:
            raise KinoflowError(f"keep: one or more of {', '.join(PARTS)} expected, nothing is given")
        chosen: dict[str, set[int]] = {part: set() for part in PARTS}
        for word in keep:
            part, colon, numbers = word.partition(":")
            if part not in PARTS or (colon and part == "lattice"):
                raise KinoflowError(
                    f"keep: one or more of {', '.join(PARTS)} expected, {word!r} is none of them; some atoms only: "
                    "composition:1-4 or sites:1-4,7"
                )
            chosen[part] |= _atoms_in(numbers, atoms, word) if colon else set(range(atoms))
        elements, sites = sorted(chosen["composition"]), sorted(chosen["sites"])
        return cls("lattice" in keep, elements, sites, bool({"composition", "sites"} & set(keep)))

    @property
    def atoms(self) -> list[int]:
        """The atoms of which anything is kept."""
        return sorted({*self.elements, *self.sites})


def from_structure(
    crystal: Crystal,
    keep: Collection[str],
    *,
    rounding: crystal_tokens.Rounding = "nearest",
    max_atoms: int = 20,
    atoms: int | None = None,
) -> Template:
    """Return a template that fixes parts of a crystal: `composition`, `lattice` (its cell), `sites` (coordinates).

    `composition:1-4` and `sites:1-4,7` keep those of some atoms, counted from 1. If another number of `atoms` is given,
    the atoms of which anything is kept come first.
    """
    kept = Kept.of(keep, len(crystal.numbers))
    count = len(crystal.numbers) if atoms is None else atoms
    order = list(range(count)) if count == len(crystal.numbers) else kept.atoms
    chosen = order or [0]  # a crystal of no atoms has no tokens
    part = replace(crystal, numbers=crystal.numbers[chosen], fractions=crystal.fractions[chosen])
    row = torch.from_numpy(crystal_tokens.encode(part, rounding, max_atoms))
    template = blank(count, max_atoms)
    fixed = template.fixed.clone()
    fixed[: crystal_tokens.CELL] = kept.lattice
    of_atoms = fixed[crystal_tokens.CELL :].view(-1, crystal_tokens.PER_ATOM)
    of_atoms[[order.index(atom) for atom in kept.elements], 0] = True
    of_atoms[[order.index(atom) for atom in kept.sites], 1:] = True
    places = {order.index(atom): np.asarray(crystal.fractions[atom]) % 1.0 for atom in kept.sites}
    exact = Exact(crystal.lengths, crystal.angles, places) if kept.lattice else Exact(places=places)
    return Template(torch.where(fixed, row, crystal_tokens.MASK), fixed, template.kinds, exact)


def batch(templates: Sequence[Template], count: int, *, noised: bool = False) -> tuple[Tensor, Clamp]:
    """Return the kinds [count, D] and the clamp for `count` samples, spread evenly over the templates in order."""
    chosen = spread(templates, count)
    kinds, tokens, fixed = (
        torch.stack([getattr(template, part) for template in chosen]) for part in ("kinds", "tokens", "fixed")
    )
    return kinds, Clamp(tokens, fixed, noised)


def spread(values: Sequence[Value], count: int) -> list[Value]:
    """Return `count` of the values in their order, each about as often.

    >>> spread("abc", 7)
    ['a', 'a', 'a', 'b', 'b', 'c', 'c']
    """
    return [values[number * len(values) // count] for number in range(count)]


def _atoms_in(numbers: str, atoms: int, word: str) -> set[int]:
    """Return atoms, from 0, of text such as 1-4,7."""
    chosen: set[int] = set()
    for piece in numbers.split(","):
        first, dash, last = piece.partition("-")
        try:
            span = range(int(first), int(last if dash else first) + 1)
        except ValueError as error:
            raise KinoflowError(f"keep: {word!r} cannot be read; write it like sites:1-4,7") from error
        if not span or span[0] < 1 or span[-1] > atoms:
            raise KinoflowError(f"keep: {word!r}: the structure has the atoms 1 to {atoms}")
        chosen |= {number - 1 for number in span}
    return chosen


def check_symbols(formula: str) -> None:
    """Raise if a formula has a symbol that is no element."""
    from pymatgen.core import Element

    for symbol in re.findall("[A-Z][a-z]?", formula):
        if not Element.is_valid_symbol(symbol):
            raise KinoflowError(f"formula {formula!r}: {symbol} is no element from Z = 1 to {LAST}")


def _elements_of(formula: str, most: int) -> list[int]:
    """Return the Z of every atom of a formula such as NaCl or Ca(OH)2, with at most so many atoms of an element."""
    from pymatgen.core import Composition, DummySpecies

    try:
        composition = Composition(formula, strict=True)
    except (ValueError, TypeError, KeyError) as error:
        raise KinoflowError(f"formula {formula!r}: cannot be read ({error}); write it like Ca(OH)2") from error
    numbers: list[int] = []
    for species, amount in composition.items():
        if isinstance(species, DummySpecies) or species.Z > LAST:
            raise KinoflowError(f"formula {formula!r}: {species} is no element from Z = 1 to {LAST}")
        if not float(amount).is_integer():
            raise KinoflowError(f"formula {formula!r}: {amount} of {species}; give whole numbers of atoms")
        if amount > most:
            raise KinoflowError(f"formula {formula!r}: {amount:g} atoms, but at most {most} are possible (max_atoms)")
        numbers += [species.Z] * int(amount)
    if not numbers:
        raise KinoflowError(f"formula {formula!r}: no atoms; write it like Ca(OH)2")
    return numbers
