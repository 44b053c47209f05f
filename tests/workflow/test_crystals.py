"""The workflow on crystals: from a file of structures to the stability table."""

import csv
import re
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import pytest
import yaml
from project import Project
from tiny import TINY, TINY_MATERIALS, write_salts

NAMES = ["ar", "data", "independent", "shuffled"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with crystals only, after a run of the whole workflow."""
    project = Project.copy_to(tmp_path_factory.mktemp("crystals"))
    write_salts(project.folder)
    crystals = TINY_MATERIALS["crystals"] | {"judges": ["sevennet"]}
    materials = TINY_MATERIALS | {"runs": {"ar": TINY_MATERIALS["runs"]["ar"]}, "crystals": crystals}
    config = TINY | {"scale": "salts", "experiments": {"materials": materials}}
    (project.folder / "config/salts.yaml").write_text(yaml.safe_dump(config))
    result = project.snakemake("--cores", "2", "--show-failed-logs", scale="salts")
    assert result.returncode == 0, result.stdout
    return project


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return list(csv.DictReader(stream))


def test_the_table_has_our_runs_the_references_and_the_papers_rows(finished: Project) -> None:
    rows = rows_of(finished.folder / "results/salts/tables/materials.csv")
    assert [row["origin"] for row in rows] == ["ours"] * 4 + ["paper"] * 7
    assert rows[0]["run"] == "ar"
    ceiling = rows[1]
    assert ceiling["run"] == "held-out data"
    assert float(ceiling["structural_validity"]) == 100
    assert ceiling["data"] == "structures"
    assert "known crystals, energies by CHGNet" in ceiling["hull"]
    published = r"entries of entries.json corrected.* \(\d+ points, SHA-256 [0-9a-f]{12}\)$"
    assert re.search(published, ceiling["published hull"])
    assert ceiling["energy model"].startswith("CHGNet")
    assert (ceiling["corrections"], ceiling["pymatgen"]) == ("MP2020 as published", version("pymatgen"))
    for row in rows[:4]:
        assert row["n"] == "3"
        assert float(row["relaxed"]) == 1
        assert 0 <= float(row["stability_rate"]) <= 100
        assert row["stability_rate_high"]
    assert [row["NFE"] for row in rows[:2]] == ["22", ""]


def test_every_sample_has_a_row_and_files_for_other_programs(finished: Project) -> None:
    results = finished.folder / "results/salts"
    for name in NAMES:
        structures = pd.read_csv(results / f"structures/materials/{name}.csv")
        assert structures["id"].tolist() == [f"{name}-{number:06d}" for number in (1, 2, 3)]
        assert structures["relaxed"].tolist() == [True, False, False]
        for suffix in ("parquet", "extxyz", "zip"):
            assert (results / f"crystals/materials/{name}.{suffix}").stat().st_size > 0


def test_a_further_model_judges_every_relaxed_crystal(finished: Project) -> None:
    results = finished.folder / "results/salts"
    for name in NAMES:
        judged = pd.read_parquet(results / f"judged/materials/{name}.parquet")
        assert judged["id"].tolist() == [f"{name}-000001"]
        assert judged["model"][0].startswith("SevenNet 7net-l3i5")
        assert pd.notna(judged["energy_per_atom"][0]) or judged["reason"][0]
    compared = [row["compared"] for row in rows_of(results / "tables/materials_calibration.csv")]
    assert sum(name.startswith("formation energy by SevenNet") and "," not in name for name in compared) == 1


def test_there_is_a_calibration_and_a_picture(finished: Project) -> None:
    results = finished.folder / "results/salts"
    assert rows_of(results / "tables/materials_calibration.csv")
    assert (results / "figures/materials.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_crystals_are_counted_under_each_protocol(finished: Project) -> None:
    rows = rows_of(finished.folder / "results/salts/tables/materials_protocols.csv")
    labels = ["ar", "held-out data", "independent columns", "independent columns, shuffled atoms"]
    assert list(dict.fromkeys(row["run"] for row in rows)) == labels
    for run in labels:
        protocols = {row["protocol"]: row for row in rows if row["run"] == run}
        assert list(protocols) == ["ours", "lematbench", "mattergen"]
        assert 0 <= float(protocols["ours"]["rate"]) <= 100
        assert protocols["ours"]["energy model"].startswith("CHGNet")
        assert all(row["rate"] or row["not computed"] for row in rows)


def test_tables_can_be_traced_to_their_inputs(finished: Project) -> None:
    for artefact in ("tables/materials.csv", "tables/materials_calibration.csv", "figures/materials.png"):
        files = finished.traced(f"results/salts/{artefact}")
        assert files.keys() == {"unchanged", "no provenance"}
        assert sorted(files["no provenance"]) == ["entries.json", "salts.extxyz"]
        relaxed = "results/salts/relaxed/materials/ar.parquet"
        assert (relaxed in files["unchanged"]) == ("calibration" not in artefact)


def test_a_second_run_has_nothing_to_do_and_an_edit_of_a_structure_prepares_again(finished: Project) -> None:
    assert finished.planned(scale="salts") == {}
    path = finished.folder / "salts.extxyz"
    before = path.read_text()
    path.write_text(before.replace("Na 0 0 0", "K 0 0 0", 1))
    assert finished.planned(scale="salts")["prepare_crystals"] == 1
    path.write_text(before)


def test_more_relaxations_sample_and_describe_nothing_again(finished: Project) -> None:
    more = "{crystals: {relaxation: {count: 2}}}"
    jobs = finished.planned(scale="salts", values=more, experiment="materials")
    assert (jobs["relax_whole"], jobs["assess"], jobs["score"], jobs["table"]) == (4, 4, 4, 1)
    assert not {"sample_whole", "decode", "describe", "hull", "train"} & jobs.keys()
