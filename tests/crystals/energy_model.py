"""A calculator for the tests of relaxation that needs no network, and a program that relaxes a shard with it."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ase.calculators.lj import LennardJones

from pipeline.config import Config
from pipeline.crystals.energy_model import EnergyModel
from pipeline.stages.job import Job
from pipeline.stages.relax import relax as relax_stage

XENON = 54
LOG = "KINOFLOW_TEST_LOG"
STALL = "KINOFLOW_TEST_STALL"


class Loggable(LennardJones):
    """Lennard-Jones atoms; notes each crystal it starts on, and is stuck at xenon while the file to stall exists."""

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = ()) -> None:
        formula = atoms.get_chemical_formula()
        if self.parameters.get("known") != formula:
            self.parameters["known"] = formula
            with Path(os.environ[LOG]).open("a") as stream:
                stream.write(formula + "\n")
        while XENON in atoms.numbers and Path(os.environ[STALL]).exists():
            time.sleep(0.05)
        super().calculate(atoms, properties, system_changes)

    def compute(self, crystals: Sequence[Any]) -> list[dict[str, Any]]:
        found = []
        for atoms in crystals:
            self.calculate(atoms, self.implemented_properties, ["positions"])
            found.append(dict(self.results))
        return found


def load_model(device: str) -> Loggable:
    return Loggable(sigma=2.5, epsilon=0.05, rc=6.0, smooth=True)


LENNARD_JONES = EnergyModel("loggable", "Lennard-Jones", True, "ase", (), load_model)


def relax(config: Config, folder: Path, shard: int = 0, shards: int = 1, output: str = "relaxed.parquet") -> Path:
    path = folder / output
    with patch("pipeline.crystals.energy_model.EnergyModel.of", lambda choice: LENNARD_JONES):
        relax_stage(
            Job(config, "crystals"),
            crystals=folder / "crystals.parquet",
            shard=shard,
            shards=shards,
            journal=folder / "journal" / str(shard),
            output=path,
            trajectories=folder / f"trajectories_{output}",
        )
    return path


if __name__ == "__main__":
    import energy_model  # by this name the model is the same as in the tests

    energy_model.relax(Config.model_validate_json(sys.argv[1]), Path(sys.argv[2]))
