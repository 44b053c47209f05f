"""Perplexities: exact where they can be, bounds elsewhere, by one estimator, with names of sets as columns."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from pipeline.config import LossChoice, ModelChoice, PathChoice
from pipeline.flow.paths import build_path
from pipeline.flow.posterior import ExactPosterior
from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.saved import Description, SavedModel
from pipeline.sampling.samples import SampleSet
from pipeline.scoring.subject import Subject, score_subject
from pipeline.store.journal import Journal
from pipeline.text.metrics.perplexity import Options, conditions, score
from pipeline.text.networks import text_autoregressive
from pipeline.tokens.token_data import TokenData

VOCABULARY = Vocabulary.single(3, specials=1)
SEQUENCES = torch.tensor([[0, 0], [1, 2], [2, 1], [2, 2]])
PROBABILITIES = torch.tensor([0.5, 0.25, 0.15, 0.1]).double()
OTHER = torch.tensor([[1, 2], [1, 2], [0, 0]])
RECORD = {"sets": {"test": {"tokens": 6, "separators": 2, "words": None}}}
RECORD["sets"]["other"] = {"tokens": 5, "separators": 1, "words": 3}
DATA = TokenData(
    torch.tensor([[0, 0], [0, 1]]),
    SEQUENCES,
    SEQUENCES,
    VOCABULARY,
    {"name": "text", "corpus": {"name": "speeches"}, "tokenizer": {"name": "bpe", "size": 3}},
    evaluation={"other": OTHER},
    record=RECORD,
)


def described(path: str | None, loss: str | None) -> Description:
    return Description(
        run="run",
        model=ModelChoice(name="mlp"),
        path=PathChoice(name=path) if path else None,
        loss=LossChoice(name=loss) if loss else None,
        seed=0,
        length=2,
        vocabulary=DATA.vocabulary_hash,
    )


def subject(network: Any, path: str | None, *, loss: str | None = None, run: str = "run", **more: Any) -> Subject:
    model = SavedModel(network, build_path(path, VOCABULARY) if path else None, described(path, loss))
    return Subject(SampleSet(SEQUENCES, {"run": run}), DATA, model if network else None, 0, **more)


class Network(torch.nn.Module):
    """An exact posterior as a network."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.posterior = ExactPosterior(build_path(path, VOCABULARY), SEQUENCES, PROBABILITIES)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return self.posterior(x, t)


def test_the_bound_of_a_mask_with_the_exact_posterior_is_the_perplexity() -> None:
    scores = score(subject(Network("mask"), "mask", loss="mixture_elbo"), Options(points=600, batch=3))
    for name, rows in (("speeches", PROBABILITIES), ("other", PROBABILITIES[[1, 1, 0]])):
        error = scores[f"perplexity_{name}_error"]
        assert 0 < error < 0.1
        assert abs(scores[f"perplexity_{name}"] - math.exp(float(-rows.log().mean()) / 2)) < 4 * error


def test_other_sources_have_a_larger_bound_with_an_error() -> None:
    scores = score(subject(Network("uniform"), "uniform", loss="mixture_elbo"), Options(points=500))
    exact = math.exp(float(-PROBABILITIES.log().mean()) / 2)
    assert scores["perplexity_speeches"] > exact + scores["perplexity_speeches_error"] > exact


def test_a_metric_path_has_no_perplexity() -> None:
    network = torch.nn.Identity()
    assert score(subject(network, "metric", loss="cross_entropy"), Options()) == {}


def test_that_of_an_autoregressive_network_is_exact() -> None:
    torch.manual_seed(0)
    network = text_autoregressive.build(text_autoregressive.Options(width=8, depth=1, heads=2), VOCABULARY, 2).eval()
    known = subject(network, None)
    scores = score(known, Options(batch=3))
    logits = network(SEQUENCES)[..., :3].double()  # the mask is never predicted
    nats = -logits.detach().log_softmax(-1).gather(-1, SEQUENCES[..., None]).mean()
    assert scores["perplexity_speeches"] == pytest.approx(math.exp(float(nats)), rel=1e-6)
    assert scores["perplexity_speeches_error"] == 0
    assert conditions(known, Options()) == {"likelihood": "exact", "tokens": "bpe of 3"}


def test_the_null_row_has_that_of_single_tokens_and_the_data_none() -> None:
    scores = score(subject(None, None, run="independent"), Options())
    p = torch.tensor([4, 2, 1]).double() / 7  # counts 3, 1, 0, and one more of each
    assert scores["perplexity_speeches"] == pytest.approx(math.exp(float(-p[SEQUENCES].log().mean())))
    assert score(subject(None, None, run="data"), Options()) == {}


def test_a_set_with_words_has_a_perplexity_per_word() -> None:
    scores = score(subject(None, None, run="independent"), Options())
    assert scores["word_perplexity_other"] == pytest.approx(scores["perplexity_other"] ** 2)  # 6 tokens for 3 words
    assert scores["word_perplexity_other_error"] == 0  # of an exact value
    assert "word_perplexity_speeches" not in scores


def test_a_swept_run_leaves_it_to_the_run_that_was_trained() -> None:
    known = subject(Network("mask"), "mask", loss="mixture_elbo", swept=True)
    assert score(known, Options()) == {}
    assert conditions(known, Options()) == {}


def test_a_network_of_scores_is_evaluated_as_one() -> None:
    """Under a mask its logits are those of a posterior, up to how much of it there is in all."""
    options = Options(points=500)
    as_scores = subject(Network("mask"), "mask", loss="score_entropy")
    bound = score(as_scores, options)["perplexity_speeches"]
    exact = math.exp(float(-PROBABILITIES.log().mean()) / 2)
    assert bound > 1.2 * exact  # the scores of a third of the posterior, for three tokens
    assert conditions(as_scores, options) == {"likelihood": "bound", "tokens": "bpe of 3"}


def test_only_so_many_sequences_are_evaluated() -> None:
    scores = score(subject(None, None, run="independent"), Options(sequences=1))
    assert scores["perplexity_speeches"] == pytest.approx(7 / 4)


def test_scoring_that_was_stopped_goes_on_with_the_next_part_and_gives_the_same_digits(tmp_path: Path) -> None:
    class Stopping(Network):
        left = 0

        def forward(self, x: Tensor, t: Tensor) -> Tensor:
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            return super().forward(x, t)

    def scores(network: Network) -> dict[str, float]:
        kept = subject(network, "mask", loss="mixture_elbo", finished=Journal(tmp_path, "these"))
        return score_subject(kept, {"perplexity": {"points": 20, "batch": 2}})

    counting = Stopping("mask")
    counting.left = -1
    score(subject(counting, "mask", loss="mixture_elbo"), Options(points=20, batch=2))
    stopping = Stopping("mask")
    stopping.left = (-1 - counting.left) // 2
    with pytest.raises(KeyboardInterrupt):
        scores(stopping)
    done = len(Journal(tmp_path, "these").entries)
    assert 0 < done < 4
    resumed = scores(Network("mask"))
    assert len(Journal(tmp_path, "these").entries) == 4 + 1  # parts, and the metric
    assert resumed == score_subject(
        subject(Network("mask"), "mask", loss="mixture_elbo"), {"perplexity": {"points": 20, "batch": 2}}
    )
    stopping.left = 0
    assert scores(stopping) == resumed  # all is known
