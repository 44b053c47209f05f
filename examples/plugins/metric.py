"""A metric: how many different sequences there are among the samples. Copy to pipeline/scoring/metrics/distinct.py.

In the configuration: `scoring: {distinct: {}}`. Its columns appear in the tables.
"""

import torch

from pipeline.config import Strict
from pipeline.scoring.subject import Subject

HEADLINE = "distinct"  # the column that DVC plots


class Options(Strict):
    """None."""


def score(subject: Subject, options: Options) -> dict[str, float]:
    """Return the share of samples that are the first of their kind, in percent."""
    tokens = subject.samples.tokens
    return {"distinct": 100 * len(torch.unique(tokens, dim=0)) / len(tokens)}
