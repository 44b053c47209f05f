"""The Magpie fingerprint of a composition (Ward et al., 2016), as matminer's ElementProperty computes it."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import numpy as np

from pipeline.crystals.crystal import Floats

PROPERTIES = (
    *("Number", "MendeleevNumber", "AtomicWeight", "MeltingT", "Column", "Row", "CovalentRadius", "Electronegativity"),
    *("NsValence", "NpValence", "NdValence", "NfValence", "NValence"),
    *("NsUnfilled", "NpUnfilled", "NdUnfilled", "NfUnfilled", "NUnfilled"),
    *("GSvolume_pa", "GSbandgap", "GSmagmom", "SpaceGroupNumber"),
)
LAST = 118  # Z
STATISTICS = ("minimum", "maximum", "range", "mean", "avg_dev", "mode")


def magpie(composition: Mapping[int, int]) -> Floats:
    """Return the :data:`STATISTICS` [132] of each property of elements, Z -> count; NaN where there is no data.

    The mode is that of the most frequent element, and the least of several.
    """
    values, counts = _tables()[[z - 1 for z in composition]], np.array(list(composition.values()), dtype=np.float64)
    shares = counts / counts.sum()
    low, high, mean = values.min(axis=0), values.max(axis=0), shares @ values
    mode = values[counts == counts.max()].min(axis=0)
    return np.stack([low, high, high - low, mean, shares @ np.abs(values - mean), mode], axis=-1).ravel()


@cache
def _tables() -> Floats:
    """Return the properties [Z - 1, property] in matminer's files. Importing its featurisers would take seconds."""
    folder = files("matminer") / "utils" / "data_files" / "magpie_elementdata"
    tables = [(folder / f"{name}.table").read_text(encoding="utf-8").splitlines() for name in PROPERTIES]
    return np.array([[_number(line) for line in lines[:LAST]] + [np.nan] * (LAST - len(lines)) for lines in tables]).T


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # such as Missing[Unknown]
        return np.nan
