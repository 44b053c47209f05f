"""Runs whose network gives concrete scores: samples are drawn from the posterior that the scores imply."""

import pytest
import torch
from torch import Tensor, nn

from pipeline.config import LossChoice, ModelChoice, PathChoice, Sampling
from pipeline.flow import chunks
from pipeline.flow.paths import build_path
from pipeline.flow.posterior import ExactPosterior, constrain
from pipeline.flow.score import log_scores, posterior_to_score
from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.saved import Description, SavedModel
from pipeline.sampling.blocks import draw_blocks
from pipeline.tokens.token_data import TokenData

VOCABULARY = Vocabulary.single(3, specials=1)
SEQUENCES = torch.tensor([[0, 0], [1, 2], [2, 1], [2, 2]])
PROBABILITIES = torch.tensor([0.5, 0.25, 0.15, 0.1]).double()
DATA = TokenData(SEQUENCES, SEQUENCES, SEQUENCES, VOCABULARY, {"name": "test"})


class Scores(nn.Module):
    """The network of the exact scores."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = build_path(path, VOCABULARY, scheduler="linear")
        self.posterior = ExactPosterior(self.path, SEQUENCES, PROBABILITIES)
        self.nothing = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        kinds, t = torch.zeros_like(x), t.clamp(min=1e-3)  # at t = 0 nobody needs scores
        times = t.double()[:, None].expand(x.shape)
        posterior = constrain(self.path, self.posterior(x, t), x, kinds).softmax(-1)
        scores = posterior_to_score(self.path, posterior, kinds, x, times)
        return scores.clamp(min=1e-300).log() - log_scores(self.path, torch.zeros_like(scores), times)


def saved(path: str) -> SavedModel:
    description = Description(
        run="sedd",
        model=ModelChoice(name="mlp"),
        path=PathChoice(name=path),
        loss=LossChoice(name="score_entropy"),
        seed=0,
        length=2,
        vocabulary=DATA.vocabulary_hash,
    )
    network = Scores(path)
    return SavedModel(network, network.path, description)


@pytest.mark.parametrize("path", ["mask", "uniform"])
def test_samples_of_exact_scores_follow_the_data(path: str) -> None:
    (block,) = draw_blocks(saved(path), DATA, Sampling(count=6000, steps=64, block=6000), seed=1, blocks=[0])
    drawn = block.tokens.long()
    shares = (drawn[:, None] == SEQUENCES).all(-1).double().mean(0)
    assert float((shares - PROBABILITIES).abs().sum()) / 2 < 0.03


@pytest.mark.parametrize("path", ["mask", "uniform"])
def test_the_posterior_does_not_depend_on_the_memory_that_it_may_take(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, t = torch.tensor([[0, 1], [2, 2], [1, 0]]), torch.tensor([0.3, 0.6, 0.9])
    whole = saved(path).posterior(x, t)
    monkeypatch.setattr(chunks, "MEMORY_BUDGET", 1)
    assert torch.equal(saved(path).posterior(x, t), whole)
    assert whole.shape == (3, 2, 4)
