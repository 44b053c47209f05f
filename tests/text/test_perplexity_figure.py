"""The figure of perplexities: who is on the Pareto front, whose bound a swept run has, and what is shown."""

import pytest
import torch

from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.report.exhibit import Exhibit
from pipeline.sampling.samples import SampleSet
from pipeline.text.figures.perplexities import Options, Point, draw, pareto_front, points_of
from pipeline.tokens.token_data import TokenData

TOKENS = torch.zeros(2, 3, dtype=torch.int64)
DATA = TokenData(TOKENS, TOKENS, TOKENS, Vocabulary.single(2, specials=1), {})


def exhibit(run: str, scores: dict[str, float] | None, **conditions: object) -> Exhibit:
    return Exhibit(SampleSet(TOKENS, {"run": run} | conditions), scores=scores)


def point(x: float, y: float) -> Point:
    return Point(x, y, "")


RUNS = {
    "ar": exhibit("ar", {"perplexity_a": 5.0, "generative_perplexity": 9.0}, path="autoregressive"),
    "one": exhibit("one", {"perplexity_a": 20.0, "perplexity_a_error": 0.1, "generative_perplexity": 90.0}, NFE=64),
    "two": exhibit("two", {"perplexity_a": 30.0, "generative_perplexity": 50.0, "token_entropy": 3.0}, NFE=64),
    "one_steps_16": exhibit("one_steps_16", {"generative_perplexity": 120.0}, weights="one", NFE=16),
    "alone": exhibit("alone", {"perplexity_a": 10.0}),
}


def test_the_front_has_what_no_other_beats_in_both() -> None:
    points = [point(3, 3), point(1, 9), point(2, 5), point(2, 6), point(4, 3), point(5, 1)]
    assert [(p.x, p.y) for p in pareto_front(points)] == [(1, 9), (2, 5), (3, 3), (5, 1)]


def test_a_swept_run_has_the_bound_of_the_run_whose_network_it_uses() -> None:
    points = points_of(RUNS, "perplexity_a")
    assert [(p.network, p.swept) for p in points] == [("ar", ""), ("one", ""), ("two", ""), ("one", "steps 16")]
    assert (points[-1].x, points[-1].y) == (20.0, 120.0)  # "alone" was not judged
    assert [p.autoregressive for p in points] == [True, False, False, False]


def test_there_is_a_panel_a_set_and_one_for_the_entropy() -> None:
    references = [exhibit("data", {"generative_perplexity": 20.0, "token_entropy": 3.5}), exhibit("independent", {})]
    figure = draw([*RUNS.values(), *references], DATA, Options())
    assert [axes.get_xlabel() for axes in figure.axes] == [
        "perplexity of a (bound)",
        "entropy of a sample's tokens, nats",
    ]
    assert "held-out data" in {text.get_text() for text in figure.axes[1].texts}


def test_the_front_of_the_runs_with_a_path_is_named_in_bold() -> None:
    axes = draw(list(RUNS.values()), DATA, Options()).axes[0]
    assert {text.get_text() for text in axes.texts if text.get_weight() == "bold"} == {"one", "two"}


def test_without_scores_there_is_an_error_that_names_the_flag() -> None:
    with pytest.raises(KinoflowError, match="--scores"):
        draw([exhibit("one", None)], DATA, Options())
