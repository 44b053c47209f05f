"""A new stage is a file, a rule and a test: the command, the plan, preflight and DVC know it without another edit."""

import json
import sys
from pathlib import Path

import pytest
from project import ROOT, Project

STAGE = '''"""Tokens to how often each occurs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.stages.declaration import stage
from pipeline.stages.job import Job, Need
from pipeline.stages.parameters import Input, Output


def settings(job: Job) -> dict[str, Any]:
    """Return what the counts depend on besides the tokens."""
    return {"seed": job.config.seed}


def needs(job: Job) -> Iterator[Need]:
    """Yield a file of the user."""
    yield Need(f"experiments.{job.experiment}.data", own=(Path("words.txt"),))


@stage(settings=settings, needs=needs, resources="scoring_resources")
def count_tokens(job: Job, *, tokens: Input, output: Output) -> None:
    """Count how often each token occurs.

    Reads tokens. Writes counts.

    Args:
        tokens: tokens from `prepare`
        output: counts to write (.json)
    """
    from pipeline.store.atomic import write_json
    from pipeline.tokens.token_data import TokenData

    write_json(output, TokenData.load(tokens).train.unique(return_counts=True)[1].tolist())
'''
RULE = '''

rule count_tokens:
    """Count how often each token occurs."""
    input:
        tokens=at(Place.TOKENS),
        files=files_of("count_tokens"),
    output:
        counts=f"{RESULTS}/counts/{{experiment}}.json",
    log:
        f"{LOGS}/count_tokens/{{experiment}}.log",
    conda:
        "../../envs/cpu.yaml"
    threads: threads_of("count_tokens")
    resources:
        **resources_of("count_tokens"),
    params:
        **declared("count_tokens"),
    shell:
        "python -m pipeline count-tokens --config {params.config:q} --experiment {wildcards.experiment} "
        "--tokens {input.tokens:q} --output {output.counts:q} > {log:q} 2>&1"


TARGETS.append(f"{RESULTS}/counts/checkerboard.json")
'''
COUNTS = "results/tiny/counts/checkerboard.json"
PIPELINE = (sys.executable, "-m", "pipeline")


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with one stage and one rule more."""
    project = Project.copy_to(tmp_path_factory.mktemp("extended"))
    (project.folder / "pipeline/stages/count_tokens.py").write_text(STAGE)
    with (project.folder / "workflow/rules/data.smk").open("a") as rules:
        rules.write(RULE)
    return project


def test_the_command_explains_itself(extended: Project) -> None:
    assert "count-tokens" in extended.run(*PIPELINE, "--help").stdout
    shown = extended.run(*PIPELINE, "count-tokens", "--help").stdout
    assert "Count how often each token occurs." in shown
    assert "--tokens" in shown
    assert "counts to write (.json)" in shown


def test_the_plan_counts_its_jobs_and_preflight_looks_for_its_files(extended: Project) -> None:
    planned = extended.run(*PIPELINE, "plan", "--config", "config/tiny.yaml", "--json", "plan.json")
    assert planned.returncode == 0, planned.stdout
    assert "count_tokens" in planned.stdout
    lacking = extended.run(*PIPELINE, "preflight", "--config", "config/tiny.yaml")
    assert lacking.returncode == 2
    assert "experiments.checkerboard.data: words.txt: no such file or folder" in lacking.stdout


def test_the_workflow_runs_it_and_runs_it_again_after_a_change(extended: Project) -> None:
    assert "words.txt: no such file" in extended.snakemake("--cores", "1", COUNTS).stdout
    (extended.folder / "words.txt").write_text("any")
    result = extended.snakemake("--cores", "1", COUNTS)
    assert result.returncode == 0, result.stdout
    assert sum(json.loads((extended.folder / COUNTS).read_text())) == 2 * 300
    assert extended.snakemake("--dry-run", COUNTS).stdout.count("rule count_tokens") == 0
    with extended.edited("pipeline/stages/count_tokens.py"):
        assert extended.snakemake("--dry-run", COUNTS).stdout.count("rule count_tokens") == 1


def test_dvc_runs_it(extended: Project) -> None:
    (extended.folder / "words.txt").write_text("any")
    assert extended.run("git", "init", "--quiet").returncode == 0
    written = extended.run(*PIPELINE, "dvc", "--config", "config/tiny.yaml", "--output", "dvc.yaml")
    assert written.returncode == 0, written.stdout
    (extended.folder / COUNTS).unlink(missing_ok=True)
    result = extended.run(sys.executable, "-m", "dvc", "repro", "count_tokens_checkerboard")
    assert result.returncode == 0, result.stdout
    assert (extended.folder / COUNTS).is_file()
    again = extended.run(sys.executable, "-m", "dvc", "repro", "count_tokens_checkerboard")
    assert "Running stage" not in again.stdout


def test_the_table_of_what_to_touch_is_true() -> None:
    rows = [line for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if line.startswith("| a stage |")]
    assert len(rows) == 1
    for named in ("pipeline/stages/<name>.py", "workflow/rules/", "tests/"):
        assert named in rows[0]
    assert Path(ROOT / "pipeline/stages").is_dir()
