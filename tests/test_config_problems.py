"""All problems of a configuration at once: those of its parts, and those of parts that do not go together."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny import TINY_LATENTS, TINY_PIXELS, TINY_TEXT

from pipeline.config.loading import load_config
from pipeline.config.problems import ConfigError

AT = "experiments.checkerboard"
MASK = {"path": {"name": "mask"}, "loss": "cross_entropy"}


def problems(file: Path) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        load_config(file)
    return [str(problem) for problem in refused.value.problems]


def changed(**experiment: Any) -> dict[str, Any]:
    return {"experiments": {"checkerboard": experiment}}


def test_runs_that_are_valid_are_tried_beside_one_that_is_not(tiny_file: Callable[..., Path]) -> None:
    runs = {
        "metric": {"loss": "mixture_elbo"},
        "wrong": MASK | {"seed": -1},
        "mask_linear": {"path": {"scheduler": "x"}},
    }
    found = problems(tiny_file(changed(runs=runs)))
    assert [line.partition(":")[0] for line in found] == [
        f"{AT}.runs.wrong.seed = -1",
        f"{AT}.runs.mask_linear.path",
        f"{AT}.runs.metric.loss",
    ]


def test_other_experiments_are_tried_beside_one_that_is_not_valid(tiny_file: Callable[..., Path]) -> None:
    experiments = {
        "checkerboard": {"training": {"steps": 0}},
        "text": TINY_TEXT | {"scoring": {"generative_perplexity": {"judge": {"name": "run", "run": "arr"}}}},
        "pixels": TINY_PIXELS | {"tokenizer": {}, "search": {"runs": ["metrik"], "steps": [2]}},
        "latents": TINY_LATENTS | {"tokenizer": None, "crystals": {}},
    }
    found = problems(tiny_file({"experiments": experiments}))
    assert sorted(line.partition(":")[0] for line in found) == [
        f"{AT}.training.steps = 0",
        "experiments.latents.crystals",
        "experiments.latents.tokenizer",
        'experiments.pixels.search.runs = "metrik"',
        "experiments.pixels.tokenizer",
        'experiments.text.scoring.generative_perplexity.judge.run = "arr"',
    ]


def test_a_run_that_is_left_out_is_not_missed_by_those_that_name_it(tiny_file: Callable[..., Path]) -> None:
    wrong = {"runs": {"ar": {"sampling": {"steps": 0}}}, "sweep": {"runs": ["ar"], "temperature": [2.0]}}
    text = TINY_TEXT | {"runs": TINY_TEXT["runs"] | {"ar": TINY_TEXT["runs"]["ar"] | wrong["runs"]["ar"]}}
    found = problems(tiny_file({"experiments": {"text": text | {"sweep": wrong["sweep"]}}}))
    assert [line.partition(":")[0] for line in found] == ["experiments.text.runs.ar.sampling.steps = 0"]


@pytest.mark.parametrize(
    "wrong", [{"loss": "x"}, {"loss": "mixture_elbo"}, {"model": {"widht": 3}}, {"path": {"lp": "x"}}]
)
def test_runs_that_a_sweep_or_a_seed_adds_do_not_repeat_the_problem_of_their_own(
    tiny_file: Callable[..., Path], wrong: dict[str, Any]
) -> None:
    found = problems(tiny_file(changed(runs={"metric": wrong}, sweep={"steps": [2, 8]}, seeds=[1, 2])))
    assert [line.split(":")[0].split(" ")[0].split(".")[3] for line in found] == ["metric"]


def test_what_a_sweep_alone_gets_wrong_is_told_of_its_run(tiny_file: Callable[..., Path]) -> None:
    sweep = {"runs": ["metric"], "velocity": [{"name": "power", "alpha": -1.0}]}
    (found,) = problems(tiny_file(changed(sweep=sweep)))
    assert found.startswith(f"{AT}.runs.metric_velocity_power_alpha__1.sampling: does not work on the path 'metric'")


def test_an_unknown_key_of_a_sweep_is_named(tiny_file: Callable[..., Path]) -> None:
    (found,) = problems(tiny_file(changed(sweep=[{"steps": [2]}, {"stepz": [2]}])))
    assert found.startswith(f"{AT}.sweep.1.stepz = [2]: unknown key; did you mean 'step'?")


def test_a_key_is_named_below_a_name_that_is_no_name(tiny_file: Callable[..., Path]) -> None:
    found = problems(tiny_file({"experiments": {"123": {"foo": 1}}}))
    assert "experiments.123.foo = 1: unknown key; allowed: crystals" in "\n".join(found)


def test_a_name_that_stands_alone_is_a_problem_of_its_key(tiny_file: Callable[..., Path]) -> None:
    found = problems(tiny_file(changed(sampling={"velocity": "mine"}, figure="bords")))
    assert [line.partition(";")[0] for line in found] == [
        f'{AT}.sampling.velocity = "mine": unknown velocity',
        f'{AT}.figure = "bords": unknown figure',
    ]


def test_redraws_of_a_network_that_knows_no_conflicts_are_told_before_any_job(tiny_file: Callable[..., Path]) -> None:
    (found,) = problems(tiny_file(changed(runs={"metric": {"sampling": {"redraws": 5}}})))
    assert found.startswith(f"{AT}.runs.metric.sampling.redraws = 5: the network knows no conflicts between tokens")


@pytest.mark.parametrize(
    "sampling, message",
    [
        ({"scheme": "confidence"}, "scheme: the confidence order unmasks tokens and needs a mask path"),
        ({"scheme": {"name": "theta_trapezoidal", "theta": 1.5}}, "theta: must lie between 0 and 1"),
        ({"grid": "fitted"}, "grid: fitted needs what was `measured`"),
        ({"grid": {"name": "fitted", "measured": [1.0, -1.0]}}, "grid.measured: must be finite numbers"),
    ],
)
def test_a_scheme_or_a_grid_that_cannot_work_is_told_before_any_job(
    tiny_file: Callable[..., Path], sampling: dict[str, Any], message: str
) -> None:
    (found,) = problems(tiny_file(changed(runs={"metric": {"sampling": sampling}})))
    assert found.startswith(f"{AT}.runs.metric.sampling: does not work on the path 'metric': {message}")
