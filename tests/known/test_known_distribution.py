"""Distances to a known distribution, and the likelihood bound."""

import math
from pathlib import Path

import pytest
import torch

from pipeline.config import LossChoice, ModelChoice, PathChoice
from pipeline.flow.paths import build_path
from pipeline.flow.posterior import ExactPosterior
from pipeline.known.datasets.checkerboard import Options, prepare, probabilities
from pipeline.known.metrics import known_distribution
from pipeline.networks.saved import Description, SavedModel
from pipeline.sampling.samples import SampleSet
from pipeline.scoring.metrics import likelihood_bound
from pipeline.scoring.subject import Subject

BOARD = Options(levels=4, squares=2, train=10, validation=10, test=400)
DATA = prepare(BOARD, seed=0, cache=Path("unused"))
BLACK = probabilities(BOARD).nonzero()
EVERYWHERE = torch.cartesian_prod(torch.arange(4), torch.arange(4))

# The uniform distribution and q, whose mean is 3/4 of q on black squares and 1/4 of that elsewhere.
BETWEEN = (0.5 * math.log(2 / 3) + 0.5 * math.log(2) + math.log(4 / 3)) / 2


def subject(tokens: torch.Tensor, model: SavedModel | None = None) -> Subject:
    return Subject(SampleSet(tokens, {"run": "x"}), DATA, model, seed=0)


def exact_model(name: str) -> SavedModel:
    path = build_path(name, DATA.vocabulary)
    posterior = ExactPosterior(path, BLACK, torch.full((len(BLACK),), 1 / len(BLACK), dtype=torch.float64))
    description = Description(
        run=name,
        model=ModelChoice(name="mlp"),
        path=PathChoice(name=name),
        loss=LossChoice(name="cross_entropy"),
        seed=0,
        length=DATA.length,
        vocabulary=DATA.vocabulary_hash,
    )
    return SavedModel(posterior, path, description)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "tokens, total_variation, jensen_shannon, inside",
    [
        (BLACK, 0.0, 0.0, 1.0),
        (EVERYWHERE, 0.5, BETWEEN, 0.5),
        (torch.tensor([[0, 3], [3, 0]]), 1.0, math.log(2), 0.0),
    ],
    ids=["the support", "the whole board", "the wrong squares"],
)
def test_distances_have_their_exact_values(
    tokens: torch.Tensor, total_variation: float, jensen_shannon: float, inside: float
) -> None:
    scores = known_distribution.score(subject(tokens), known_distribution.Options())
    expected = {"total_variation": total_variation, "jensen_shannon": jensen_shannon, "inside_support": inside}
    assert scores == pytest.approx(expected, abs=1e-12)


def test_the_bound_of_the_exact_posterior_is_the_entropy_on_a_mask_path() -> None:
    options = likelihood_bound.Options(sequences=400, points=64)
    scores = likelihood_bound.score(subject(BLACK, exact_model("mask")), options)
    assert scores["entropy_nats"] == pytest.approx(math.log(8))
    assert scores["bound_nats"] == pytest.approx(scores["entropy_nats"], abs=4 * scores["bound_error"])
    assert 0 < scores["bound_monte_carlo_error"] < 0.1
    assert scores["bound_error"] < 0.1


@pytest.mark.parametrize("model", [None, "metric"])
def test_without_a_network_or_a_mixture_path_only_the_entropy_is_given(model: str | None) -> None:
    chosen = exact_model(model) if model else None
    scores = likelihood_bound.score(subject(BLACK, chosen), likelihood_bound.Options(sequences=4, points=2))
    assert list(scores) == ["entropy_nats"]
