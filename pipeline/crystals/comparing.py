"""Comparisons of crystals in worker processes: each cell is reduced once, and most pairs are told apart by a screen."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from pipeline.crystals.alignment import same_crystal
from pipeline.crystals.crystal import Crystal, Integers, Key, key_of
from pipeline.crystals.reduction import Cell, reduced_cell
from pipeline.crystals.screening import Screen
from pipeline.crystals.workers import DIED, Outcome, run_tasks
from pipeline.store.journal import Journal

NO_CELL = "failed: the cell cannot be reduced"


class Question(NamedTuple):
    """Which is the first cell in each of two groups, by their numbers, that is the same as this one?"""

    cell: int
    train: list[int]
    earlier: list[int]


class Library:
    """The reduced cells of crystals that are no copies of each other, numbered in the order of their keys.

    Whether two are the same may depend on which comes first, as pymatgen's answer does; here the lower number does.
    """

    def __init__(self, crystals: Iterable[Crystal], *, workers: int, seconds: float, finished: Journal | None) -> None:
        """Reduce the cells; `reasons` says by number why one cannot be, and such a crystal is like no other."""
        distinct = {key_of(crystal): crystal for crystal in crystals}
        keys = sorted(distinct)
        self._numbers: dict[Key, int] = {key: number for number, key in enumerate(keys)}
        self._run = partial(run_tasks, workers=workers, seconds=seconds)
        self._finished = finished
        self.reasons, cells = dict[int, str](), list[Cell | None]([None] * len(keys))
        for number, outcome in self._run(reduced, [distinct[key] for key in keys], label="reducing cells"):
            cells[number] = outcome.value
            if outcome.value is None:
                self.reasons[number] = outcome.reason or NO_CELL
        self._cells, self._screen = cells, Screen(cells)

    def number(self, crystal: Crystal) -> int:
        """Return the number of a crystal, which exact copies share."""
        return self._numbers[key_of(crystal)]

    def group(self, cell: int) -> int:
        """Return a number for the atoms of a reduced cell; those of another group are not the same."""
        return int(self._screen.kinds[cell])

    def candidates(self, cell: int, others: Integers) -> Integers:
        """Return those of the other cells that may be the same."""
        return self._screen.may_be_same(cell, others)

    def answers(self, questions: Sequence[Question]) -> Iterator[tuple[Question, Outcome[list[int | None]]]]:
        """Yield the questions with the numbers of the first cells that are the same, None: no cell of the group is."""
        kept = {} if self._finished is None else self._finished.entries
        todo = list[Question]()
        for question in questions:
            if (key := _key(question)) in kept:
                yield question, Outcome(*kept[key])
            else:
                todo.append(question)
        give: Callable[[], Any] = partial(list, self._cells)  # once to each worker
        for item, outcome in self._run(answer, todo, label="matching", initialise=give):
            if self._finished is not None and not outcome.reason.startswith(DIED):
                self._finished.add(_key(todo[item]), [outcome.value, outcome.reason])
            yield todo[item], outcome


def reduced(crystal: Crystal) -> Cell | None:
    """Return the reduced cell of a crystal; None if the lattice does not exist, or if its reduction does not end."""
    try:
        return reduced_cell(crystal)
    except ValueError:
        return None


def answer(cells: Sequence[Cell], question: Question) -> list[int | None]:
    """Return the first cell that is the same in each group; an exact copy has the same number."""

    def is_same(other: int) -> bool:
        low, high = sorted((question.cell, other))
        return low == high or same_crystal(cells[low], cells[high])

    return [next(filter(is_same, others), None) for others in (question.train, question.earlier)]


def _key(question: Question) -> str:
    return hashlib.sha256(repr(question).encode()).hexdigest()
