"""Crystals in a few calls: a trained network generates them, an energy model relaxes them, and they are evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pipeline.commands.generate_crystals import crystal_experiment
from pipeline.commands.given import Flags, Given
from pipeline.config import Config, EnergyModelChoice, Relaxation
from pipeline.errors import KinoflowError

if TYPE_CHECKING:
    from pymatgen.core import Structure

__all__ = ["CrystalModel", "Relaxed", "evaluate", "load_weights", "relax", "trained"]


@dataclass(frozen=True)
class CrystalModel:
    """A trained network of crystals."""

    config: Config
    experiment: str
    run: str
    tokens: Path
    weights: Path

    def generate(self, count: int = 8, *, seed: int = 0, gpus: int = 0, **order: Any) -> list[Structure]:
        """Return generated structures that keep an order: `formula`, `chemical_system`, `elements`, `atoms`, ...

        The keywords are those of the command `generate-crystals`. What the network draws that is no crystal is left
        out, so there may be fewer than `count`.
        """
        from pipeline.crystals.generation import generate_crystals
        from pipeline.crystals.orders import Order
        from pipeline.crystals.table import crystals_of
        from pipeline.store.parquet import read_table

        with TemporaryDirectory() as folder:
            generate_crystals(
                self.config,
                self.experiment,
                self.run,
                Order(**order),
                tokens=self.tokens,
                weights=self.weights,
                count=count,
                seed=seed,
                gpus=gpus,
                output=Path(folder),
            )
            made = read_table(Path(folder) / "crystals.parquet")
        return [crystal.structure() for crystal in crystals_of(made[made["reason"] == ""]) if crystal is not None]


@dataclass(frozen=True)
class Relaxed:
    """What relaxing a structure gave; without a structure, the reason says why."""

    structure: Structure | None
    energy_per_atom: float  # eV, the model's own
    converged: bool
    reason: str


def load_weights(name: str) -> CrystalModel:
    """Return a network whose weights come with the project, by name, or are in a folder, or at `hub:user/name`."""
    from pipeline.commands.generators import of_weights

    found = of_weights(_given("config/demo.yaml", ()), name, "generate-crystals", None, None)
    if found is None:
        raise KinoflowError(f"{name}: a file; give the name or folder of weights, or call trained(run, weights=...)")
    return CrystalModel(found.config, found.experiment, found.run, found.tokens, found.weights)


def trained(
    run: str,
    *,
    config: str | Path = "config/demo.yaml",
    settings: Sequence[str] = (),
    experiment: str | None = None,
    tokens: Path | None = None,
    weights: Path | None = None,
) -> CrystalModel:
    """Return the network of a finished run of a configuration; `settings` are those of `--set`."""
    given = _given(config, settings)
    name = crystal_experiment(given, experiment)
    return CrystalModel(given.config, name, run, *given.trained(given.job(name, run), tokens, weights))


def relax(
    structures: Sequence[Structure], *, energy_model: str = "chgnet", steps: int = 500, workers: int = 1, gpus: int = 0
) -> list[Relaxed]:
    """Return the structures after their atoms and cells have followed the forces of an energy model."""
    from pipeline.crystals.energy_model import EnergyModel
    from pipeline.crystals.relaxation import relax_table
    from pipeline.crystals.table import crystal_of, records_of
    from pipeline.store.parquet import read_table

    with TemporaryDirectory() as name:
        folder = Path(name)
        relax_table(
            Relaxation(count=len(structures), steps=steps, workers=workers),
            0,
            model=EnergyModel.of(EnergyModelChoice(name=energy_model)),
            crystals=_write(structures, folder / "given.parquet"),
            journal=folder / "journal",
            output=folder / "relaxed.parquet",
            gpus=gpus,
        )
        rows = records_of(read_table(folder / "relaxed.parquet"))
    found = [(row, crystal_of(row)) for row in rows]
    return [
        Relaxed(crystal.structure() if crystal else None, row["energy_per_atom"], bool(row["converged"]), row["reason"])
        for row, crystal in found
    ]


def evaluate(
    structures: Sequence[Structure],
    output: str | Path,
    *,
    config: str | Path = "config/demo.yaml",
    settings: Sequence[str] = (),
    experiment: str | None = None,
    relax: int | None = None,
    rows: Path | None = None,
    hull: Path | None = None,
    workers: int | None = None,
    weights: str | None = None,
) -> dict[str, float]:
    """Return the scores of structures, and write all that is known of each to a folder, as `evaluate-crystals` does.

    The `weights` are those that generated them: a structure is new if these were not trained on it.
    """
    from pipeline.commands.evaluate_crystals import evaluate_crystals
    from pipeline.store.atomic import read_json

    folder = Path(output)
    evaluate_crystals(
        _given(config, settings),
        _write(structures, folder / "given.parquet"),
        output=folder,
        experiment=experiment,
        relax=relax,
        rows=rows,
        hull=hull,
        workers=workers,
        weights=weights,
    )
    return dict(read_json(folder / "scores.json")["metrics"])


def _given(config: str | Path, settings: Sequence[str]) -> Given:
    return Flags(config=Path(config), set=tuple(settings)).given()


def _write(structures: Sequence[Structure], path: Path) -> Path:
    """Write structures as a table of crystals."""
    from pipeline.crystals.crystal import Crystal
    from pipeline.crystals.table import CRYSTAL_COLUMNS, frame_of, row_of
    from pipeline.store.parquet import write_table

    rows = [row_of(Crystal.of(str(number), structure)) for number, structure in enumerate(structures)]
    write_table(path, frame_of(rows, CRYSTAL_COLUMNS))
    return path
