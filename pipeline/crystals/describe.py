"""The description of structures one by one: validity, density, fingerprints.

Fingerprints are those of Xie et al. (2022): Magpie statistics of the elements (Ward et al., 2016), scaled by published
constants, and order parameters of the sites (Zimmermann and Jain, 2020), averaged over the cell.
"""

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline.crystals.crystal import Crystal, Floats
from pipeline.crystals.table import Row, crystals_of
from pipeline.crystals.validity import composition_valid, structural_valid
from pipeline.crystals.workers import run_tasks
from pipeline.store.journal import Journal

SCALER = Path(__file__).parent / "reference" / "composition_scaler.json"
FINGERPRINTS = ("composition_fingerprint", "structure_fingerprint")
NOTHING: Row = {
    **{"atoms": 0, "elements": 0, "density": float("nan")},
    **dict.fromkeys(("structural_valid", "composition_valid", "composition_valid_default"), False),
    **{name: [] for name in FINGERPRINTS},
    "fingerprint_reason": "",
}


def describe_rows(frame: pd.DataFrame, workers: int, seconds: float, finished: Journal | None = None) -> pd.DataFrame:
    """Return the frame with the columns of :data:`NOTHING`; a structure that takes too long loses only its own values.

    A row with a reason gets no fingerprint, and is not structurally valid; its composition counts if it has one.
    """
    rows: list[Row] = [{**NOTHING, "fingerprint_reason": reason} for reason in frame["reason"]]
    reasons, crystals = list(frame["reason"]), crystals_of(frame)
    usable = [place for place, crystal in enumerate(crystals) if crystal is not None]
    run = partial(run_tasks, finished=finished, workers=workers, seconds=seconds)
    for item, outcome in run(properties, [crystals[place] for place in usable], label="validity"):
        place = usable[item]
        rows[place] |= outcome.value or {}
        reasons[place] = reasons[place] or outcome.reason or rows[place]["reason"]
        if reasons[place]:
            rows[place] |= {"fingerprint_reason": reasons[place], "structural_valid": False}
    usable = [place for place in usable if not reasons[place]]
    items = [crystals[place] for place in usable]
    for item, done in run(Fingerprinter.of, items, label="fingerprints", initialise=Fingerprinter.load):
        rows[usable[item]] |= done.value or {"fingerprint_reason": done.reason}
    described = pd.DataFrame(rows, columns=list(NOTHING), index=frame.index)
    types = {name: type(value) for name, value in NOTHING.items() if not isinstance(value, list)}
    return pd.concat([frame.assign(reason=reasons), described.astype(types)], axis=1)


def properties(crystal: Crystal) -> Row:
    """Return the values that need no fingerprint, and the reason if the cell cannot exist."""
    composition = crystal.composition
    values: Row = {
        "reason": "",
        "atoms": len(crystal.numbers),
        "elements": len(composition),
        "composition_valid": composition_valid(composition, "smact14"),
        "composition_valid_default": composition_valid(composition, "default"),
    }
    try:
        density = float(crystal.structure().density)
    except ValueError as error:
        return {**values, "reason": f"failed: {error}"}
    return {**values, "density": density, "structural_valid": structural_valid(crystal)}


@dataclass(frozen=True)
class Fingerprinter:
    """The two featurisers of matminer, which take seconds to load, and the scaler's constants."""

    composition: Any
    structure: Any
    means: Floats
    deviations: Floats

    @classmethod
    def load(cls) -> "Fingerprinter":
        """Load both, and silence the libraries of this process, which warn about nearly every structure."""
        warnings.simplefilter("ignore")
        from matminer.featurizers.composition import ElementProperty
        from matminer.featurizers.site.fingerprint import CrystalNNFingerprint

        constants = json.loads(SCALER.read_text(encoding="utf-8"))
        return cls(
            # The scaler's constants were computed without imputed values, which are matminer's later default.
            ElementProperty.from_preset("magpie", impute_nan=False),
            CrystalNNFingerprint.from_preset("ops"),
            np.asarray(constants["means"]),
            np.asarray(constants["deviations"]),
        )

    def of(self, crystal: Crystal) -> Row:
        """Return both fingerprints of a crystal."""
        fingerprints = (self.of_composition(crystal.composition), self.of_structure(crystal))
        return dict(zip(FINGERPRINTS, (values.tolist() for values in fingerprints), strict=True))

    def of_composition(self, composition: Mapping[int, int]) -> Floats:
        """Return the scaled fingerprint [132] of elements, Z -> count."""
        from pymatgen.core import Composition, Element

        elements = Composition({Element.from_Z(z): count for z, count in composition.items()})
        values = (np.asarray(self.composition.featurize(elements), dtype=np.float64) - self.means) / self.deviations
        if not np.isfinite(values).all():
            raise ValueError(f"an element of {elements.reduced_formula} has no Magpie data")
        return values

    def of_structure(self, crystal: Crystal) -> Floats:
        """Return the mean [61] of the fingerprints of a crystal's sites."""
        structure = crystal.structure()
        sites = [self.structure.featurize(structure, site) for site in range(len(structure))]
        values: Floats = np.mean(np.asarray(sites, dtype=np.float64), axis=0)
        if not np.isfinite(values).all():
            raise ValueError("the order parameters of a site are not finite")
        return values
