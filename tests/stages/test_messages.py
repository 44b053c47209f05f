"""What stages say of files and experiments that do not belong together."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import Config
from pipeline.config.loading import load_config
from pipeline.errors import KinoflowError
from pipeline.stages.conditional_path import conditional_path
from pipeline.stages.figure import figure
from pipeline.stages.job import Job
from pipeline.stages.judge import judge
from pipeline.stages.prepare import prepare
from pipeline.stages.relax import relax
from pipeline.stages.score import score
from pipeline.stages.train_tokenizer import train_tokenizer

ANY = Path("any")


@pytest.fixture
def job(tiny_file: Callable[..., Path]) -> Job:
    return Job(load_config(tiny_file()), "checkerboard")


def test_score_takes_all_tables_of_crystals_or_none(job: Job) -> None:
    with pytest.raises(KinoflowError, match="--structures, --described and --test: for crystals, give all three"):
        score(job, samples=ANY, tokens=ANY, output=ANY, structures=ANY, test=ANY)


@pytest.mark.parametrize("flag", ["structures", "relaxed", "scores", "pictures"])
def test_a_figure_takes_one_file_for_each_of_the_samples(flag: str, job: Job) -> None:
    further: dict[str, Any] = {flag: (ANY,)}
    with pytest.raises(KinoflowError, match=f"--{flag}: 1 files for 2 of --samples; give one for each"):
        figure(job, samples=[ANY, ANY], tokens=ANY, output=ANY, **further)


def test_an_experiment_without_a_figure_is_told_which_there_are(tiny_file: Callable[..., Path]) -> None:
    config = load_config(tiny_file({"experiments": {"checkerboard": {"figure": None}}}))
    with pytest.raises(KinoflowError, match=r"experiments\.checkerboard\.figure: none is set; name one of boards, "):
        figure(Job(config, "checkerboard"), samples=[ANY], tokens=ANY, output=ANY)


def test_an_experiment_on_other_data_is_named(job: Job) -> None:
    with pytest.raises(KinoflowError, match=r"experiments\.checkerboard\.crystals is null"):
        relax(job, crystals=ANY, journal=ANY, output=ANY)
    with pytest.raises(KinoflowError, match=r"experiments\.checkerboard\.scoring: has no generative_perplexity"):
        judge(job, output=ANY)
    files = dict.fromkeys(("images", "checkpoints", "weights", "metrics", "history"), ANY)
    with pytest.raises(KinoflowError, match=r"experiments\.checkerboard\.tokenizer is null"):
        train_tokenizer(job, **files)


def test_an_experiment_without_a_path_has_no_figure_of_paths(job: Job, tmp_path: Path) -> None:
    prepare(job, output=tmp_path / "tokens")
    runs = {name: run.model_copy(update={"path": None}) for name, run in job.block.runs.items()}
    block = job.block.model_copy(update={"runs": runs})
    config: Config = job.config.model_copy(update={"experiments": {"x": block}})
    with pytest.raises(KinoflowError, match=r"experiments\.x\.runs: none has a path"):
        conditional_path(Job(config, "x"), tokens=tmp_path / "tokens", output=ANY)
