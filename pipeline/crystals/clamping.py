"""Templates for generation with some parts given, such as a composition, a lattice or sites.

A template fixes tokens at some positions of a crystal, and says which kind every position has. A sampler keeps the
fixed tokens (:class:`pipeline.flow.sampler.Clamp`). The number of atoms is always given.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.elements import LAST
from pipeline.crystals.tokens import (
    ANGLE,
    ELEMENT,
    FIRST_ELEMENT,
    FRACTION,
    LENGTH,
    MASK,
    PAD,
    PADDING,
    Rounding,
    encode,
    layout,
)
from pipeline.errors import KinoflowError
from pipeline.flow.sampler import Clamp

PARTS = {"composition": (ELEMENT,), "lattice": (LENGTH, ANGLE), "sites": (FRACTION,)}


@dataclass(frozen=True, eq=False)
class Template:
    """Tokens [D], given where `fixed` bool[D] is true and masks elsewhere, and the `kinds` [D] of positions."""

    label: str
    tokens: Tensor
    fixed: Tensor
    kinds: Tensor


def from_formula(
    formula: str, *, atoms: int | None = None, formula_units: int | None = None, max_atoms: int = 20
) -> list[Template]:
    """Return templates that fix the elements: one multiple of the formula as it is written, or all that fit.

    Give the number of `atoms` or of `formula_units` for one template. Without either, there is one template for each
    multiple of the formula with at most `max_atoms` atoms.
    """
    unit = _elements_of(formula)
    if atoms is not None and formula_units is not None:
        raise KinoflowError("atoms, formula_units: give one of them, or neither")
    if atoms is not None:
        if atoms < 1 or atoms % len(unit):
            raise KinoflowError(f"atoms: {atoms} is no multiple of the {len(unit)} atoms of {formula!r}")
        formula_units = atoms // len(unit)
    if formula_units is not None and formula_units < 1:
        raise KinoflowError(f"formula_units: {formula_units}; give 1 or more")
    multiples = range(1, max_atoms // len(unit) + 1) if formula_units is None else [formula_units]
    if not multiples or len(unit) * multiples[-1] > max_atoms:
        count = len(unit) * (formula_units or 1)
        raise KinoflowError(f"formula {formula!r}: {count} atoms, but at most {max_atoms} are possible (max_atoms)")
    return [_of_elements(f"{formula} x {multiple}", unit * multiple, max_atoms) for multiple in multiples]


def from_structure(
    crystal: Crystal, keep: Collection[str], *, rounding: Rounding = "nearest", max_atoms: int = 20
) -> Template:
    """Return a template that fixes parts of a crystal: `composition`, `lattice` (its cell), `sites` (coordinates)."""
    unknown = sorted(set(keep) - set(PARTS))
    if unknown or not keep:
        given = f"{unknown[0]!r} is none of them" if unknown else "nothing is given"
        raise KinoflowError(f"keep: one or more of {', '.join(PARTS)} expected, {given}")
    tokens = torch.from_numpy(encode(crystal, rounding, max_atoms))
    kinds = layout(len(crystal.numbers), max_atoms)
    kept = torch.tensor([kind for part in keep for kind in PARTS[part]] + [PADDING])
    fixed = torch.isin(kinds, kept)
    return Template(f"{crystal.id}: {', '.join(sorted(keep))}", torch.where(fixed, tokens, MASK), fixed, kinds)


def batch(templates: Sequence[Template], count: int, *, noised: bool = False) -> tuple[Tensor, Clamp]:
    """Return the kinds [count, D] and the clamp for `count` samples, spread evenly over the templates in order."""
    if not templates or count < 1:
        raise KinoflowError(f"templates: {len(templates)} for {count} samples; give one or more of both")
    lengths = {len(template.tokens) for template in templates}
    if len(lengths) > 1:
        raise KinoflowError(f"templates: made for different max_atoms (lengths {sorted(lengths)}); use one")
    chosen = [templates[number * len(templates) // count] for number in range(count)]
    kinds, tokens, fixed = (
        torch.stack([getattr(template, part) for template in chosen]) for part in ("kinds", "tokens", "fixed")
    )
    return kinds, Clamp(tokens, fixed, noised)


def _of_elements(label: str, numbers: Sequence[int], max_atoms: int) -> Template:
    kinds = layout(len(numbers), max_atoms)
    tokens = torch.full_like(kinds, MASK)
    tokens[kinds == ELEMENT] = FIRST_ELEMENT + torch.tensor(numbers) - 1
    tokens[kinds == PADDING] = PAD
    return Template(label, tokens, (kinds == ELEMENT) | (kinds == PADDING), kinds)


def _elements_of(formula: str) -> list[int]:
    """Return the Z of every atom of a formula such as NaCl or Ca(OH)2."""
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
        numbers += [species.Z] * int(amount)
    if not numbers:
        raise KinoflowError(f"formula {formula!r}: no atoms; write it like Ca(OH)2")
    return numbers
