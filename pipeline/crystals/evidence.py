"""What is known of the structures of a run, which is what the metrics of crystals are computed from."""

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class CrystalEvidence:
    """One row for each generated structure: what was found out about it, and its description with the fingerprints.

    `test` describes the test set, and `evaluations` is how often the network was evaluated for one structure; both are
    None where there is no such thing. A column that `assessed` does not have was not asked about.
    """

    assessed: pd.DataFrame
    described: pd.DataFrame
    test: pd.DataFrame | None = None
    evaluations: float | None = None
