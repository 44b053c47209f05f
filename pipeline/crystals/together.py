"""Relaxations side by side whose energies are computed together: a GPU is idle with one small crystal at a time.

Each relaxation is written as for one crystal and runs in a thread of its own. When all threads that are left wait for
an energy, the model computes those of all their crystals at once.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Condition
from typing import Any, TypeVar

from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes

Item = TypeVar("Item")
Result = TypeVar("Result")
Computed = dict[str, Any] | Exception  # the results of a calculator, or what it raises
Compute = Callable[[Sequence[Atoms]], list[Computed]]


def run_together(
    function: Callable[[Calculator, Item], Result], items: Sequence[Item], compute: Compute
) -> list[Result]:
    """Return function(calculator, item) of each item; the calculators compute the results of all items together."""
    meeting = Meeting(compute, len(items))

    def one(number: int) -> Result:
        try:
            return function(Member(meeting, number), items[number])
        finally:
            meeting.leave()

    with ThreadPoolExecutor(max_workers=max(1, len(items))) as threads:
        return list(threads.map(one, range(len(items))))


class Meeting:
    """Collects the questions of its members, and has them answered when all wait."""

    def __init__(self, compute: Compute, members: int) -> None:
        self._compute, self._members = compute, members
        self._changed = Condition()
        self._asked: dict[int, Atoms] = {}
        self._answers: dict[int, Computed] = {}

    def ask(self, number: int, atoms: Atoms) -> dict[str, Any]:
        """Return the results for the atoms of a member; wait until all members have asked or left."""
        with self._changed:
            self._asked[number] = atoms
            self._answer_if_all_wait()
            self._changed.wait_for(lambda: number in self._answers)
            answer = self._answers.pop(number)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def leave(self) -> None:
        """Go on without a member."""
        with self._changed:
            self._members -= 1
            self._answer_if_all_wait()

    def _answer_if_all_wait(self) -> None:
        if not self._asked or len(self._asked) < self._members:
            return
        numbers = sorted(self._asked)  # whoever came first: the order of threads must not change the results
        try:
            answers = self._compute([self._asked[number] for number in numbers])
        except Exception as error:  # of all: such as too little memory
            answers = [error] * len(numbers)
        self._answers |= dict(zip(numbers, answers, strict=True))
        self._asked.clear()
        self._changed.notify_all()


class Member(Calculator):
    """The calculator of one member of a meeting."""

    implemented_properties = ["energy", "free_energy", "forces", "stress"]  # noqa: RUF012

    def __init__(self, meeting: Meeting, number: int) -> None:
        super().__init__()
        self._meeting, self._number = meeting, number

    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: Sequence[str] | None = None,
        system_changes: Sequence[str] = all_changes,
    ) -> None:
        """Ask for all results of the atoms."""
        super().calculate(atoms, properties, system_changes)
        self.results = self._meeting.ask(self._number, self.atoms)
