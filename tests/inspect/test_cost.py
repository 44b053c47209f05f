"""What results have cost is the sum of what Snakemake measured."""

import csv
from pathlib import Path

import pytest

from pipeline.errors import KinoflowError
from pipeline.inspect.cost import costs_of, csv_of, text_of

HEAD = "s\th:m:s\tmax_rss\tcpu_time\n"


def measured(folder: Path, name: str, seconds: str, cpu: str, memory: str = "100.5") -> None:
    file = folder / f"{name}.tsv"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{HEAD}{seconds}\t0:01:00\t{memory}\t{cpu}\n")


def test_shards_count_together_and_further_files_for_their_experiment(tmp_path: Path) -> None:
    measured(tmp_path, "sample/materials/ar/0-of-2", "60", "30")
    measured(tmp_path, "sample/materials/ar/1-of-2", "60", "60", memory="200")
    measured(tmp_path, "protocols/materials_protocols", "6", "3")
    measured(tmp_path, "prepare/materials", "0.1", "NA", memory="-")
    costs = costs_of(tmp_path, ["materials", "text"])
    assert {cost.experiment for cost in costs} == {"materials"}
    rows = {row["rule"]: row for row in csv.DictReader(csv_of(costs).splitlines())}
    assert (rows["sample"]["run"], rows["sample"]["jobs"], rows["sample"]["core_minutes"]) == ("ar", "2", "1.5")
    assert (rows["sample"]["minutes"], rows["sample"]["memory_mb"]) == ("2.0", "200")
    assert rows["prepare"]["core_minutes"] == "0.0"
    text = text_of(costs)
    assert [cell.strip() for cell in text.splitlines()[2].split("|")[1:3]] == ["together", "1.6"]
    assert "4 jobs, 0.03 core-hours" in text


def test_a_folder_without_benchmarks_or_with_a_damaged_one_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KinoflowError, match=r"has no benchmarks; run the workflow first"):
        costs_of(tmp_path / "none", [])
    measured(tmp_path, "train/text/ar", "1", "much")
    with pytest.raises(KinoflowError, match=r"ar\.tsv: no benchmark of one job .*run the job again"):
        costs_of(tmp_path, ["text"])
