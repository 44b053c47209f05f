"""How far samples are from a distribution that is known exactly, by their histogram."""

import torch

from pipeline.config import DataChoice, Strict
from pipeline.config.plugins import DATASETS
from pipeline.errors import KinoflowError
from pipeline.scoring.subject import Subject

HEADLINE = "total_variation"


class Options(Strict):
    """None: the data set gives the distribution."""


def score(subject: Subject, options: Options) -> dict[str, float]:
    """Return distances between the histogram of the samples and q, and the share of samples that q allows.

    Total variation is half the sum of absolute differences; the Jensen-Shannon divergence is in nats, at most log 2.
    Both are above zero even for samples from q itself; the reference row of the data shows by how much.
    """
    data = DATASETS.chosen(DataChoice(**subject.data.origin))
    q = data.plugin.probabilities(data.options)
    if q is None:
        raise KinoflowError(f"data {data.name!r}: has no known distribution; remove known_distribution from `scoring`")
    tokens, levels = subject.samples.tokens, q.shape[0]
    cells = sum(tokens[:, place] * levels ** (q.dim() - 1 - place) for place in range(q.dim()))
    histogram = torch.bincount(torch.as_tensor(cells), minlength=q.numel()).double().view(q.shape) / len(tokens)
    middle = (histogram + q) / 2
    divergence = (_relative_entropy(histogram, middle) + _relative_entropy(q, middle)) / 2
    return {
        HEADLINE: float((histogram - q).abs().sum() / 2),
        "jensen_shannon": float(divergence),
        "inside_support": float(histogram[q > 0].sum()),
    }


def _relative_entropy(p: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    return torch.where(p > 0, p * (p / reference).log(), 0.0).nansum()
