"""All metrics of an experiment together."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pipeline.config import Strict
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.sampling.samples import SampleSet
from pipeline.scoring.subject import Subject, conditions_of_metrics, score_subject
from pipeline.tokens.token_data import TokenData

TOKENS = torch.zeros(2, 1, dtype=torch.int64)
DATA = TokenData(TOKENS, TOKENS, TOKENS, Vocabulary.single(2), {})
SUBJECT = Subject(SampleSet(TOKENS, {"run": "x"}), DATA, None, seed=3)


class Options(Strict):
    """The options of every metric here."""

    factor: float = 1.0


@pytest.fixture(autouse=True)
def _metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every metric give one number under its name; `<name>_again` gives that of `<name>`."""

    def load(plugins: object, name: str) -> Any:
        def score(subject: Subject, options: Options) -> dict[str, float]:
            return {name.removesuffix("_again"): subject.seed * options.factor}

        def conditions(subject: Subject, options: Options) -> dict[str, float]:
            return {f"{name} by": options.factor}

        return SimpleNamespace(Options=Options, score=score, conditions=conditions)

    monkeypatch.setattr("pipeline.config.plugins.Plugins.load", load)


def test_the_scores_of_all_metrics_stand_in_one_dictionary_and_their_conditions_in_another() -> None:
    scoring: dict[str, Any] = {"one": {}, "other": {"factor": 2}}
    assert score_subject(SUBJECT, scoring) == {"one": 3, "other": 6}
    assert conditions_of_metrics(SUBJECT, scoring) == {"one by": 1, "other by": 2}


def test_two_metrics_that_give_the_same_number_are_an_error_that_names_it() -> None:
    with pytest.raises(KinoflowError, match="metric 'one_again': another one gives one too; rename it"):
        score_subject(SUBJECT, {"one": {}, "one_again": {}})
