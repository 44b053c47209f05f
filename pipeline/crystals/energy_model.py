"""An energy model of the configuration: what tables call it, how workers load it, and energies with corrections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.config import EnergyModelChoice
from pipeline.config.plugins import ENERGY_MODELS
from pipeline.crystals.corrections import corrected
from pipeline.crystals.crystal import Crystal
from pipeline.errors import KinoflowError
from pipeline.store.code import code_hash
from pipeline.store.packages import fault_of
from pipeline.store.provenance import known_hash

if TYPE_CHECKING:  # importing ase takes a second, and most commands do not need it
    from ase.calculators.calculator import Calculator

PACKAGES = ("ase", "torch", "numpy", "pymatgen")  # their versions change the last digits, or more


@dataclass(frozen=True)
class EnergyModel:
    """An energy model, ready to be sent to workers.

    `name` is that of its file, with the variant if it is not the default one. Tables of reference energies have it as
    file name. `corrected`: its own energies have the corrections of 2020. `load(device)` is a module-level function.
    """

    name: str
    label: str
    corrected: bool
    package: str
    modules: tuple[str, ...]
    load: Callable[[str], Any]
    inputs: tuple[Path, ...] = ()  # the user's files that it reads

    @classmethod
    def of(cls, choice: EnergyModelChoice) -> EnergyModel:
        """Return the chosen model; an error with what to install if its package is missing."""
        chosen = ENERGY_MODELS.chosen(choice)
        if fault := fault_of(chosen.plugin.requirement):
            raise KinoflowError(f"energy model {chosen.name}: {fault}, or choose another energy model")
        plugin, options = chosen.plugin, chosen.options
        variant = plugin.variant(options)
        name = f"{chosen.name}_{variant}" if variant else chosen.name
        load, modules, inputs = partial(load_model, choice), tuple(chosen.modules), tuple(chosen.inputs)
        return cls(name, plugin.label(options), plugin.CORRECTED, plugin.PACKAGE, modules, load, inputs)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What its energies depend on: code and packages."""
        return {
            "name": self.name,
            "label": self.label,
            "inputs": [known_hash(path) for path in self.inputs],
            "code": code_hash(*self.modules),
            "packages": {name: version(name) for name in (self.package, *PACKAGES)},
        }

    def energy(self, crystal: Crystal, energy_per_atom: float) -> tuple[float, str]:
        """Return an energy of this model in eV/atom with corrections, or NaN and the reason why there is none."""
        return (energy_per_atom, "") if self.corrected else corrected(crystal, energy_per_atom)


def load_model(choice: EnergyModelChoice, device: str) -> Calculator:
    """Return the calculator of an energy model; it gives the energies of the model itself, without any correction."""
    chosen = ENERGY_MODELS.chosen(choice)
    calculator: Calculator = chosen.plugin.load(chosen.options, device)
    return calculator
