"""The bound on the negative log-likelihood of held-out data, and the entropy, its lower limit, where that is known."""

import torch
from pydantic import Field

from pipeline.config import DataChoice, Strict
from pipeline.config.plugins import DATASETS
from pipeline.flow.likelihood import evaluate_bound
from pipeline.flow.paths.mixture import MixturePath
from pipeline.scoring.subject import Subject


class Options(Strict):
    """How much of the data is evaluated, and how finely."""

    sequences: int = Field(512, ge=2, description="sequences of the test split")
    points: int = Field(128, ge=2, description="times at which the bound's integrand is evaluated for each of them")


def score(subject: Subject, options: Options) -> dict[str, float]:
    """Return the mean bound in nats per sequence, its standard error, and the part of the error that is Monte Carlo.

    Mixture paths only. The rates of a metric path diverge towards t = 1, as beta does, and amplify the smallest error
    of a network. The bound is finite for the exact posterior, but says nothing about a trained network.
    """
    scores, model = _entropy(subject), subject.model
    if model is None or not isinstance(model.path, MixturePath):
        return scores
    x1 = subject.data.test[: options.sequences].long().to(subject.device)
    generator = torch.Generator().manual_seed(subject.seed)
    bound = evaluate_bound(
        model.network, model.path, x1, points=options.points, generator=generator, integrand=model.integrand
    )
    count = len(x1)
    return {
        "bound_nats": float(-bound.log_prob.mean()),
        "bound_error": float(bound.log_prob.std() / count**0.5),
        "bound_monte_carlo_error": float(bound.standard_error.square().sum().sqrt() / count),
        **scores,
    }


def _entropy(subject: Subject) -> dict[str, float]:
    """Return the entropy of the data's distribution in nats, if the data set gives it, or its probabilities."""
    data = DATASETS.chosen(DataChoice(**subject.data.origin))
    entropy, q = data.plugin.entropy(data.options), data.plugin.probabilities(data.options)
    if entropy is None and q is not None:
        entropy = float(-torch.special.xlogy(q, q).sum())
    return {} if entropy is None else {"entropy_nats": entropy}
