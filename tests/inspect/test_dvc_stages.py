"""How jobs of a workflow become stages of DVC, where the demo does not show it."""

from pathlib import Path

import pytest
import yaml
from tiny import TINY

from pipeline.config import Config
from pipeline.config.loading import load_config
from pipeline.errors import KinoflowError
from pipeline.inspect.dvc.blocks import blocks_of
from pipeline.inspect.dvc.steps import Step, steps_of, together
from pipeline.inspect.dvc.text import dvc_text
from pipeline.inspect.dvc.workflow import WorkflowJob, in_order


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(TINY))
    return load_config(tmp_path / "tiny.yaml", choices=False)


def job(stage: str, reads: str = "", makes: str = "", passes: str = "", **names: str) -> WorkflowJob:
    """Return a job of a rule with the name of its stage; files are separated by spaces."""
    files = (tuple(paths.split()) for paths in (reads, makes, passes))
    return WorkflowJob(stage, stage, {"experiment": "checkerboard"} | names, *files)


def test_jobs_come_after_those_that_they_read_from() -> None:
    targets, first, second = job("all", "c"), job("prepare", makes="a"), job("table", "a", "c")
    assert in_order([second, first, targets]) == [first, second]


def test_what_is_used_up_by_several_jobs_cannot_be_under_dvc() -> None:
    shards = [job("sample", passes=f"s{shard}") for shard in range(2)]
    gather = job("gather", "s0 s1", "s")
    assert together([*shards, gather]) == [[*shards, gather]]
    with pytest.raises(KinoflowError, match="rule sample: 2 jobs read its temporary files"):
        together([*shards, gather, job("table", "s0", "t")])


def test_a_folder_stands_for_its_files_if_all_that_write_there_are_read(config: Config) -> None:
    scores = [job("score", makes=f"s/{name}.json s/{name}.txt", name=name) for name in ("metric", "data")]
    table = job("table", "s/metric.json s/data.json t/a", "a.csv")
    assert steps_of(config, [*scores, table])[-1].content["deps"] == ["s", "t/a"]
    other = job("score", makes="s/independent.json", name="independent")
    assert steps_of(config, [*scores, other, table])[-1].content["deps"] == ["s/metric.json", "s/data.json", "t/a"]


@pytest.mark.parametrize("path", ["/scratch/a.csv", "../a.csv", "$(a).csv"])
def test_a_file_that_dvc_cannot_keep_is_an_error(config: Config, path: str) -> None:
    with pytest.raises(KinoflowError, match="DVC keeps files below the repository with plain names"):
        steps_of(config, [job("table", makes=path)])


def test_a_run_with_the_name_of_a_file_is_told_apart(config: Config) -> None:
    steps = [
        Step("score", "checkerboard", {"cmd": f"make s/{name}.json", "deps": ["t/metric.json"]}, name, name)
        for name in ("metric", "mask_linear")
    ]
    (block,) = blocks_of(config, steps)
    assert block.content == {"cmd": "make s/${key}.json", "deps": ["t/metric.json"]}


def test_two_stages_of_one_name_are_an_error(config: Config) -> None:
    steps = [Step("prepare", "images_a", {"cmd": "a"}), Step("prepare_images", "a", {"cmd": "b"})]
    with pytest.raises(KinoflowError, match="two stages 'prepare_images_a'"):
        blocks_of(config, steps)


def test_a_configuration_that_the_workflow_does_not_read_is_an_error(config: Config, tmp_path: Path) -> None:
    with pytest.raises(KinoflowError, match=r"the workflow reads config/tiny\.yaml; move the file there"):
        dvc_text(tmp_path / "tiny.yaml")
