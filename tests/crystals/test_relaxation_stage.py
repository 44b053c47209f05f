"""The stage of relaxation: shards, interruptions, and rows that are no crystals."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from shutil import copytree

import energy_model
import pytest
import torch
from crystal_config import crystal_config
from energy_model import LOG, STALL, XENON, relax
from pandas.testing import assert_frame_equal
from small_crystals import crystal, rock_salt, table

from pipeline.config import Config
from pipeline.crystals.table import rejected_row
from pipeline.crystals.trajectory import TRAJECTORY_COLUMNS
from pipeline.errors import KinoflowError
from pipeline.stages.gather_relaxed import gather_relaxed as gather_relaxed_stage
from pipeline.stages.job import Job
from pipeline.stages.relax import relax as relax_stage
from pipeline.store.code import files_of
from pipeline.store.parquet import read_table, write_table
from pipeline.store.provenance import sidecar_of
from pipeline.store.shards import part_of

ROWS = 7  # of which one is no crystal, and the last is not to be relaxed


def configured(**changes: object) -> Config:
    return crystal_config(relaxation={"count": ROWS - 1, "steps": 20, "force": 0.02, "seconds": 60} | changes)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with crystals of one element each, so that the model's log says which were computed."""
    monkeypatch.setenv(LOG, str(tmp_path / "log"))
    monkeypatch.setenv(STALL, str(tmp_path / "stall"))
    write_crystals(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journal of a shard that was finished but for its table."""
    folder = tmp_path_factory.mktemp("left")
    write_crystals(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(LOG, str(folder / "log"))
        patch.setenv(STALL, str(folder / "stall"))
        patch.setattr("pipeline.crystals.relaxation.Journal.remove", lambda journal: None)
        relax(configured(), folder)
    return folder / "journal"


def write_crystals(folder: Path) -> None:
    rows = [rock_salt(f"c{z}", 3.7 + z / 300, (z, z)) for z in (11, 19, XENON, 12, 20)]
    last = rock_salt("last", 3.9, (3, 3))
    write_table(folder / "crystals.parquet", table(rows[0], rejected_row("bad", "no atoms"), *rows[1:], last))


def started(folder: Path) -> list[str]:
    return (folder / "log").read_text().split()


def test_a_crystal_that_takes_too_long_loses_no_other_of_its_batch(folder: Path) -> None:
    (folder / "stall").touch()
    frame = read_table(relax(configured(batch=3, seconds=2), folder))
    assert frame["id"].tolist() == ["c11", "bad", "c19", "c54", "c12", "c20"]
    too_long = frame["reason"] == "time limit (2 s)"
    assert frame["id"][too_long].tolist() == ["c54"]
    assert frame["energy_per_atom"].notna().tolist() == [True, False, True, False, True, True]


def test_batches_do_not_change_the_results_of_a_model_that_gives_the_same_numbers(folder: Path) -> None:
    frames = [read_table(relax(configured(batch=batch), folder)) for batch in (1, 4)]
    assert_frame_equal(*frames)


def test_every_crystal_has_a_row_in_order_and_what_is_none_costs_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = read_table(relax(configured(), folder))
    assert frame["id"].tolist() == ["c11", "bad", "c19", "c54", "c12", "c20"]
    assert frame["reason"][1] == "not a crystal: no atoms"
    assert started(folder) == ["Na2", "K2", "Xe2", "Mg2", "Ca2"]
    assert not (folder / "journal" / "0").exists()
    assert capsys.readouterr().out.startswith("relaxed 6 crystals: ")
    assert json.loads(sidecar_of(folder / "relaxed.parquet").read_text())["settings"]["relaxation"]["count"] == 6


def test_the_largest_crystals_come_first_and_the_rows_keep_their_order(folder: Path) -> None:
    sizes = {
        "one": {(0, 0, 0): 11},
        "three": {(0, 0, 0): 19, (0.5, 0.5, 0): 19, (0, 0.5, 0.5): 19},
        "two": {(0, 0, 0): 12, (0.5, 0.5, 0.5): 12},
    }
    write_table(folder / "crystals.parquet", table(*(crystal(name, 4.5, atoms) for name, atoms in sizes.items())))
    assert read_table(relax(configured(), folder))["id"].tolist() == list(sizes)
    assert started(folder) == ["K3", "Mg2", "Na"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there_is_an_error_that_names_the_key(folder: Path) -> None:
    with pytest.raises(KinoflowError, match=r"--gpus 1: .* set crystals\.relaxation\.resources\.gpus"):
        relax_stage(Job(configured(), "crystals"), crystals=folder, journal=folder, output=folder, gpus=1)


def test_shards_and_workers_do_not_change_the_result(folder: Path) -> None:
    whole = relax(configured(), folder)
    parts = [relax(configured(workers=2), folder, shard, 2, f"part{shard}.parquet") for shard in range(2)]
    joined, alone, steps = folder / "joined.parquet", folder / "alone.parquet", folder / "steps.parquet"
    ways = [folder / f"trajectories_{part.name}" for part in (*parts, whole)]
    gather_relaxed_stage(shards=parts, output=joined, trajectory_shards=tuple(ways[:2]), trajectories=steps)
    gather_relaxed_stage(shards=[whole], output=alone)
    assert joined.read_bytes() == alone.read_bytes() == whole.read_bytes()
    found = read_table(steps)
    assert_frame_equal(found, read_table(ways[2]))
    assert set(found["id"]) == set(read_table(whole)["id"]) - {"bad"}
    assert "relaxation" in json.loads(sidecar_of(steps).read_text())["settings"]


def test_a_shard_without_any_crystal_is_empty_and_can_be_joined(folder: Path) -> None:
    write_table(folder / "crystals.parquet", table(rejected_row("bad", "no atoms")))
    parts = [relax(configured(), folder, shard, 2, f"part{shard}.parquet") for shard in range(2)]
    ways = tuple(folder / f"trajectories_{part.name}" for part in parts)
    made = {"output": folder / "joined.parquet", "trajectories": folder / "steps.parquet"}
    gather_relaxed_stage(shards=parts, trajectory_shards=ways, **made)
    assert read_table(made["output"])["reason"].tolist() == ["not a crystal: no atoms"]
    assert len(read_table(made["trajectories"], TRAJECTORY_COLUMNS)) == 0


def test_a_killed_shard_goes_on_where_it_was_and_ends_the_same(folder: Path, tmp_path: Path) -> None:
    expected = relax(configured(), folder, output="expected.parquet").read_bytes()
    (folder / "log").unlink()
    (folder / "stall").touch()
    search = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    program = [sys.executable, energy_model.__file__, configured().model_dump_json(), str(folder)]
    journal = folder / "journal" / "0" / "finished.jsonl"
    with subprocess.Popen(program, env=os.environ | {"PYTHONPATH": search}) as process:
        for _ in range(600):
            if (folder / "log").is_file() and "Xe2" in started(folder):
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    assert len(journal.read_text().splitlines()) == 3  # its first line, and two crystals
    assert not (folder / "relaxed.parquet").exists()
    journal.write_text(journal.read_text() + '[4, {"id": "torn')
    (folder / "stall").unlink()
    (folder / "log").write_text("")

    assert relax(configured(), folder).read_bytes() == expected
    assert started(folder) == ["Xe2", "Mg2", "Ca2"]


def test_a_journal_of_the_same_is_used(folder: Path, left: Path) -> None:
    copytree(left, folder / "journal")
    relax(configured(), folder)
    assert not (folder / "log").exists()


@pytest.mark.parametrize("changed", ["settings", "crystals", "energies", "elements", "version"])
def test_a_journal_of_other_settings_crystals_code_reference_energies_or_packages_is_not_used(
    folder: Path, left: Path, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copytree(left, folder / "journal")
    if changed == "crystals":
        frame = read_table(folder / "crystals.parquet")
        frame.at[0, "lengths"] = frame.at[0, "lengths"] * 1.001
        write_table(folder / "crystals.parquet", frame)
    elif changed == "version":
        monkeypatch.setattr(
            "pipeline.crystals.energy_model.version", lambda name: "2.0" if name == "ase" else version(name)
        )
    elif changed != "settings":
        name, more = {"energies": ("energies.py", "MORE = 1\n"), "elements": ("elemental_energies.json", " ")}[changed]

        def edited(*modules: str) -> list[Path]:
            files = {file.name: file for file in files_of(*modules)}
            if name not in files:
                return list(files.values())
            (folder / name).write_text(files[name].read_text() + more)
            return list((files | {name: folder / name}).values())

        monkeypatch.setattr("pipeline.store.code.files_of", edited)
    relax(configured(**({"steps": 10} if changed == "settings" else {})), folder)
    assert len(started(folder)) == 5


def test_a_crystal_over_its_time_is_a_row_with_the_reason(folder: Path) -> None:
    (folder / "stall").touch()
    frame = read_table(relax(configured(seconds=2), folder))
    assert frame["reason"][3] == "time limit (2 s)"
    assert not frame["converged"][3]
    assert not frame["reason"].drop([1, 3]).str.startswith("time limit").any()


def test_shards_cover_all_positions_once() -> None:
    assert [list(part_of(5, shard, 3)) for shard in range(3)] == [[0], [1, 2], [3, 4]]
    with pytest.raises(KinoflowError, match="shard 3 of 3"):
        part_of(5, 3, 3)
