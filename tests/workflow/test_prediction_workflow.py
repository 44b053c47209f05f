"""The workflow of structure prediction, from a file of structures to its table."""

import csv
from pathlib import Path

import pytest
import yaml
from project import Project
from tiny import TINY, TINY_MATERIALS, write_salts

TABLE = "results/salts/tables/materials_prediction.csv"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project after the jobs of structure prediction."""
    project = Project.copy_to(tmp_path_factory.mktemp("prediction"))
    write_salts(project.folder)
    config = TINY | {"scale": "salts", "experiments": {"materials": TINY_MATERIALS}}
    (project.folder / "config/salts.yaml").write_text(yaml.safe_dump(config))
    result = project.snakemake("--cores", "2", "--show-failed-logs", TABLE, scale="salts")
    assert result.returncode == 0, result.stdout
    return project


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return list(csv.DictReader(stream))


def test_the_table_has_the_runs_with_a_path_the_ceiling_and_the_null(finished: Project) -> None:
    rows = rows_of(finished.folder / TABLE)
    assert [(row["run"], row["k"], row["n"]) for row in rows] == [
        ("metric", "1", "2"),
        ("metric", "2", "2"),
        ("tokenised test structures", "1", "2"),
        ("random structures", "1", "2"),
        ("random structures", "2", "2"),
    ]
    assert float(rows[2]["match_rate"]) == 100
    assert float(rows[2]["rmse"]) < 0.05
    assert "Left out: ar" in (finished.folder / TABLE).with_suffix(".md").read_text()


def test_the_autoregressive_run_is_not_trained_for_it(finished: Project) -> None:
    models = finished.folder / "results/salts/models/materials"
    assert [file.name for file in models.glob("*.safetensors")] == ["metric.safetensors"]
