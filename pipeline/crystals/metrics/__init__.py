"""Metrics of crystals by name, and what they are computed from: all that is known about the structures of a run."""

from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import pandas as pd

from pipeline.config import Crystals
from pipeline.crystals.corrections import SCHEME
from pipeline.crystals.energy_model import EnergyModel
from pipeline.crystals.hull import label_of_hull
from pipeline.crystals.reference_energies import description_of
from pipeline.errors import KinoflowError
from pipeline.scoring.subject import Subject
from pipeline.store.parquet import read_table

MATCHER = "StructureMatcher of pymatgen (0.2, 0.3, 5)"
DENOMINATOR = "all that were to be relaxed"


@dataclass(frozen=True)
class CrystalEvidence:
    """One row per generated structure: what was found out about it, and its description with the fingerprints.

    `test` describes the test set, and `evaluations` is the number of network evaluations per structure; both may be
    None. If `assessed` lacks a column, nobody asked for it.
    """

    assessed: pd.DataFrame
    described: pd.DataFrame
    test: pd.DataFrame | None = None
    evaluations: float | None = None


def evidence_of(subject: Subject) -> CrystalEvidence:
    """Return what is known about the crystals that are scored; raise an error if the samples are something else."""
    if "structures" not in subject.files:
        name = subject.data.origin.get("name")
        raise KinoflowError(f"data {name!r}: these are no crystals; remove the metrics crystal_* from `scoring`")
    structures, described, test = (read_table(subject.files[key]) for key in ("structures", "described", "test"))
    return CrystalEvidence(structures, described, test, subject.samples.conditions.get("NFE"))


def valid_by_peers(described: pd.DataFrame) -> pd.Series:
    """Return which described structures the peers count as valid: structure, composition, and a fingerprint."""
    has_fingerprint = described["structure_fingerprint"].map(len).astype(bool)
    return described["structural_valid_peers"] & described["composition_valid_peers"] & has_fingerprint


def conditions(subject: Subject, options: Any) -> dict[str, str]:
    """Return how crystals were measured, for the tables: the data, and all that decides what is stable."""
    crystals = (subject.block.crystals if subject.block else None) or Crystals()
    model, known = EnergyModel.of(crystals.energy_model), {"data": subject.data.origin["name"]}
    if "hull" in subject.files:
        published = label_of_hull(subject.files["hull"])
        known |= {"hull": description_of(model.name, subject.cache) or published, "published hull": published}
    return known | {
        "energy model": model.label,
        "corrections": SCHEME,
        "pymatgen": version("pymatgen"),
        "matcher": MATCHER,
        "stability of": DENOMINATOR,
    }
