"""The profile for SLURM: what it names exists, and what it lacks is said before any job."""

import re
from typing import Any

import pytest
import yaml
from project import ROOT, Project

PROFILE = ROOT / "workflow/profiles/slurm/config.yaml"
RULES = {
    name: body
    for file in (ROOT / "workflow/rules").glob("*.smk")
    for name, body in re.findall(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", file.read_text(), re.MULTILINE | re.DOTALL)
}


@pytest.fixture(scope="module")
def profile() -> dict[str, Any]:
    return yaml.safe_load(PROFILE.read_text())


def test_it_names_only_rules_that_exist(profile: dict[str, Any]) -> None:
    assert profile["set-resources"].keys() <= RULES.keys()


def test_every_rule_that_may_use_gpus_has_their_partition(profile: dict[str, Any]) -> None:
    using = {name for name, body in RULES.items() if re.search(r"^ +gpu=", body, re.MULTILINE)}
    assert using == profile["set-resources"].keys()
    assert {chosen["slurm_partition"] for chosen in profile["set-resources"].values()} == {"gpu"}


def test_training_is_told_of_its_time_limit_with_no_shell_between(profile: dict[str, Any]) -> None:
    told = {name for name, chosen in profile["set-resources"].items() if "--signal=TERM@" in str(chosen)}
    assert told == {"train", "train_tokenizer"}
    for name in told:
        assert '"exec python -m pipeline' in RULES[name]


def test_snakemake_reads_it(project: Project) -> None:
    result = project.snakemake("--dry-run", "--profile", str(PROFILE.parent))
    assert result.returncode == 0, result.stdout
    trained = result.stdout.partition("rule train:")[2].partition("\n\n")[0]
    assert "slurm_partition=gpu" in trained
    assert "slurm_extra=--signal=TERM@120" in trained


def test_a_profile_without_a_partition_stops_before_any_job(project: Project) -> None:
    edited = project.folder / "edited"
    edited.mkdir()
    lines = PROFILE.read_text().splitlines(keepends=True)
    (edited / "config.yaml").write_text("".join(line for line in lines if "slurm_partition: cpu" not in line))
    result = project.snakemake("--profile", "edited")
    assert result.returncode != 0
    assert "workflow/profiles/slurm/config.yaml: no slurm_partition for the jobs of " in result.stdout
    assert "below default-resources" in result.stdout
    assert "has been submitted" not in result.stdout
    assert not (project.folder / "results/tiny/config.yaml").exists()
