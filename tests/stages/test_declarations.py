"""What stages declare."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.config.loading import load_config
from pipeline.stages import load_stages
from pipeline.stages.job import Job
from pipeline.store.code import PACKAGE, files_of

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "pymatgen", "chgnet", "sevenn", "snakemake", "matplotlib")
STAGES = load_stages()
OTHERS = {
    "checkerboard": ("crystals", "text", "images"),
    "materials": ("known", "text", "images"),
    "text": ("known", "crystals", "images"),
}


@cache
def demo() -> Config:
    return load_config(ROOT / "config/demo.yaml")


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_declarations_are_read_without_heavy_packages() -> None:
    code = "import sys; from pipeline.stages import load_stages; load_stages(); print(*sys.modules)"
    assert not {*HEAVY} & set(run(code).split())


@pytest.mark.parametrize("stage", ["table", "seeds", "sweeps", "texts", "gather", "gather_relaxed", "prediction_table"])
def test_jobs_that_only_join_or_write_tables_or_texts_import_nothing_heavy(stage: str) -> None:
    tree = ast.parse((PACKAGE / f"stages/{stage}.py").read_text())
    modules = sorted({node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module})
    assert [one for one in modules if re.match(r"pipeline\.(?!config|stages|store)", one)]  # the function's own imports
    code = "import sys\n" + "".join(f"import {module}\n" for module in modules) + "print(*sys.modules)"
    assert not {*HEAVY} & set(run(code).split())


@pytest.fixture(scope="module")
def jobs() -> list[tuple[str, Job]]:
    """The jobs of the demo."""
    config = demo()
    experiments = [Job(config, name) for name in config.experiments]
    return [(name, job) for name, stage in STAGES.items() for one in experiments for job, _ in stage.jobs(one)]


def test_every_stage_has_jobs_in_the_demo_but_those_for_judges_shards_and_oracles(jobs: list[tuple[str, Job]]) -> None:
    assert STAGES.keys() - {name for name, _ in jobs} == {
        *("judge", "judge_energies", "gather", "gather_relaxed", "oracle", "claims", "seeds"),
    }


def test_the_key_of_the_resources_names_the_value(jobs: list[tuple[str, Job]]) -> None:
    for name, job in jobs:
        stage = STAGES[name]
        if stage.resources:
            value = job.config
            for part in stage.resources_key(job).split("."):
                value = value[part] if isinstance(value, dict) else getattr(value, part)
            assert stage.resources_of(job).memory_mb == value.memory_mb
            assert stage.threads(job) >= 1


def code_of(name: str, *of: str) -> set[str]:
    stage, job = STAGES[name], Job(demo(), *of)
    return {str(file.relative_to(PACKAGE)) for file in files_of(stage.module, *stage.chosen(job))}


def test_an_edit_of_a_loss_concerns_no_tokenizer_and_no_classifier() -> None:
    for name in ("train_tokenizer", "train_classifier", "encode"):
        assert not {"flow/elbo.py", "flow/losses.py", "flow/sampler.py"} & code_of(name, "latents"), name
    assert "flow/elbo.py" in code_of("train", "latents", "metric")


def test_an_edit_of_an_energy_model_concerns_its_own_crystals_only() -> None:
    for name in ("relax", "calibrate"):
        assert "crystals/chgnet_layers.py" in code_of(name, "materials", "metric")
        assert "crystals/energy_models/sevennet.py" not in code_of(name, "materials", "metric")


def test_an_edit_of_images_concerns_no_crystals_and_no_text() -> None:
    for experiment, run_name in (("materials", "mask_ko"), ("text", "mask_ko"), ("checkerboard", "metric")):
        for name in ("prepare", "train", "sample", "score", "table", "figure"):
            files = code_of(name, experiment, run_name)
            assert not [file for file in files if file.split("/")[0] in OTHERS[experiment]], (name, experiment)
