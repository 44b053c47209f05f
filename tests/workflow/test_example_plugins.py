"""The four examples of extensions, copied to where they say, run in the workflow."""

import csv
import re
import shutil

import pytest
import yaml
from project import ROOT, Project
from tiny import TINY

from pipeline.config.loading import merge

CHANGES = {
    "data": {"name": "rows", "path": "mine.csv", "tokens": 6, "columns": 3},
    "sampling": {"velocity": "halfway", "shards": 1},
    "figure": None,
}


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with the four examples, and a configuration that uses them."""
    project = Project.copy_to(tmp_path_factory.mktemp("extended"))
    for example in sorted((ROOT / "examples/plugins").glob("*.py")):
        said = re.search(r"Copy to (\S+\.py)", example.read_text())
        assert said is not None, example
        shutil.copy(example, project.folder / said[1])
    (project.folder / "mine.csv").write_text("".join(f"{n % 6},{n % 5},{n % 4}\n" for n in range(120)))
    experiment = merge(TINY["experiments"]["checkerboard"], CHANGES)
    experiment["scoring"] = {"distinct": {}}
    experiment["runs"] = {"ring": {"path": {"name": "ring", "sharpness": 3}, "loss": "cross_entropy"}}
    config = TINY | {"experiments": {"checkerboard": experiment}}
    (project.folder / "config/tiny.yaml").write_text(yaml.safe_dump(config))
    return project


def test_a_missing_file_of_a_data_set_is_found_before_any_job(extended: Project) -> None:
    mine = extended.folder / "mine.csv"
    mine.rename(mine.with_suffix(".away"))
    said = extended.snakemake("--cores", "1").stdout
    mine.with_suffix(".away").rename(mine)
    assert "experiments.checkerboard.data: mine.csv: no such file or folder" in said


def test_they_run_and_their_metric_is_in_the_table(extended: Project) -> None:
    run = extended.snakemake("--cores", "2")
    assert run.returncode == 0, run.stdout
    with (extended.folder / "results/tiny/tables/checkerboard.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert rows[0]["run"] == "ring"
    assert rows[0]["velocity"].startswith("halfway")
    assert 0 < float(rows[0]["distinct"]) <= 100


def test_a_change_of_the_users_file_prepares_the_data_again(extended: Project) -> None:
    with (extended.folder / "mine.csv").open("a") as stream:
        stream.write("1,1,1\n")
    assert {"prepare", "train"} <= extended.planned().keys()
