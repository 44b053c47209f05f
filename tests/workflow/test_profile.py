"""The profile for SLURM: what it names exists, and what it lacks is said before any job."""

import re
import sys
from typing import Any

import pytest
import yaml
from project import ROOT, Project

PROFILE = ROOT / "workflow/profiles/slurm/config.yaml"
ALL_RULES = "\n".join(file.read_text() for file in sorted((ROOT / "workflow/rules").glob("*.smk")))
RULES = dict(re.findall(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", ALL_RULES, re.MULTILINE | re.DOTALL))
LOCAL = r"^localrules:\n((?:    \w+,\n)+)"


@pytest.fixture(scope="module")
def profile() -> dict[str, Any]:
    return yaml.safe_load(PROFILE.read_text())


def resources_of(output: str) -> list[tuple[str, str, dict[str, str]]]:
    """Return the rule, the first wildcard (the experiment) and the resources of the jobs that a dry run shows."""
    jobs = []
    for rule, body in re.findall(r"^rule (\w+):\n((?: +.*\n)+)", output, re.MULTILINE):
        experiment = re.search(r"^ +wildcards: \w+=(\w+)", body, re.MULTILINE)
        resources = dict(re.findall(r"(\w+)=([^,\n]+)", body.partition(" resources: ")[2].partition("\n")[0]))
        jobs.append((rule, experiment.group(1) if experiment else "", resources))
    return jobs


def write_edited(project: Project, old: str, new: str) -> str:
    """Write the profile with an edit, and return its folder as Snakemake is told."""
    text = PROFILE.read_text()
    assert text.count(old) == 1
    (project.folder / "edited").mkdir(exist_ok=True)
    (project.folder / "edited/config.yaml").write_text(text.replace(old, new))
    return "edited"


def test_it_names_only_rules_that_exist(profile: dict[str, Any]) -> None:
    assert profile["set-resources"].keys() - {"jobs_with_gpus"} <= RULES.keys()


def test_every_rule_that_is_submitted_asks_for_what_its_stage_declares() -> None:
    local = set(re.findall(r"^    (\w+),$", "".join(re.findall(LOCAL, ALL_RULES, re.MULTILINE)), re.MULTILINE))
    for name, body in RULES.items():
        stage = re.search(r"python -m pipeline ([a-z-]+)", body)[1].replace("-", "_")  # type: ignore[index]
        asked = re.findall(r"\*\*resources_of\(\"(\w+)\"\)|threads_of\(\"(\w+)\"\)", body)
        assert {word for pair in asked for word in pair if word} == (set() if name in local else {stage}), name


def test_at_the_papers_scale_jobs_with_gpus_and_no_others_go_to_their_partition(project: Project) -> None:
    result = project.snakemake("--dry-run", "--profile", str(PROFILE.parent), scale="paper")
    assert result.returncode == 0, result.stdout
    partitions: dict[tuple[str, str], set[str]] = {}
    for rule, experiment, resources in resources_of(result.stdout):
        assert resources["slurm_partition"] == ("gpu" if int(resources.get("gpu", 0)) else "cpu"), (rule, resources)
        partitions.setdefault((rule, experiment), set()).add(resources["slurm_partition"])
    assert partitions["train", "materials"] == partitions["sample", "materials"] == {"gpu"}
    assert partitions["relax", "materials"] == partitions["prepare", "text"] == {"cpu"}
    assert partitions["score", "materials"] == partitions["score", "checkerboard"] == {"cpu"}
    assert partitions["score", "text"] == partitions["score", "pixels"] == partitions["score", "latents"] == {"gpu"}


@pytest.mark.parametrize(
    "nodes, expected", [(1, {"gpu": "8", "gpu_model": "a100"}), (2, {"gres": "gpu:a100:8", "nodes": "2"})]
)
def test_the_kind_of_gpu_is_asked_for_on_one_and_on_several_nodes(
    project: Project, nodes: int, expected: dict[str, str]
) -> None:
    edited = write_edited(project, "    # gpu_model: a100\n", "    gpu_model: a100\n")
    values = f"{{training: {{batch: 32, parts: 16, resources: {{gpus: 8, nodes: {nodes}}}}}}}"
    result = project.snakemake("--dry-run", "--profile", edited, values=values)
    assert result.returncode == 0, result.stdout
    jobs = {rule: resources for rule, _, resources in resources_of(result.stdout)}
    kind = {"gpu", "gpu_model", "gres"}
    assert {key: jobs["train"].get(key) for key in expected} == expected
    assert jobs["train"].keys() & kind == expected.keys() & kind
    assert jobs["train"]["slurm_partition"] == "gpu"
    assert "gpu_model" not in jobs["score"]
    assert jobs["score"]["slurm_partition"] == "cpu"


def test_a_rules_own_values_win(project: Project) -> None:
    edited = write_edited(project, "  train: &training\n", "  train: &training\n    slurm_partition: long\n")
    result = project.snakemake("--dry-run", "--profile", edited, values="{training: {resources: {gpus: 1}}}")
    jobs = {rule: resources for rule, _, resources in resources_of(result.stdout)}
    assert jobs["train"]["slurm_partition"] == "long"


@pytest.mark.parametrize("attempt, runtime, memory", [(1, "60", "2000"), (2, "100", "4000"), (3, "100", "6000")])
def test_a_retry_asks_for_more_up_to_the_limits(project: Project, attempt: int, runtime: str, memory: str) -> None:
    arguments = ("--dry-run", "--attempt", str(attempt), "--config", "scale=tiny", "limits={minutes: 100}")
    result = project.run(sys.executable, "-m", "snakemake", *arguments)
    jobs = {rule: resources for rule, _, resources in resources_of(result.stdout)}
    assert (jobs["train"]["runtime"], jobs["train"]["mem_mb"]) == (runtime, memory)


def test_training_is_told_of_its_time_limit_with_no_shell_between(profile: dict[str, Any]) -> None:
    told = {name for name, chosen in profile["set-resources"].items() if "--signal=TERM@" in str(chosen)}
    assert told == {"train", "train_tokenizer"}
    for name in told:
        assert '"exec python -m pipeline' in RULES[name]


def test_snakemake_reads_it(project: Project) -> None:
    result = project.snakemake("--dry-run", "--profile", str(PROFILE.parent))
    assert result.returncode == 0, result.stdout
    jobs = {rule: resources for rule, _, resources in resources_of(result.stdout)}
    assert jobs["train"]["slurm_partition"] == "cpu"  # it has no GPUs at this scale
    assert jobs["train"]["slurm_extra"] == "--signal=TERM@120"


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "  slurm_partition: cpu\n",
            "",
            "no slurm_partition for the jobs of prepare, sample, score, train; "
            "write `slurm_partition: <one of those that sinfo lists>` below default-resources",
        ),
        ("  mem_mb: 2000\n", "  gpu_model: a100\n", "gpu_model would add a GPU to the jobs of prepare, "),
        (
            "train: &training\n",
            "train: &training\n    gpu_model: a100\n",
            "gpu_model would add a GPU to the jobs of train",
        ),
        ("    slurm_partition: gpu\n", "    runtime: 30\n", "runtime below jobs_with_gpus; config/tiny.yaml says"),
    ],
)
def test_what_is_wrong_in_it_is_said_before_any_job(project: Project, old: str, new: str, message: str) -> None:
    result = project.snakemake("--profile", write_edited(project, old, new))
    assert result.returncode != 0
    assert "workflow/profiles/slurm/config.yaml: " in result.stdout
    assert message in result.stdout
    assert "has been submitted" not in result.stdout
    assert not (project.folder / "results/tiny/config.yaml").exists()
