"""The steps of a relaxation that are kept for people to look at: a few of all, with the cell and the atoms of each."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.crystals.crystal import Floats

if TYPE_CHECKING:  # importing ase takes a second, and most commands do not need it
    from ase import Atoms

MOST = 10  # steps that are kept of a crystal
TRAJECTORY_COLUMNS = {"id": "str", "step": "int64", "max_force": "float64"}
TRAJECTORY_COLUMNS |= dict.fromkeys(("lengths", "angles", "fractions"), "list")
DIGITS = 5


class Trajectory:
    """All steps of a relaxation; `kept` has a few of them."""

    def __init__(self) -> None:
        self._steps: list[tuple[int, float, Floats, Floats, Floats]] = []

    def add(self, step: int, force: float, atoms: "Atoms") -> None:
        """Remember where the atoms are; a step that is already there is not taken twice."""
        if not self._steps or self._steps[-1][0] < step:
            at = atoms.get_scaled_positions(wrap=False)
            self._steps.append((step, force, atoms.cell.lengths(), atoms.cell.angles(), at))

    def kept(self, end: Floats) -> list[dict[str, Any]]:
        """Return the steps at `places`, with each atom in the copy of the cell where it comes to its `end`."""
        if not self._steps:
            return []
        copies = np.round(end - self._steps[-1][-1])
        return [
            {
                "step": step,
                "max_force": force,
                "lengths": lengths.round(DIGITS).tolist(),
                "angles": angles.round(DIGITS).tolist(),
                "fractions": (at + copies).round(DIGITS).ravel().tolist(),
            }
            for step, force, lengths, angles, at in (self._steps[place] for place in places(len(self._steps)))
        ]


def places(count: int) -> list[int]:
    """Return which of `count` steps are kept: the first, the last, and more at the beginning, where most happens.

    >>> places(101)
    [0, 1, 5, 11, 20, 31, 44, 60, 79, 100]
    """
    return sorted({round((count - 1) * (number / (MOST - 1)) ** 2) for number in range(MOST)})


def steps_in(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the kept steps of relaxed rows, one after the other, each with the id of its crystal.

    A crystal that was lost has none.
    """
    return [{"id": row["id"], **step} for row in rows for step in row.get("trajectory", ())]
