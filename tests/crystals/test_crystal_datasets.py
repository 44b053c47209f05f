"""Data sets of crystals, on small files of their own: splits, limits, Niggli cells, rejected structures, tokens."""

import gzip
import importlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from known_crystals import csv_of, rock_salt, wurtzite

from pipeline.config import Crystals, DataChoice
from pipeline.config.loading import load_config
from pipeline.config.plugins import DATASETS
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.dataset import split_at_random
from pipeline.crystals.export import cif_text, write_extxyz
from pipeline.crystals.table import row_of
from pipeline.crystals.tokens import atoms_of, decode
from pipeline.errors import KinoflowError
from pipeline.flow.paths import build_path
from pipeline.stages.job import Job
from pipeline.stages.prepare import prepare as prepare_stage
from pipeline.store.code import constant_of
from pipeline.store.parquet import read_table
from pipeline.store.provenance import sidecar_of
from pipeline.tokens.token_data import SPLITS, TokenData

NAMES = ["carbon_24", "matbench_dielectric", "mp20", "mp20_part", "perov_5", "structures"]
SALTS = [cif_text(rock_salt(side=4 + number / 10)) for number in range(10)]
LARGE = cif_text(rock_salt(side=60))


def data_set(name: str) -> Any:
    return importlib.import_module(f"pipeline.crystals.datasets.{name}")


def put(path: Path, texts: list[str], **columns: list[object]) -> None:
    content = csv_of(texts, **columns).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def lengths_of(tokens: torch.Tensor) -> list[float]:
    return [decode(row.numpy()).crystal.lengths[0] for row in tokens]  # type: ignore[union-attr]


@pytest.fixture(params=["mp20", "mp20_part", "perov_5", "carbon_24"])
def with_splits(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Return a data set that has splits, with 6, 2 and 3 structures in them, one each of 60 A in train and test."""
    chosen = data_set(request.param)
    for name, texts in zip(chosen.FILES, ([*SALTS[:5], LARGE], SALTS[5:7], [*SALTS[7:9], LARGE]), strict=True):
        numbers = range(len(texts))
        energies = {
            "formation_energy_per_atom": [-1.0] * len(texts),
            "e_above_hull": [number / 10 for number in numbers],
        }
        put(tmp_path / name, texts, material_id=list(numbers), **energies)
    return chosen


# What every data set of crystals has


@pytest.mark.parametrize("name", NAMES)
def test_every_data_set_of_crystals_has_what_the_stages_ask_for(name: str) -> None:
    chosen = data_set(name)
    assert name in DATASETS.names()
    assert chosen.CRYSTALS is True
    options = chosen.Options(**({"path": "x"} if name == "structures" else {}))
    vocabulary = chosen.vocabulary(options)
    assert chosen.distances(options).shape == (vocabulary.size, vocabulary.size)
    build_path("metric", vocabulary, distances=chosen.distances(options))
    assert all(callable(getattr(chosen, part)) for part in ("read", "tokens_of", "shuffle"))
    assert constant_of(f"pipeline.crystals.datasets.{name}", "FILES", ()) == getattr(chosen, "FILES", ())


def test_rows_and_tokens_of_the_given_splits(with_splits: Any, tmp_path: Path) -> None:
    options = with_splits.Options()
    rows = with_splits.read(options, 0, tmp_path)
    assert rows.groupby("split").size().to_dict() == {"train": 6, "validation": 2, "test": 3}
    assert rows["reason"][rows["reason"] != ""].tolist() == ["a length of 50 A or more"] * 2
    assert rows["formation_energy"].notna().all()
    assert rows["energy_above_hull"].tolist()[:3] == [0.0, 0.1, 0.2]
    assert rows["id"].is_unique
    data = with_splits.tokens_of("a set", rows, options)
    assert [len(getattr(data, split)) for split in SPLITS] == [5, 2, 2]
    assert lengths_of(data.train) == pytest.approx([4.0, 4.1, 4.2, 4.3, 4.4])
    assert data.length == 6 + 4 * options.max_atoms
    assert data.distances is not None
    assert data.origin["max_atoms"] == options.max_atoms


def test_limits_draw_with_the_seed_among_those_that_can_be_used(with_splits: Any, tmp_path: Path) -> None:
    options = with_splits.Options(train=3, test=2)
    rows = [with_splits.read(options, seed, tmp_path) for seed in (0, 0, 1, 2, 3)]
    drawn = [with_splits.tokens_of("a set", each, options) for each in rows]
    assert {len(data.train) for data in drawn} == {3}
    assert {len(data.test) for data in drawn} == {2}
    assert torch.equal(drawn[0].train, drawn[1].train)
    assert len({str(data.train) for data in drawn}) > 1


def test_cells_are_reduced_unless_that_is_switched_off(tmp_path: Path) -> None:
    skewed = Crystal("one", np.array([3.0, 3, 3 * 2**0.5]), np.array([90, 45, 90.0]), np.array([84]), np.zeros((1, 3)))
    for name in data_set("mp20").FILES:
        put(tmp_path / name, [cif_text(skewed)])
    rows = {
        niggli: data_set("mp20").read(data_set("mp20").Options(niggli=niggli), 0, tmp_path) for niggli in (True, False)
    }
    assert rows[True]["angles"][0] == pytest.approx([90, 90, 90], abs=1e-4)
    assert rows[True]["lengths"][0] == pytest.approx([3, 3, 3], abs=1e-4)
    assert rows[False]["angles"][0] == pytest.approx([90, 45, 90])
    assert [rows[niggli]["niggli"][0] for niggli in (True, False)] == [True, False]


def test_a_cell_whose_reduction_fails_is_kept_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pymatgen.core import Lattice

    def fail(self: Lattice, tol: float = 0) -> Lattice:
        raise ValueError("can't find niggli")

    monkeypatch.setattr(Lattice, "get_niggli_reduced_lattice", fail)
    for name in data_set("mp20").FILES:
        put(tmp_path / name, SALTS[:1])
    rows = data_set("mp20").read(data_set("mp20").Options(), 0, tmp_path)
    assert rows["niggli"].tolist() == [False] * 3
    assert rows["reason"].tolist() == [""] * 3
    assert rows["lengths"][0] == pytest.approx([4, 4, 4])


def test_a_split_without_usable_structures_is_an_error_that_counts_the_reasons(
    with_splits: Any, tmp_path: Path
) -> None:
    put(tmp_path / with_splits.FILES[1], [LARGE, "no CIF", "nor this"], material_id=["large", "bad", "worse"])
    options = with_splits.Options()
    message = "nothing in the split 'validation': 3 structures, all of them rejected"
    with pytest.raises(KinoflowError, match=message) as raised:
        with_splits.tokens_of("a set", with_splits.read(options, 0, tmp_path), options)
    assert "\n  2 x does not parse (bad, worse)\n  1 x a length of 50 A or more (large)" in str(raised.value)


def test_more_atoms_than_allowed_are_rejected(with_splits: Any, tmp_path: Path) -> None:
    rows = with_splits.read(with_splits.Options(max_atoms=7), 0, tmp_path)
    assert set(rows["reason"]) == {"more than 7 atoms"}


def test_random_splits_have_their_shares_and_depend_on_the_seed_only() -> None:
    frame = pd.DataFrame({"id": range(100)})
    one, same, other = (split_at_random(frame, seed, {"train": 8, "validation": 1, "test": 1}) for seed in (0, 0, 1))
    assert one["split"].value_counts().to_dict() == {"train": 80, "validation": 10, "test": 10}
    assert one.equals(same)
    assert not one.equals(other)


# One by one


def test_perov_5_needs_no_training_file_if_it_trains_on_a_part_of_the_validation_file(tmp_path: Path) -> None:
    chosen = data_set("perov_5")
    _, validation, test = chosen.FILES
    put(tmp_path / validation, SALTS, material_id=list(range(10)), heat_all=[1.0] * 10)
    put(tmp_path / test, SALTS[:2], material_id=[20, 21], heat_all=[1.0] * 2)
    options = chosen.Options(train_on_validation=True)
    assert chosen.files(options) == [validation, test]
    assert chosen.files(chosen.Options()) == list(chosen.FILES)
    rows = chosen.read(options, 0, tmp_path)
    assert rows.groupby("split").size().to_dict() == {"train": 9, "validation": 1, "test": 2}
    assert rows["id"][rows["split"] == "test"].tolist() == ["20", "21"]
    assert rows["formation_energy"].isna().all()


def test_carbon_24_takes_cells_of_24_atoms_and_no_energies(tmp_path: Path) -> None:
    chosen = data_set("carbon_24")
    carbon = Crystal("c", np.array([4.0, 4, 9]), np.array([90.0, 90, 90]), np.full(24, 6), np.zeros((24, 3)))
    places = np.array([[x, y, z] for x in (0, 0.5) for y in (0, 0.5) for z in np.arange(6) / 6])
    for file in chosen.FILES:
        put(tmp_path / file, [cif_text(replace(carbon, fractions=places))], energy_per_atom=[-154.2])
    rows = chosen.read(chosen.Options(niggli=False), 0, tmp_path)
    assert rows["reason"].tolist() == [""] * 3
    assert rows["formation_energy"].isna().all()
    assert chosen.tokens_of("carbon_24", rows, chosen.Options()).length == 6 + 4 * 24


def test_matbench_dielectric_is_read_from_pymatgens_dictionaries(tmp_path: Path) -> None:
    chosen = data_set("matbench_dielectric")
    structures = [rock_salt(side=4 + number / 10).structure() for number in range(10)]
    structures[3] = structures[3].make_supercell([3, 1, 1], in_place=False)
    (tmp_path / chosen.FILES[0]).parent.mkdir()
    table = {"structure": {str(number): structure.as_dict() for number, structure in enumerate(structures)}}
    (tmp_path / chosen.FILES[0]).write_bytes(gzip.compress(json.dumps(table).encode()))
    rows = chosen.read(chosen.Options(), 0, tmp_path)
    assert rows.groupby("split").size().to_dict() == {"train": 8, "validation": 1, "test": 1}
    assert rows[rows["reason"] != ""][["id", "reason"]].values.tolist() == [["3", "more than 20 atoms"]]


def test_a_damaged_matbench_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    chosen = data_set("matbench_dielectric")
    (tmp_path / chosen.FILES[0]).parent.mkdir()
    (tmp_path / chosen.FILES[0]).write_bytes(gzip.compress(b"{}"))
    with pytest.raises(KinoflowError, match=re.escape(str(tmp_path / chosen.FILES[0]))):
        chosen.read(chosen.Options(), 0, tmp_path)


def own_files(folder: Path) -> None:
    for number, text in enumerate(SALTS):
        (folder / "all" / f"{number}.cif").parent.mkdir(exist_ok=True)
        (folder / "all" / f"{number}.cif").write_text(text)
    write_extxyz(folder / "test.extxyz", pd.DataFrame([row_of(wurtzite())]))


@pytest.mark.parametrize(
    "others, sizes",
    [
        ({}, {"train": 8, "validation": 1, "test": 1}),
        ({"test_path": "test.extxyz"}, {"train": 9, "validation": 1, "test": 1}),
        ({"validation_path": "test.extxyz"}, {"train": 9, "validation": 1, "test": 1}),
        ({"validation_path": "test.extxyz", "test_path": "all"}, {"train": 10, "validation": 1, "test": 10}),
    ],
)
def test_structures_of_ones_own_are_split_unless_there_are_paths(
    tmp_path: Path, others: dict[str, str], sizes: dict[str, int]
) -> None:
    own_files(tmp_path)
    chosen = data_set("structures")
    options = chosen.Options(path=str(tmp_path / "all"), **{key: str(tmp_path / name) for key, name in others.items()})
    rows = chosen.read(options, 0, tmp_path)
    assert rows.groupby("split").size().to_dict() == sizes
    assert rows["id"].is_unique
    if "test_path" in others and others["test_path"] == "test.extxyz":
        assert rows["formula"][rows["split"] == "test"].tolist() == ["Zn2S2"]
        assert atoms_of(chosen.tokens_of("structures", rows, options).test).tolist() == [4]


def test_a_path_that_is_not_there_is_an_error_when_the_data_are_prepared(tmp_path: Path) -> None:
    chosen = data_set("structures")
    options = chosen.Options(path=str(tmp_path / "nowhere"))
    with pytest.raises(KinoflowError, match="nowhere: no such file or folder"):
        chosen.read(options, 0, tmp_path)


# The stage


@pytest.fixture
def own_job(tiny_file: Callable[..., Path], tmp_path: Path) -> Job:
    """A job on ten structures, and one for the test split, of the user's own."""
    own_files(tmp_path)
    choice = {"name": "structures", "path": str(tmp_path / "all"), "test_path": str(tmp_path / "test.extxyz")}
    config = load_config(tiny_file(), choices=False)
    experiment = config.experiments["checkerboard"].model_copy(
        update={"data": DataChoice(**choice), "crystals": Crystals()}
    )
    return Job(config.model_copy(update={"experiments": {"own": experiment}}), "own")


def test_the_stage_writes_tokens_and_rows_and_names_what_was_rejected(
    own_job: Job, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "all" / "bad.cif").write_text("nothing")
    prepare_stage(own_job, output=tmp_path / "own.safetensors", rows=tmp_path / "rows.parquet")
    rows = read_table(tmp_path / "rows.parquet")
    assert len(rows) == 12
    assert len(TokenData.load(tmp_path / "own.safetensors").test) == 1
    listed = tmp_path / "own.rejected.csv"
    said = capsys.readouterr().out
    assert "1 rejected\n  1 x does not parse (bad)\n" in said
    assert f"all rejected structures: {listed}\n" in said
    [(id, split, reason)] = pd.read_csv(listed).values.tolist()
    assert (id, split in SPLITS) == ("bad", True)
    assert reason.startswith("does not parse: ")
    assert sidecar_of(listed).exists()
    record = json.loads(sidecar_of(tmp_path / "rows.parquet").read_text())
    assert len(record["inputs"]) == 12


def test_the_list_of_the_rejected_is_kept_and_named_if_nothing_is_left(own_job: Job, tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / "all" / f"{number}.cif").write_text(LARGE)
    listed = tmp_path / "own.rejected.csv"
    with pytest.raises(KinoflowError, match=re.escape(f"all rejected structures: {listed}")) as raised:
        prepare_stage(own_job, output=tmp_path / "own.safetensors", rows=tmp_path / "rows.parquet")
    assert re.search(r"9 x a length of 50 A or more \(\d, \d, \d, \.\.\.\)", str(raised.value))
    assert pd.read_csv(listed)["reason"].tolist() == ["a length of 50 A or more"] * 10


def test_without_rejected_structures_there_is_no_list(own_job: Job, tmp_path: Path) -> None:
    (tmp_path / "own.rejected.csv").write_text("of an earlier preparation")
    prepare_stage(own_job, output=tmp_path / "own.safetensors")
    assert not (tmp_path / "own.rejected.csv").exists()
