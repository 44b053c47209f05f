"""Fingerprints of crystals: what they are made of, and how their atoms are surrounded.

They are those of the coverage metrics of Xie et al. (2022): Magpie statistics of the elements (Ward et al., 2016),
scaled by published constants, and order parameters of the sites (Zimmermann and Jain, 2020), averaged over the cell.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.crystals.crystal import Crystal, Floats

COMPOSITION_SIZE, STRUCTURE_SIZE = 132, 61
SCALER = Path(__file__).parent / "reference" / "composition_scaler.json"


@dataclass(frozen=True)
class Fingerprinter:
    """The two featurisers of matminer, which take seconds to load, and the scaler's constants."""

    composition: Any
    structure: Any
    means: Floats
    deviations: Floats

    @classmethod
    def load(cls) -> "Fingerprinter":
        """Load the featurisers and the constants."""
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
