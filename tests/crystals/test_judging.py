"""Relaxed crystals judged by further models: rows, reasons, and what an interruption leaves."""

from pathlib import Path
from unittest.mock import patch

import pytest
from crystal_config import crystal_config
from fixed_energy import ENERGY, FIXED, RAW
from small_crystals import rock_salt, table

from pipeline.config import Config
from pipeline.crystals import judging
from pipeline.crystals.table import rejected_row, row_of
from pipeline.stages.job import Job
from pipeline.stages.judge_energies import judge_energies
from pipeline.store.journal import Journal
from pipeline.store.parquet import read_table, write_table
from pipeline.store.provenance import sidecar_of

MODELS = {"chgnet": FIXED, "sevennet": RAW}


def judged(folder: Path, *judges: str) -> Path:
    config, output = crystal_config(energy_model="sevennet", judges=judges), folder / "judged.parquet"
    with patch("pipeline.crystals.energy_model.EnergyModel.of", lambda choice: MODELS[choice.name]):
        job = Job(config, "crystals", "mask")
        judge_energies(job, relaxed=folder / "relaxed.parquet", journal=folder / "journal", output=output)
    return output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [
        rock_salt("good"),
        row_of(rock_salt("slow"), reason="step limit"),
        rejected_row("lost", "exploded: 9 times the volume"),
        rock_salt("far", length=20.0),
    ]
    write_table(tmp_path / "relaxed.parquet", table(*rows))
    return tmp_path


def test_every_crystal_has_an_energy_with_corrections_or_a_reason(folder: Path) -> None:
    with patch.dict(MODELS, chgnet=RAW):
        frame = read_table(judged(folder, "chgnet"))
    assert frame["id"].tolist() == ["good", "slow", "lost", "far"]
    assert frame["model"].tolist() == ["Raw"] * 4
    assert frame["energy_per_atom"][:2].tolist() == [pytest.approx(ENERGY - 0.614 / 2)] * 2
    assert frame["energy_per_atom"][2:].isna().all()
    lost = "no relaxed structure: exploded: 9 times the volume"
    assert frame["reason"].tolist() == ["", "", lost, "atoms without neighbours"]
    assert sidecar_of(folder / "judged.parquet").is_file()
    assert not (folder / "journal" / "raw").exists()


def test_what_was_judged_before_an_interruption_is_not_judged_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Journal, "remove", lambda journal: None)
    before = judged(folder, "chgnet").read_bytes()
    lines = (folder / "journal/fixed/finished.jsonl").read_text().splitlines()
    assert len(lines) == 1 + 3
    monkeypatch.setattr("pipeline.crystals.workers.Worker", None)  # no worker can start
    assert judged(folder, "chgnet").read_bytes() == before
    write_table(folder / "relaxed.parquet", table(rock_salt("other", length=4.1)))
    with pytest.raises(TypeError):
        judged(folder, "chgnet")


def test_each_model_is_named_once() -> None:
    with pytest.raises(ValueError, match="judges: sevennet is already an energy model of these crystals"):
        crystal_config(energy_model="sevennet", judges=("chgnet", "sevennet"))
    assert isinstance(crystal_config(judges=({"name": "sevennet", "weights": "7net-0"}, "sevennet")), Config)
    assert judging.JUDGED_COLUMNS.keys() == {"id", "model", "energy_per_atom", "reason"}
