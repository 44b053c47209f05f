"""Crystals in the text of extended XYZ files."""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from pipeline.crystals.crystal import Crystal

_FLAT = 1e-9  # volume over the product of the sides


def frames_of(text: str) -> Iterator[tuple[Crystal | str, dict[str, Any]]]:
    """Yield for each frame its crystal, or the reason why it cannot be used, and its fields.

    Frames are split by their numbers of atoms, so that a bad one does not spoil the others. If a line should be such a
    number but is not, there is no telling where the next frame begins.
    """
    lines, start = text.splitlines(), 0
    while start < len(lines):
        if not lines[start].strip():
            start += 1
            continue
        try:
            end = start + 2 + int(lines[start])
            if end < start + 2:
                raise ValueError("less than no atoms")
        except ValueError:
            yield f"does not parse: line {start + 1} should be a number of atoms, all that follows is lost", {}
            return
        if end > len(lines):
            yield f"does not parse: the file ends within the frame of line {start + 1}", {}
            return
        yield _frame(lines[start:end])
        start = max(end, start + 1)


def _frame(lines: list[str]) -> tuple[Crystal | str, dict[str, Any]]:
    from ase.io.extxyz import read_extxyz

    if lines[0].strip() == "0":
        return "no atoms", {}
    try:
        atoms = next(read_extxyz(io.StringIO("\n".join(lines) + "\n"), slice(0, 1)))
    # Users have all kinds of files, and the parser may raise anything. The row reports the reason.
    except Exception as error:
        return f"does not parse: {str(error)[:200] or type(error).__name__}", {}
    fields = dict(atoms.info)
    if not atoms.pbc.all() or atoms.cell.rank < 3:
        return "not periodic in three directions", fields
    cell = atoms.cell.cellpar()
    if abs(np.linalg.det(atoms.cell.array)) <= _FLAT * np.prod(cell[:3]):
        return "a cell without volume", fields
    fractions = np.linalg.solve(atoms.cell.array.T, atoms.positions.T).T % 1.0
    return Crystal("", cell[:3], cell[3:], atoms.numbers.astype(np.int64), fractions), fields
