"""How jobs of a workflow become stages of DVC, on workflows of a few jobs."""

from pathlib import Path

import pytest
import yaml
from tiny import TINY

from pipeline.config import Config
from pipeline.config.loading import load_config, merge
from pipeline.errors import KinoflowError
from pipeline.inspect.dvc.blocks import Block, blocks_of
from pipeline.inspect.dvc.generate import dvc_text
from pipeline.inspect.dvc.steps import Step, steps_of, together
from pipeline.inspect.dvc.text import text_of
from pipeline.inspect.dvc.workflow import WorkflowJob, in_order


def config_of(folder: Path, **changes: object) -> Config:
    (folder / "tiny.yaml").write_text(yaml.safe_dump(merge(TINY, changes)))
    return load_config(folder / "tiny.yaml", choices=False)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return config_of(tmp_path, experiments={"checkerboard": {"sweep": {"steps": [2]}}})


def job(rule: str, reads: str = "", makes: str = "", passes: str = "", **wildcards: str) -> WorkflowJob:
    """Return a job of a rule of the same name as its stage; files are separated by spaces."""
    names = {"experiment": "checkerboard"} | wildcards if rule != "fetch" else wildcards
    stage = "" if rule == "fetch" else rule
    return WorkflowJob(rule, stage, names, tuple(reads.split()), tuple(makes.split()), tuple(passes.split()))


def test_jobs_come_after_those_that_they_read_from() -> None:
    all_, first, second = job("all", "c"), job("prepare", makes="a"), job("table", "a", "c")
    assert in_order([second, first, all_]) == [first, second]


def test_shards_run_with_the_job_that_joins_them() -> None:
    shards = [job("sample", "w", passes=f"s{shard}", name="metric") for shard in range(2)]
    gather = job("gather", "s0 s1", "s", name="metric")
    assert together([*shards, gather]) == [[*shards, gather]]


def test_shards_that_nobody_joins_are_an_error() -> None:
    shard = job("sample", passes="s0")
    with pytest.raises(KinoflowError, match="rule sample: 2 jobs read its temporary files"):
        together([shard, job("gather", "s0", "a"), job("table", "s0", "b")])


def test_files_of_a_group_are_fetched_together() -> None:
    files = [job("fetch", makes=f"data/cache/mp20/{name}", group="mp20") for name in ("train.csv", "test.csv")]
    assert together([*files, job("fetch", makes="data/cache/digits/a", group="digits")])[0] == files


def test_a_stage_has_the_files_settings_and_plots_of_its_jobs(config: Config) -> None:
    to = "results/tiny"
    train = job("train", f"{to}/t", f"{to}/m.safetensors {to}/m.json {to}/m.csv", name="metric")
    table = job("table", f"{to}/a {to}/b", f"{to}/tables/checkerboard.csv {to}/tables/checkerboard.json")
    stages = {step.label: step.content for step in steps_of(config, [train, table])}
    assert stages["train"] == {
        "cmd": "snakemake ${to}/m.safetensors ${call} train",
        "deps": ["${to}/t"],
        "params": [{"${to}/jobs.json": ["train.checkerboard.metric"]}],
        "outs": ["${to}/m.safetensors"],
        "metrics": ["${to}/m.json"],
        "plots": [{"${to}/m.csv": {"x": "step", "y": "loss"}}],
    }
    assert stages["table"]["metrics"] == [{"${to}/tables/checkerboard.json": {"cache": False}}]
    drawn = {"template": "bar_horizontal", "x": "total_variation", "y": "run", "title": "checkerboard: total variation"}
    assert stages["table"]["plots"] == [{"${to}/tables/checkerboard.csv": {"cache": False} | drawn}]


def test_a_folder_stands_for_its_files_if_all_that_write_there_are_read(config: Config) -> None:
    scores = [job("score", makes=f"s/{name}.json s/{name}.txt", name=name) for name in ("metric", "data")]
    table = job("table", "s/metric.json s/data.json t/a", "a.csv")
    assert steps_of(config, [*scores, table])[-1].content["deps"] == ["s", "t/a"]
    other = job("score", makes="s/independent.json", name="independent")
    assert steps_of(config, [*scores, other, table])[-1].content["deps"] == ["s/metric.json", "s/data.json", "t/a"]


@pytest.mark.parametrize("path", ["/scratch/a.csv", "../a.csv", "a b.csv"])
def test_a_file_that_dvc_cannot_keep_is_an_error(config: Config, path: str) -> None:
    unusual = WorkflowJob("table", "table", {"experiment": "checkerboard"}, (), (path,))
    with pytest.raises(KinoflowError, match="DVC keeps files below the repository with plain names"):
        steps_of(config, [unusual])


def step(name: str, weights: str, *deps: str, experiment: str = "checkerboard") -> Step:
    files = ["${to}/" + dep for dep in deps]
    return Step("score", experiment, {"cmd": f"make ${{to}}/s/{name}.json", "deps": files}, name, weights)


def test_what_differs_by_name_alone_is_one_block_and_the_judge_fits_in(config: Config) -> None:
    at = "models/checkerboard/{}.safetensors"
    judge, metric = at.format("mask_linear"), at.format("metric")
    steps = [
        step("mask_linear", "mask_linear", judge),
        step("metric", "metric", metric, judge),
        step("metric_steps_2", "metric", metric, judge),
        step("data", "data", judge),
    ]
    first, references = blocks_of(config, steps)
    assert first.content["deps"] == ["${to}/" + at.format("${item}"), "${to}/" + judge]
    assert first.content["cmd"] == "make ${to}/s/${key}.json"
    assert first.foreach == {"mask_linear": "mask_linear", "metric": "metric", "metric_steps_2": "metric"}
    assert (references.name, references.foreach) == ("score_checkerboard_references", {"data": "data"})


def test_a_run_with_the_name_of_a_folder_is_told_apart(config: Config) -> None:
    steps = [step("metric", "metric", "t/metric.json"), step("mask_linear", "mask_linear", "t/metric.json")]
    (block,) = blocks_of(config, steps)
    assert block.content["deps"] == ["${to}/t/metric.json"]


def test_two_stages_of_one_name_are_an_error(config: Config) -> None:
    steps = [Step("prepare", "images_a", {"cmd": "a"}), Step("prepare_images", "a", {"cmd": "b"})]
    with pytest.raises(KinoflowError, match="two stages 'prepare_images_a'"):
        blocks_of(config, steps)


def test_experiments_take_over_what_another_says(tmp_path: Path) -> None:
    board = TINY["experiments"]["checkerboard"]
    config = config_of(tmp_path, experiments={"other": board, "third": board})
    names = {"metric": "metric"}
    blocks = [
        Block(f"train_{of}", "train", of, {"cmd": f"make m/{of}/${{key}}", "deps": deps, "outs": [f"m/{of}/x"]}, names)
        for of, deps in (("checkerboard", ["a"]), ("other", ["a"]), ("third", ["b"]))
    ]
    text = text_of(config, blocks)
    assert "do: {<<: *train, vars: [{of: other}]}" in text
    stages = yaml.safe_load(text)["stages"]
    assert stages["train_third"]["do"] == {
        "vars": [{"of": "third"}],
        "cmd": "make m/${of}/${key}",
        "deps": ["b"],
        "outs": ["m/${of}/x"],
    }
    assert [stages[f"train_{of}"]["do"]["deps"] for of in ("checkerboard", "other")] == [["a"], ["a"]]


def test_a_configuration_that_the_workflow_does_not_read_is_an_error(tmp_path: Path) -> None:
    config_of(tmp_path)
    with pytest.raises(KinoflowError, match=r"the workflow reads config/tiny\.yaml; move the file there"):
        dvc_text(tmp_path / "tiny.yaml")
