"""A calculator that gives every crystal the same energy."""

from typing import Any

from ase.calculators.calculator import Calculator

ENERGY = -3.5


class Fixed(Calculator):
    implemented_properties = ["energy"]  # noqa: RUF012

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = ()) -> None:
        super().calculate(atoms, properties, system_changes)
        self.results = {"energy": ENERGY * len(atoms)}


def load_fixed() -> Fixed:
    return Fixed()
