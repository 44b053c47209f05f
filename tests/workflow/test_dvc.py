"""The stages of DVC are those of the workflow: the same jobs, files, settings and code."""

import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from dvc.dependency import ParamsDependency
from dvc.repo import Repo
from project import ROOT, Project

PIPELINE = (sys.executable, "-m", "pipeline")
CALL = re.compile(r"snakemake (.*?) --cores all --rerun-incomplete --rerun-triggers mtime params --allowed-rules (.+)")
JOB = re.compile(r"^(?:local)?rule (\w+):\n((?:    .*\n)*)", re.MULTILINE)
FILES = re.compile(r"^    (input|output): (.*)$", re.MULTILINE)
PASSING = "results/demo/shards/"  # what jobs make and take away again


@dataclass(frozen=True)
class Job:
    """A job of the workflow."""

    rule: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def run(project: Project, *command: str) -> str:
    done = project.run(*command)
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose demo has a further seed, with stages for it."""
    project = Project.copy_to(tmp_path_factory.mktemp("seeded"))
    demo = yaml.safe_load((ROOT / "config/demo.yaml").read_text())
    demo["experiments"]["checkerboard"]["seeds"] = [1]
    (project.folder / "config/demo.yaml").write_text(yaml.safe_dump(demo, sort_keys=False))
    run(project, *PIPELINE, "dvc", "--output", "dvc.yaml")
    run(project, "git", "init", "--quiet")
    return project


@pytest.fixture(scope="module")
def stages(seeded: Project) -> dict[str, Any]:
    return {stage.name: stage for stage in Repo(str(seeded.folder)).index.stages}


@pytest.fixture(scope="module")
def jobs(seeded: Project) -> list[Job]:
    """Return the jobs of the whole demo, as a dry run lists them."""
    found = []
    for rule, text in JOB.findall(run(seeded, sys.executable, "-m", "snakemake", "--dry-run")):
        files = {kind: tuple(names.split(", ")) for kind, names in FILES.findall(text)}
        found.append(Job(rule, files.get("input", ()), files.get("output", ())))
    return [job for job in found if job.rule not in ("all", "report_page")]  # DVC keeps what the page shows


def called(stage: Any, jobs: Iterable[Job]) -> list[Job]:
    """Return the jobs that a stage's call runs when none of its outs is there."""
    targets, rules = CALL.fullmatch(stage.cmd).groups()  # type: ignore[union-attr]
    waiting, found = targets.split(), []
    while waiting:
        wanted = waiting.pop()
        makers = [job for job in jobs if wanted in job.outputs and job.rule in rules.split() and job not in found]
        found += makers
        waiting += [path for job in makers for path in job.inputs]
    assert {job.rule for job in found} == set(rules.split()), stage
    return found


def within(path: str, known: Iterable[str]) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in known)


def files_read_by(stage: Any) -> set[str]:
    return {dep.def_path for dep in stage.deps if not isinstance(dep, ParamsDependency)}


def test_the_committed_stages_are_those_that_the_command_writes(project: Project) -> None:
    assert run(project, *PIPELINE, "dvc") == (ROOT / "dvc.yaml").read_text(), "run `make dvc`"


def test_every_job_of_the_workflow_is_run_by_one_stage(stages: dict[str, Any], jobs: list[Job]) -> None:
    run_by_stages = [job for name, stage in stages.items() if name != "jobs" for job in called(stage, jobs)]
    assert len(run_by_stages) == len(jobs) > 200
    assert set(run_by_stages) == set(jobs)


def test_a_stage_depends_on_what_its_jobs_read_and_has_what_they_write(stages: dict[str, Any], jobs: list[Job]) -> None:
    for name, stage in stages.items():
        if name == "jobs":
            continue
        run_by_stage = called(stage, jobs)
        made = {path for job in run_by_stage for path in job.outputs}
        assert {out.def_path for out in stage.outs} == {path for path in made if not path.startswith(PASSING)}, name
        read, deps = {path for job in run_by_stage for path in job.inputs} - made, files_read_by(stage)
        assert [path for path in read if not within(path, deps)] == [], name
        assert all(any(within(path, [dep]) for path in read) for dep in deps - {"pipeline/fetch/catalogue.py"}), name


def test_stages_have_the_names_of_their_experiments_and_runs(stages: dict[str, Any]) -> None:
    assert {"train_checkerboard@metric_seed_1", "sample_pixels_searched@metric_searched_8", "fetch_sotu"} <= set(stages)
    assert {"score_text@mask_ko_steps_16", "score_text_references@data", "prepare_materials"} <= set(stages)
    assert "train_text@mask_ko_steps_16" not in stages
    swept = files_read_by(stages["sample_text@mask_ko_steps_16"])
    assert swept == {"results/demo/tokens/text.safetensors", "results/demo/models/text/mask_ko.safetensors"}


def test_stages_depend_on_the_settings_and_code_of_all_jobs(seeded: Project, stages: dict[str, Any]) -> None:
    run(seeded, *PIPELINE, "jobs", "--output", "results/demo/jobs.json")
    written = json.loads((seeded.folder / "results/demo/jobs.json").read_text())
    keys = set()
    for stage, experiments in written.items():
        for experiment, known in experiments.items():
            keys |= {f"{stage}.{experiment}"} if "code" in known else {f"{stage}.{experiment}.{name}" for name in known}
    asked = [dep for stage in stages.values() for dep in stage.deps if dep.def_path == "results/demo/jobs.json"]
    assert {key for dep in asked for key in dep.params} == keys
    assert written["train"]["checkerboard"]["metric_seed_1"]["settings"]["seed"] == 1
    trained = written["train"]["checkerboard"]["metric"]["settings"]["training"]
    assert "learning_rate" in trained
    assert not {"resources", "checkpoint_every"} & trained.keys()


def test_every_row_has_its_headline_as_metrics_and_every_table_a_plot(stages: dict[str, Any], jobs: list[Job]) -> None:
    made = {path for job in jobs for path in job.outputs}
    metrics = {out.def_path for stage in stages.values() for out in stage.outs if out.metric}
    assert metrics == {path for path in made if path.startswith("results/demo/headlines/")}
    assert "results/demo/headlines/materials/mask_ko.json" in metrics
    tables = {path for job in jobs for path in job.outputs if path.startswith("results/demo/tables/")}
    outs = [out for stage in stages.values() for out in stage.outs if out.def_path in tables]
    plots = {out.def_path: out.plot for out in outs if out.plot}
    assert plots.keys() == {path for path in tables if path.endswith(".csv")}
    assert all(plot["x"] and plot["y"] and plot["title"] for plot in plots.values())
    assert plots["results/demo/tables/text.csv"]["x"] == "generative_perplexity"
    assert plots["results/demo/tables/latents_sweeps.csv"]["x"] == "guidance"
    assert plots["results/demo/tables/pixels_sweeps.csv"]["x"] == "NFE"


def test_results_are_either_in_git_or_in_the_cache_of_dvc(seeded: Project, stages: dict[str, Any]) -> None:
    outs = [out for stage in stages.values() for out in stage.outs]
    ignored = seeded.run("git", "check-ignore", *(out.def_path for out in outs)).stdout.split()
    assert {out.def_path for out in outs if out.use_cache} == set(ignored)


@pytest.mark.parametrize(
    "scale, stage, read",
    [("small", "prepare_images_latents", "data/cache"), ("paper", "prepare_images_latents", "data/imagenet")],
)
def test_there_are_stages_for_larger_scales_without_their_data(
    tmp_path: Path, scale: str, stage: str, read: str
) -> None:
    project = Project.copy_to(tmp_path)
    run(project, *PIPELINE, "dvc", "--config", f"config/{scale}.yaml", "--output", "dvc.yaml")
    run(project, "git", "init", "--quiet")
    found = {one.name: one for one in Repo(str(project.folder)).index.stages}
    assert len(found) > 200
    assert f" --config scale={scale} --cores all " in found[stage].cmd
    assert all(within(path, [read]) for path in files_read_by(found[stage]))
    assert {dep.def_path for dep in found["jobs"].deps} == {"pipeline", f"config/{scale}.yaml"}


def test_dvc_sends_nothing_home() -> None:
    assert "analytics = false" in (ROOT / ".dvc/config").read_text()
