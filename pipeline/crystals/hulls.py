"""The hulls that a run's crystals are compared with: on the scales of its energy model and judges, and published."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from pipeline.crystals.corrections import SCHEME
from pipeline.crystals.energy_model import EnergyModel
from pipeline.crystals.hull import Hull
from pipeline.crystals.reference_energies import model_hull
from pipeline.crystals.verdicts import Judge, Scale
from pipeline.store.parquet import read_table

NO_MODEL = Scale("", Hull([], "no energy model"))


@dataclass(frozen=True)
class Hulls:
    """The hull on the model's own scale, which may have no points, the published one if there is any, and judges."""

    own: Scale = NO_MODEL
    published: Hull | None = None
    judges: Mapping[str, Judge] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """Whether energies can be compared with anything."""
        return bool(self.own.hull.points) or self.published is not None

    @property
    def conditions(self) -> dict[str, str | None]:
        """What a table says of how stability was measured: the hulls, and how energies are corrected."""
        published = self.published.label if self.published else None
        return {
            "hull": self.own.hull.description if self.own.hull.points else published,
            "published hull": published,
            "corrections": SCHEME,
            "pymatgen": version("pymatgen"),
        }


def hulls_of(
    model: EnergyModel, judges: Sequence[EnergyModel], *, published: Hull | None, judged: Path | None, cache: Path
) -> Hulls:
    """Return the hulls for crystals that `model` relaxed; the energies of the judges are in the table `judged`."""
    energies: dict[str, dict[str, float]] = {judge.label: {} for judge in judges}
    if judged is not None:
        frame = read_table(judged, ("id", "model", "energy_per_atom"))
        for id, label, energy in zip(frame["id"], frame["model"], frame["energy_per_atom"], strict=True):
            energies[label][id] = energy
    scales = {
        judge.name: Judge(Scale(judge.name, model_hull(judge.name, cache)), energies[judge.label]) for judge in judges
    }
    return Hulls(Scale(model.name, model_hull(model.name, cache)), published, scales if judged is not None else {})
