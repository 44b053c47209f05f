"""The two fingerprints of a crystal by which Xie et al. (2022) compare sets of crystals.

One has Magpie statistics of the elements (Ward et al., 2016), scaled by published constants, the other order parameters
of the sites (Zimmermann and Jain, 2020), averaged over the cell. Both are those of matminer, only faster.
"""

import json
import warnings
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.crystals.crystal import Crystal, Floats
from pipeline.crystals.magpie import magpie
from pipeline.crystals.neighbours import Unusual, coordination, neighbours_of
from pipeline.crystals.order_parameters import motifs_of, order_parameters
from pipeline.crystals.table import Row

if TYPE_CHECKING:
    from pymatgen.core import Structure

SCALER = Path(__file__).parent / "reference" / "composition_scaler.json"
FINGERPRINTS = ("composition_fingerprint", "structure_fingerprint")
LARGEST = 24  # coordination number in the fingerprint


def fingerprints_of(crystal: Crystal) -> Row:
    """Return both fingerprints of a crystal, or raise an error if one cannot be computed."""
    values = (composition_fingerprint(crystal.composition), structure_fingerprint(crystal))
    return dict(zip(FINGERPRINTS, (one.tolist() for one in values), strict=True))


def composition_fingerprint(composition: Mapping[int, int]) -> Floats:
    """Return the scaled fingerprint [132] of elements, Z -> count.

    Entries on which Magpie has no data are NaN; that is so for He, Ne, Ar, At, Rn and Fr.
    """
    means, deviations = _scaler()
    return (magpie(composition) - means) / deviations


def structure_fingerprint(crystal: Crystal) -> Floats:
    """Return the mean [61] of the fingerprints of a crystal's sites."""
    structure = crystal.structure()
    with warnings.catch_warnings(action="ignore"):  # the libraries warn about nearly every structure
        try:
            sites = site_fingerprints(structure)
        except Unusual:
            sites = np.array(
                [_matminer().featurize(structure, site) for site in range(len(structure))], dtype=np.float64
            )
    values: Floats = np.mean(sites, axis=0)
    if not np.isfinite(values).all():
        raise ValueError("the order parameters of a site are not finite")
    return values


def site_fingerprints(structure: "Structure") -> Floats:
    """Return the fingerprints [sites, 61]: for each coordination number its weight, and its motifs times the weight."""
    starts = np.cumsum([0, *(1 + len(motifs_of(count)) for count in range(1, LARGEST + 1))])
    values = np.zeros((len(structure), starts[-1]))
    alike = defaultdict(list)  # sites by coordination number; a site may have several
    for site, (vectors, weights) in enumerate(neighbours_of(structure)):
        for count, weight in coordination(weights).items():
            if count <= LARGEST:
                values[site, starts[count - 1]] = weight
                alike[count].append((site, vectors[:count]))
    for count, members in alike.items():
        sites, vectors = [site for site, _ in members], np.stack([vectors for _, vectors in members])
        start = starts[count - 1]
        values[sites, start + 1 : starts[count]] = values[sites, start, None] * order_parameters(vectors)
    return values


@cache
def _scaler() -> tuple[Floats, Floats]:
    """Return means and deviations; they were computed without imputed values, which are matminer's later default."""
    constants = json.loads(SCALER.read_text(encoding="utf-8"))
    return np.asarray(constants["means"]), np.asarray(constants["deviations"])


@cache
def _matminer() -> Any:
    """Return matminer's featuriser of sites, which takes seconds to load."""
    from matminer.featurizers.site.fingerprint import CrystalNNFingerprint

    return CrystalNNFingerprint.from_preset("ops")
