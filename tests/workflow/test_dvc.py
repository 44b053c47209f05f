"""The stages of DVC follow the demo's configuration."""

import re
import sys

import pytest
import yaml
from dvc.repo import Repo
from project import ROOT, Project

from pipeline.config import Experiment
from pipeline.config_file import load_config
from pipeline.dependencies import files_of

DVC = (sys.executable, "-m", "dvc")
RULE = re.compile(r"^rule (\w+):", re.MULTILINE)
CALL = re.compile(r"snakemake (.*?) --cores all --rerun-incomplete --rerun-triggers mtime --allowed-rules (.+)")


@pytest.fixture(scope="module")
def repository(project: Project) -> Project:
    assert project.run("git", "init", "--quiet").returncode == 0
    return project


def of_experiment(name: str, experiment: Experiment) -> set[str]:
    """Return the stages of an experiment that there is one of for each network, run of a sweep or search, reference."""
    trained = [run for run, block in experiment.runs.items() if not block.weights]
    searched = [run for run, block in experiment.runs.items() if block.sampling.searched]
    items = {
        "train": trained,
        "sample": trained,
        "sweep": [run for run in experiment.runs if run not in trained + searched],
        "search": searched,
        "reference": experiment.references,
    }
    if experiment.crystals:
        items |= {"structures": trained, "reference_structures": experiment.references}
    return {f"{stage}_{name}@{item}" for stage, found in items.items() for item in found}


def test_there_is_a_stage_for_every_run_and_stage(repository: Project) -> None:
    result = repository.run(*DVC, "stage", "list", "--name-only")
    assert result.returncode == 0, result.stdout
    experiments = load_config(ROOT / "config/demo.yaml", choices=False).experiments
    board = experiments.pop("checkerboard")
    expected = {f"{stage}@{run}" for stage in ("train", "sample", "score") for run in board.runs}
    expected |= {f"{stage}@{name}" for stage in ("reference", "score_reference") for name in board.references}
    expected |= {stage for name, experiment in experiments.items() for stage in of_experiment(name, experiment)}
    expected |= {f"{stage}_images@{name}" for stage in ("prepare", "classify") for name in ("pixels", "latents")}
    expected |= {f"fetch_{name}" for name in ("materials", "text", "images")}
    expected |= {f"prepare_{name}" for name in ("materials", "text", "pixels")}
    expected |= {f"report_{name}" for name in experiments}
    expected |= {"prepare", "report", "hull_materials", "tokenizer_latents", "encode_latents"}
    assert set(result.stdout.split()) == expected


def test_the_stages_call_rules_for_files_that_the_workflow_makes(repository: Project) -> None:
    stages = Repo(str(repository.folder)).index.stages
    rules = {rule for file in (ROOT / "workflow/rules").glob("*.smk") for rule in RULE.findall(file.read_text())}
    targets = []
    for stage in stages:
        files, options = CALL.fullmatch(stage.cmd).groups()  # type: ignore[union-attr]
        targets += files.split()
        assert set(options.replace("--forcerun", "").split()) <= rules
    assert len(targets) == len(set(targets))
    plan = repository.run(sys.executable, "-m", "snakemake", "--dry-run", "--quiet", "--", *targets)
    assert plan.returncode == 0, plan.stdout


IMAGE_NETWORKS = ("pipeline.models.image_transformer", "pipeline.models.image_autoregressive")
IMAGE_REPORT = (
    "pipeline.images.decoding",
    "pipeline.metrics.score",
    "pipeline.metrics.frechet_distance",
    "pipeline.images.features.classifier",
    "pipeline.report.tables",
    "pipeline.report.sweeps",
    "pipeline.report.figure",
    "pipeline.report.figures.images",
    "pipeline.report.conditional_path",
)
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
MODULES = {
    "prepare": ("pipeline.data.prepare", "pipeline.data.checkerboard"),
    "train": ("pipeline.training.train", "pipeline.models.mlp"),
    "sample": ("pipeline.sampling.generate", "pipeline.models.mlp"),
    "reference": ("pipeline.sampling.references",),
    "score": ("pipeline.metrics.score", "pipeline.metrics.known_distribution", "pipeline.metrics.likelihood_bound"),
    "score_reference": ("pipeline.metrics.score", "pipeline.metrics.known_distribution"),
    "report": ("pipeline.report.tables", "pipeline.report.figure", "pipeline.report.figures.boards"),
    "fetch_materials": (),
    "prepare_materials": ("pipeline.data.prepare", "pipeline.data.matbench_dielectric"),
    "train_materials": (
        "pipeline.training.train",
        "pipeline.models.crystal_dit",
        "pipeline.models.crystal_autoregressive",
    ),
    "sample_materials": (
        "pipeline.sampling.generate",
        "pipeline.models.crystal_dit",
        "pipeline.models.crystal_autoregressive",
    ),
    "reference_materials": ("pipeline.sampling.references", "pipeline.data.matbench_dielectric"),
    "hull_materials": ("pipeline.crystals.hull", "pipeline.crystals.calibration"),
    "structures_materials": (
        "pipeline.crystals.decode",
        "pipeline.crystals.describe",
        "pipeline.crystals.relaxation",
        "pipeline.crystals.assess",
    ),
    "reference_structures_materials": (
        "pipeline.crystals.decode",
        "pipeline.crystals.describe",
        "pipeline.crystals.relaxation",
        "pipeline.crystals.assess",
    ),
    "report_materials": (
        "pipeline.crystals.describe",
        "pipeline.metrics.score",
        *(f"pipeline.metrics.crystal_{name}" for name in ("validity", "coverage", "distributions", "stability")),
        "pipeline.report.tables",
        "pipeline.report.figure",
        "pipeline.report.figures.crystals",
    ),
    "fetch_text": (),
    "prepare_text": ("pipeline.data.prepare", "pipeline.data.text", "pipeline.text.corpora.sotu"),
    "train_text": ("pipeline.training.train", "pipeline.models.text_dit", "pipeline.models.text_autoregressive"),
    "sample_text": ("pipeline.sampling.generate", "pipeline.models.text_dit", "pipeline.models.text_autoregressive"),
    "sweep_text": ("pipeline.sampling.generate", "pipeline.models.text_dit"),
    "reference_text": ("pipeline.sampling.references",),
    "report_text": (
        "pipeline.metrics.score",
        "pipeline.metrics.perplexity",
        "pipeline.metrics.generative_perplexity",
        "pipeline.text.judges.run",
        "pipeline.report.tables",
        "pipeline.report.figure",
        "pipeline.report.figures.perplexities",
    ),
    "fetch_images": (),
    "prepare_images": ("pipeline.images.prepare", "pipeline.images.sources.digits"),
    "classify_images": (
        "pipeline.images.train_classifier",
        "pipeline.images.reference",
        "pipeline.metrics.frechet_distance",
        "pipeline.images.features.classifier",
    ),
    "prepare_pixels": ("pipeline.data.pixels",),
    "tokenizer_latents": ("pipeline.images.tokenizer_training",),
    "encode_latents": ("pipeline.images.encoding",),
    "train_pixels": ("pipeline.training.train", "pipeline.models.image_unet"),
    "sample_pixels": ("pipeline.sampling.generate", "pipeline.models.image_unet"),
    "sweep_pixels": ("pipeline.sampling.generate", "pipeline.models.image_unet"),
    "search_pixels": (
        "pipeline.images.search",
        "pipeline.images.features.classifier",
        "pipeline.sampling.generate",
        "pipeline.models.image_unet",
    ),
    "reference_pixels": ("pipeline.sampling.references",),
    "report_pixels": IMAGE_REPORT,
    "train_latents": ("pipeline.training.train", *IMAGE_NETWORKS),
    "sample_latents": ("pipeline.sampling.generate", *IMAGE_NETWORKS),
    "sweep_latents": ("pipeline.sampling.generate", *IMAGE_NETWORKS),
    "reference_latents": ("pipeline.sampling.references",),
    "report_latents": (*IMAGE_REPORT, "pipeline.report.tokenizer"),
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_all_the_code_that_its_rule_does(stage: str) -> None:
    block = STAGES[stage]
    dependencies = [dependency for dependency in block.get("do", block)["deps"] if dependency.startswith("pipeline")]
    for file in files_of(*MODULES[stage]):
        if file.name == "__init__.py" and len(file.read_text().splitlines()) < 2:
            continue  # no more than a docstring
        name = str(file.relative_to(ROOT))
        assert any(name == known or name.startswith(f"{known}/") for known in dependencies), name


def test_results_that_dvc_caches_are_not_in_git(repository: Project) -> None:
    cached, kept = "results/demo/models/checkerboard/metric.safetensors", "results/demo/tables/checkerboard.csv"
    assert repository.run("git", "check-ignore", cached).returncode == 0
    assert repository.run("git", "check-ignore", kept).returncode == 1


def test_dvc_sends_nothing_home() -> None:
    assert "analytics = false" in (ROOT / ".dvc/config").read_text()
