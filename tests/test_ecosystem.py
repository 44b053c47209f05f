"""Conventions of the ecosystem: what other tools expect to find in the repository."""

import re
from pathlib import Path

import yaml
from tiny import TINY

from pipeline import __version__

ROOT = Path(__file__).parents[1]


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_the_workflow_catalogue_finds_what_it_needs() -> None:
    usage = yaml.safe_load(read(".snakemake-workflow-catalog.yml"))["usage"]
    assert usage["software-stack-deployment"]["conda"] is True
    assert (ROOT / "workflow/Snakefile").is_file()
    assert 'include: "workflow/Snakefile"' in read("Snakefile")
    assert not re.findall(r"^include: \"(?!rules/)", read("workflow/Snakefile"), re.MULTILINE)


def test_the_small_configuration_of_the_catalogue_is_that_of_the_tests() -> None:
    assert yaml.safe_load(read(".test/config/demo.yaml")) == TINY | {"scale": "demo"}


def test_the_report_has_a_text() -> None:
    assert 'report: "report/workflow.rst"' in read("workflow/Snakefile")
    assert "trace" in read("workflow/report/workflow.rst")


def test_the_citation_names_the_version_and_the_paper() -> None:
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["version"] == __version__
    assert citation["preferred-citation"]["title"].startswith("Flow Matching with General Discrete Paths")
    assert len(citation["preferred-citation"]["authors"]) == 9
    assert f"## {__version__}" in read("CHANGELOG.md")


def test_github_runs_the_two_commands() -> None:
    for command in ("test", "demo"):
        (job,) = yaml.safe_load(read(f".github/workflows/{command}.yml"))["jobs"].values()
        assert f"make {command}" in [step.get("run") for step in job["steps"]]


def test_what_the_container_copies_exists_and_its_base_is_pinned() -> None:
    dockerfile = read("Dockerfile")
    assert re.search(r"^FROM python:3\.11-\S+$", dockerfile, re.MULTILINE)
    sources = re.findall(r"^COPY (\S+) \S+$", dockerfile, re.MULTILINE)
    assert sources == ["envs/requirements.txt", "."]
    assert all((ROOT / source).exists() for source in sources)
