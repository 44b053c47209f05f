"""Crystals as tokens: three lengths, three angles, then element, x, y, z for each atom, and pads to a common length.

The vocabulary has the paper's 878 tokens in the paper's order: 500 lengths 0.0 .. 49.9 (Angstrom), 180 angles 0 .. 179
(degrees), 101 fractions 0.00 .. 0.99 and 1.00, 94 elements Z = 1 .. 94, then begin-of-sequence, mask and pad. 1.00 is
the same point as 0.00: it is never data, encoding writes 0.00, and decoding reads both as 0.

Numbers become tokens by one of two rules. Both start from the number written with 8 decimals, as in CIF files, so noise
beyond these does not matter:

- `nearest`: to the nearest token, halves up. An atom at 0.999 goes to 0.00, its neighbour across the face of the cell.
- `truncate`: further decimals are cut off, the rule of the paper and its peers. It makes cells about 3 % too small, and
  an angle of 119.99999 becomes 119, so the cell is no longer hexagonal.

A value without a token raises an error that says why; nothing is ever clipped.
"""

from functools import cache
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pipeline.crystals.crystal import Crystal, Floats, Integers, fault_of_cell
from pipeline.crystals.elements import LAST, element_distances
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import NEVER_DATA, Vocabulary

Rounding = Literal["nearest", "truncate"]

LENGTHS, ANGLES, FRACTIONS = 500, 180, 101
FIRST_ANGLE = LENGTHS
FIRST_FRACTION = FIRST_ANGLE + ANGLES
ONE = FIRST_FRACTION + 100  # the token 1.00
FIRST_ELEMENT = FIRST_FRACTION + FRACTIONS
BEGIN = FIRST_ELEMENT + LAST
MASK, PAD, SIZE = BEGIN + 1, BEGIN + 2, BEGIN + 3

LENGTH, ANGLE, FRACTION, ELEMENT, PADDING = range(5)  # the kinds of positions
CELL = 6  # tokens before those of the atoms
PER_ATOM = 4

_DECIMALS = 10**8
_STEPS = {LENGTH: _DECIMALS // 10, ANGLE: _DECIMALS, FRACTION: _DECIMALS // 100}  # between two tokens
_HUGE = 1e6  # beyond this a number has no token anyway, and would not fit an integer


class EncodingError(KinoflowError):
    """A crystal that the vocabulary cannot express; `reason` says why, in the same words for all such crystals."""

    def __init__(self, crystal: Crystal, reason: str) -> None:
        super().__init__(f"crystal {crystal.id!r} cannot be written as tokens: {reason}")
        self.reason = reason


class Decoded(NamedTuple):
    """The crystal of tokens, or None if they are not even atoms in a cell, and why it cannot be used, or ''."""

    crystal: Crystal | None
    reason: str


def vocabulary() -> Vocabulary:
    """Return the vocabulary of 878 tokens."""
    kinds = [LENGTH] * LENGTHS + [ANGLE] * ANGLES + [FRACTION] * (FRACTIONS - 1) + [NEVER_DATA] + [ELEMENT] * LAST
    return Vocabulary([*kinds, NEVER_DATA, NEVER_DATA, PADDING], mask=MASK)


def length_of(max_atoms: int) -> int:
    """Return the number of tokens of a crystal that is padded to `max_atoms` atoms."""
    return CELL + PER_ATOM * max_atoms


def encode(crystal: Crystal, rounding: Rounding = "nearest", max_atoms: int = 20) -> Integers:
    """Return the tokens of a crystal, [6 + 4 max_atoms], or raise EncodingError."""
    atoms, numbers = len(crystal.numbers), (crystal.lengths, crystal.angles, crystal.fractions)
    for wrong, reason in (
        (not all(np.isfinite(values).all() for values in numbers), "a number is not finite"),
        (atoms == 0, "no atoms"),
        (atoms > max_atoms, f"more than {max_atoms} atoms"),
        (bool(((crystal.numbers < 1) | (crystal.numbers > LAST)).any()), f"an element beyond Z = {LAST}"),
    ):
        if wrong:
            raise EncodingError(crystal, reason)
    lengths = _rounded(crystal.lengths, LENGTH, rounding)
    angles = _rounded(crystal.angles, ANGLE, rounding)
    if reason := _fault_of_cell(lengths, angles):
        raise EncodingError(crystal, reason)
    row = np.full(length_of(max_atoms), PAD, dtype=np.int64)
    row[:3], row[3:CELL] = lengths, FIRST_ANGLE + angles
    quadruples = row[CELL : length_of(atoms)].reshape(atoms, PER_ATOM)
    quadruples[:, 0] = FIRST_ELEMENT + crystal.numbers - 1
    quadruples[:, 1:] = FIRST_FRACTION + _rounded(crystal.fractions % 1.0, FRACTION, rounding) % 100
    return row


def decode(tokens: Integers | Tensor, id: str = "") -> Decoded:
    """Return the crystal of a row of tokens; if its cell cannot exist, it still has its atoms, and a reason."""
    row = np.asarray(tokens, dtype=np.int64)
    if row.ndim != 1 or len(row) < length_of(1) or (len(row) - CELL) % PER_ATOM:
        raise KinoflowError(f"tokens of a crystal: 6 + 4 a numbers expected, got shape {row.shape}")
    kinds = np.where((row >= 0) & (row < SIZE), _KIND_OF[np.clip(row, 0, SIZE - 1)], NEVER_DATA)
    atoms = int((kinds[CELL::PER_ATOM] == ELEMENT).sum())
    if not (kinds[:3] == LENGTH).all() or not (kinds[3:CELL] == ANGLE).all():
        return Decoded(None, "tokens that do not fit: no length or angle where one is due")
    if not atoms:
        return Decoded(None, "no atoms")
    if not np.array_equal(kinds, _layouts(len(row))[atoms]):
        wrong = "an atom is not an element and three fractions, or comes after the padding"
        return Decoded(None, f"tokens that do not fit: {wrong}")
    lengths, angles = row[:3], row[3:CELL] - FIRST_ANGLE
    quadruples = row[CELL : length_of(atoms)].reshape(atoms, PER_ATOM)
    numbers, fractions = quadruples[:, 0] - FIRST_ELEMENT + 1, (quadruples[:, 1:] - FIRST_FRACTION) % 100
    crystal = Crystal(id, lengths / 10, angles.astype(np.float64), numbers, fractions / 100)
    return Decoded(crystal, _fault_of_cell(lengths, angles))


def layout(atoms: int | Tensor, max_atoms: int = 20) -> Tensor:
    """Return the kinds of the positions of crystals with so many atoms, int64[..., 6 + 4 max_atoms]."""
    count = torch.as_tensor(atoms)
    if len(wrong := count[(count < 1) | (count > max_atoms)].flatten()):
        raise KinoflowError(f"a crystal of {wrong[0].item()} atoms: from 1 to max_atoms = {max_atoms} are possible")
    return torch.from_numpy(_layouts(length_of(max_atoms))).to(count.device)[count]


def atoms_of(tokens: Tensor) -> Tensor:
    """Return the number of atoms of each row of tokens [..., D]."""
    elements = tokens[..., CELL::PER_ATOM]
    return ((elements >= FIRST_ELEMENT) & (elements < BEGIN)).sum(-1)


def shuffle_atoms(tokens: Tensor, generator: torch.Generator) -> Tensor:
    """Return tokens [N, D] with the atoms of each row in a random order; pads stay at the end."""
    atoms = tokens[:, CELL:].reshape(len(tokens), -1, PER_ATOM)
    keys = torch.rand(atoms.shape[:2], generator=generator, dtype=torch.float64, device=tokens.device)
    order = (keys + (atoms[..., 0] == PAD)).argsort(dim=1)
    moved = atoms.gather(1, order[..., None].expand(-1, -1, PER_ATOM))
    return torch.cat([tokens[:, :CELL], moved.flatten(1)], dim=1)


def base_distances() -> Tensor:
    """Return distances between tokens, float64[878, 878], to which a metric path applies its power.

    Within a kind they are zero only at equality and at most 1: lengths and angles by their difference, fractions around
    the circle (0.99 is as far from 0.00 as 0.01), elements chemically. Between kinds they have no meaning and are 0.
    """
    table = np.zeros((SIZE, SIZE))
    table[:LENGTHS, :LENGTHS] = _differences(LENGTHS) / (LENGTHS - 1)
    table[FIRST_ANGLE:FIRST_FRACTION, FIRST_ANGLE:FIRST_FRACTION] = _differences(ANGLES) / (ANGLES - 1)
    straight = _differences(100)
    table[FIRST_FRACTION:ONE, FIRST_FRACTION:ONE] = np.minimum(straight, 100 - straight) / 50
    table[FIRST_ELEMENT:BEGIN, FIRST_ELEMENT:BEGIN] = element_distances()
    return torch.from_numpy(table)


def _differences(count: int) -> Floats:
    steps = np.arange(count, dtype=np.float64)
    return np.abs(steps[:, None] - steps)


def _rounded(values: Floats, kind: int, rounding: Rounding) -> Integers:
    step = _STEPS[kind]
    written = np.rint(np.clip(values, -_HUGE, _HUGE) * _DECIMALS).astype(np.int64)
    return (written + (step // 2 if rounding == "nearest" else 0)) // step


def _fault_of_cell(lengths: Integers, angles: Integers) -> str:
    """Return why no cell has the lengths (in 0.1 A) and angles (in degrees), or why these have no token, or ''."""
    for wrong, reason in (
        ((lengths < 1).any(), "a length that is 0.0 A as a token"),
        ((lengths >= LENGTHS).any(), "a length of 50 A or more"),
        ((angles < 1).any(), "an angle that is 0 degrees as a token"),
        ((angles >= ANGLES).any(), "an angle that is 180 degrees or more as a token"),
    ):
        if wrong:
            return reason
    return fault_of_cell(lengths / 10, angles.astype(np.float64))


_KIND_OF = vocabulary().kind_of.values.numpy().copy()
_KIND_OF[ONE] = FRACTION  # never data, but decoding accepts it


@cache
def _layouts(length: int) -> Integers:
    """Return the kinds of the positions for 0, 1, 2, ... atoms."""
    atoms = (length - CELL) // PER_ATOM
    table = np.full((atoms + 1, length), PADDING, dtype=np.int64)
    table[:, :3], table[:, 3:CELL] = LENGTH, ANGLE
    for count in range(1, atoms + 1):
        table[count, CELL : length_of(count)] = np.tile([ELEMENT, FRACTION, FRACTION, FRACTION], count)
    return table
