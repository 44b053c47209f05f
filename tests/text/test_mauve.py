"""MAUVE: the area that the authors' package computes, what it sees, and whose features it takes."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.sampling.samples import SampleSet
from pipeline.scoring.subject import Subject
from pipeline.text.judge import ChosenJudge
from pipeline.text.judges.likelihood import Judge
from pipeline.text.metrics.mauve import Options, area, histograms, score
from pipeline.text.tokenizer import single_bytes
from pipeline.tokens.token_data import TokenData

RANDOM = np.random.default_rng(0)
WORDS = [list(word) for word in (b"abcd", b"bcda", b"cdab", b"dabc", b"zzzz")]


def judge(with_features: bool = True) -> Judge:
    """A judge whose features of a text are how often each byte occurs in it."""

    def counts(x: Tensor, last: Tensor) -> Tensor:
        seen = torch.arange(x.shape[1]) <= last[:, None]
        return torch.stack([torch.bincount(row[kept], minlength=256) for row, kept in zip(x, seen, strict=True)])

    return Judge(
        encode=lambda texts: [list(text.encode()) for text in texts],
        next_logits=lambda x: torch.zeros(len(x), x.shape[1] - 1, 256),
        size=256,
        window=8,
        end=(0,),
        device=torch.device("cpu"),
        last_states=counts if with_features else None,
    )


def rows(words: list[int], count: int) -> Tensor:
    chosen = RANDOM.choice(words, (count, 2))
    return torch.tensor([WORDS[first] + WORDS[second] for first, second in chosen])


@pytest.mark.parametrize(
    "p, q, theirs",  # computed once by mauve-text 0.4.0
    [
        ([0.7, 0.2, 0.1], [0.1, 0.3, 0.6], 0.262989),
        ([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], 0.092572),
        ([0.25, 0.25, 0.25, 0.25], [0.4, 0.3, 0.2, 0.1], 0.957902),
    ],
)
def test_the_area_is_that_of_the_authors(p: list[float], q: list[float], theirs: float) -> None:
    assert area(np.array(p), np.array(q)) == pytest.approx(theirs, abs=1e-6)
    assert area(np.array(q), np.array(p)) == pytest.approx(theirs, abs=1e-6)


def test_equal_histograms_have_one_and_disjoint_ones_almost_nothing() -> None:
    assert area(np.array([0.2, 0.8]), np.array([0.2, 0.8])) == pytest.approx(1)
    assert area(np.array([1.0, 0.0]), np.array([0.0, 1.0])) < 0.01


def test_the_closer_two_sets_of_features_the_larger() -> None:
    texts = RANDOM.normal(size=(400, 5)) + 1

    def of(shift: float) -> float:
        moved = RANDOM.normal(size=(400, 5)) + np.array([1 + shift, 1, 1, 1, 1])
        p, q = histograms(texts, moved, 0)
        assert (p.sum(), q.sum(), len(p)) == (pytest.approx(1), pytest.approx(1), 40)
        return area(p, q)

    same, near, far = of(0), of(1), of(6)
    assert same > near > far


def test_samples_are_compared_with_training_texts_by_the_judges_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ChosenJudge, "load", lambda *_, **__: judge())
    train = rows([0, 1, 2, 3, 4], 200)
    data = TokenData(train, train, train, Vocabulary.single(257, specials=1), {}, tokenizer=single_bytes().json)

    def of(words: list[int], count: int = 200) -> float:
        subject = Subject(SampleSet(rows(words, count), {"run": "mask"}), data, None, 0)
        return score(subject, Options(judge={"name": "smollm2"}))["mauve"]

    assert of([0, 1, 2, 3, 4]) > of([0, 4]) > of([4]) - 1e-9
    assert of([4]) < 0.5 < of([0, 1, 2, 3, 4])
    assert 0 < of([0, 1, 2, 3, 4], count=20) <= 1


def test_features_keep_the_order_of_texts_and_see_no_pads() -> None:
    texts = ["a", "abcabc", "", "ab", "a" * 20]
    features = judge().features(texts)
    assert features[:, ord("a")].tolist() == [1, 2, 0, 1, 8]  # of the last, its first window
    assert features.sum(axis=1).tolist() == [1, 6, 1, 2, 8]  # the empty text is an end token


def test_a_run_of_the_experiment_has_no_features() -> None:
    with pytest.raises(KinoflowError, match=r"scoring\.mauve\.judge: a run of the experiment has no features"):
        judge(with_features=False).features(["a"])
