"""The stages of DVC follow the demo's configuration and the workflow's rules."""

import re
import sys
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pytest
from dvc.dependency import ParamsDependency
from dvc.repo import Repo
from project import ROOT, Project

from pipeline.config import Experiment
from pipeline.config.loading import load_config

DVC = (sys.executable, "-m", "dvc")
CALL = re.compile(r"snakemake (.*?) --cores all --rerun-incomplete --rerun-triggers mtime params --allowed-rules (.+)")
JOB = re.compile(r"^(?:local)?rule (\w+):\n((?:    .*\n)*)", re.MULTILINE)
FILES = re.compile(r"^    (input|output): (.*)$", re.MULTILINE)
PASSING = ("results/demo/shards/",)  # what jobs make and take away again


@dataclass(frozen=True)
class Job:
    """A job of the workflow."""

    rule: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@pytest.fixture(scope="module")
def repository(project: Project) -> Project:
    assert project.run("git", "init", "--quiet").returncode == 0
    return project


@pytest.fixture(scope="module")
def stages(repository: Project) -> dict[str, Any]:
    return {stage.name: stage for stage in Repo(str(repository.folder)).index.stages}


@pytest.fixture(scope="module")
def jobs(repository: Project) -> list[Job]:
    """Return the jobs of the whole demo, as a dry run lists them."""
    plan = repository.run(sys.executable, "-m", "snakemake", "--dry-run", "--", "all", "code_of_stages")
    assert plan.returncode == 0, plan.stdout
    found = []
    for rule, text in JOB.findall(plan.stdout):
        files = {kind: tuple(names.split(", ")) for kind, names in FILES.findall(text)}
        found.append(Job(rule, files.get("input", ()), files.get("output", ())))
    return found


def of_experiment(name: str, experiment: Experiment) -> set[str]:
    """Return the stages of an experiment that there is one of for each network, run of a sweep or search, reference."""
    trained = [run for run, block in experiment.runs.items() if not block.weights]
    searched = [run for run, block in experiment.runs.items() if block.sampling.searched]
    items = {
        "train": trained,
        "sample": trained,
        "score": trained,
        "sweep": [run for run in experiment.runs if run not in trained + searched],
        "search": searched,
        "score_sweep": [run for run in experiment.runs if run not in trained],
        "score_reference": experiment.references,
    }
    if experiment.crystals:
        items |= {"structures": trained, "structures_reference": experiment.references}
    each = {f"{stage}_{name}@{item}" for stage, found in items.items() for item in found}
    return each | {f"reference_{name}", f"report_{name}"}


def test_there_is_a_stage_for_every_run_and_stage(stages: dict[str, Any]) -> None:
    experiments = load_config(ROOT / "config/demo.yaml", choices=False).experiments
    expected = {stage for name, experiment in experiments.items() for stage in of_experiment(name, experiment)}
    expected |= {f"{stage}_images@{name}" for stage in ("prepare", "classify") for name in ("pixels", "latents")}
    expected |= {f"fetch_{name}" for name in ("materials", "text", "images")}
    expected |= {f"prepare_{name}" for name in ("checkerboard", "materials", "text", "pixels")}
    expected |= {"code", "hull_materials", "tokenizer_latents", "encode_latents"}
    assert set(stages) == expected


def called(stage: Any, jobs: list[Job]) -> list[Job]:
    """Return the jobs that a stage's call runs when none of its outs is there."""
    targets, options = CALL.fullmatch(stage.cmd).groups()  # type: ignore[union-attr]
    waiting, found = targets.split(), []
    while waiting:
        wanted = waiting.pop()
        makers = [job for job in jobs if (wanted in job.outputs or wanted == job.rule) and job not in found]
        for job in makers:
            if job.rule in options.split():
                found.append(job)
                waiting += job.inputs
    assert {job.rule for job in found} == set(options.split()), stage
    return found


def within(path: str, known: Collection[str]) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in known)


def test_a_stage_depends_on_all_that_its_jobs_read_and_has_all_that_they_write(
    stages: dict[str, Any], jobs: list[Job]
) -> None:
    checked = {job.outputs[0]: job.inputs for job in jobs if job.rule == "checksums"}
    for name, stage in stages.items():
        run = called(stage, jobs)
        made = {path for job in run for path in job.outputs if not path.startswith(PASSING)}
        outs = {out.def_path for out in stage.outs}
        deps = {dep.def_path for dep in stage.deps if not isinstance(dep, ParamsDependency)}
        assert all(within(path, outs) for path in made), name
        assert all(any(within(path, [out]) for path in made) for out in outs), name
        code = {path for dep in deps for path in checked.get(dep, ())}
        read = {path for job in run for path in job.inputs} - {path for job in run for path in job.outputs}
        for path in read:
            assert within(path, deps) or path in code, f"{name}: {path}"


def test_a_stage_depends_on_no_file_that_none_of_its_kind_reads(stages: dict[str, Any], jobs: list[Job]) -> None:
    read: dict[str, set[str]] = {}
    for name, stage in stages.items():
        read.setdefault(name.partition("@")[0], set()).update(
            path for job in called(stage, jobs) for path in job.inputs
        )
    for name, stage in stages.items():
        known = read[name.partition("@")[0]]
        for dep in stage.deps:
            if not isinstance(dep, ParamsDependency) and not dep.def_path.startswith(
                ("results/demo/code/", "pipeline/")
            ):
                assert any(within(path, [dep.def_path]) for path in known), f"{name} does not need {dep.def_path}"


def test_all_that_the_workflow_makes_is_made_by_one_stage(stages: dict[str, Any], jobs: list[Job]) -> None:
    made = [path for stage in stages.values() for job in called(stage, jobs) for path in job.outputs]
    assert len(made) == len(set(made))
    assert set(made) == {path for job in jobs for path in job.outputs}


def test_every_table_has_metrics_and_plots(stages: dict[str, Any], jobs: list[Job]) -> None:
    tables = {path for job in jobs for path in job.outputs if path.startswith("results/demo/tables/")}
    outs = [out for stage in stages.values() for out in stage.outs if out.def_path in tables]
    assert {out.def_path for out in outs if out.metric} == {path for path in tables if path.endswith(".json")}
    assert {out.def_path for out in outs if out.plot} == {path for path in tables if path.endswith(".csv")}
    assert not any(out.use_cache for out in outs)
    assert len(outs) == len(tables)


def test_results_are_either_in_git_or_in_the_cache_of_dvc(repository: Project, stages: dict[str, Any]) -> None:
    outs = [out for stage in stages.values() for out in stage.outs]
    ignored = repository.run("git", "check-ignore", *(out.def_path for out in outs)).stdout.split()
    assert {out.def_path for out in outs if out.use_cache} == set(ignored)


def test_dvc_sends_nothing_home() -> None:
    assert "analytics = false" in (ROOT / ".dvc/config").read_text()
