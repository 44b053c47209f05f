"""Samples become a table with one row each, and files of those that are crystals."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from crystal_config import crystal_config
from known_crystals import rock_salt, sites_of, wurtzite

from pipeline.config import Config
from pipeline.config.loading import load_config
from pipeline.crystals import tokens
from pipeline.crystals.describe import describe_rows
from pipeline.crystals.reading import read_structures
from pipeline.crystals.table import crystals_of
from pipeline.crystals.tokens import encode
from pipeline.errors import KinoflowError
from pipeline.sampling.samples import SampleSet
from pipeline.stages.decode import decode as decode_stage
from pipeline.stages.job import Job
from pipeline.store.parquet import read_table
from pipeline.store.provenance import sidecar_of

Files = dict[str, Path]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    rows = np.stack([encode(rock_salt()), encode(wurtzite()), encode(rock_salt()), encode(rock_salt())])
    rows[1, 6] = tokens.PAD
    rows[3, 3:6] = tokens.FIRST_ANGLE + np.array([10, 130, 90])
    SampleSet(torch.from_numpy(rows), {"run": "mask_cubic", "n": 4, "seed": 0}).save(tmp_path / "samples")
    return {name: tmp_path / name for name in ("samples", "table", "all.extxyz", "all.zip")}


def decode_files(config: Config, files: Files) -> None:
    (experiment,) = config.experiments
    decode_stage(
        Job(config, experiment),
        samples=files["samples"],
        output=files["table"],
        extxyz=files["all.extxyz"],
        cifs=files["all.zip"],
    )


def test_every_sample_is_a_row_and_every_crystal_in_the_files(files: Files) -> None:
    decode_files(crystal_config(), files)
    frame = read_table(files["table"])
    assert frame["id"].tolist() == [f"mask_cubic-{number:06d}" for number in (1, 2, 3, 4)]
    assert [reason[:26] for reason in frame["reason"]] == [
        "",
        "tokens that do not fit: an",
        "",
        "angles that do not close t",
    ]
    for name in ("all.extxyz", "all.zip"):
        back = read_structures(files[name])
        assert back["id"].tolist() == ["mask_cubic-000001", "mask_cubic-000003"]
        assert [sites_of(crystal) for crystal in crystals_of(back) if crystal] == [sites_of(rock_salt())] * 2
    assert all(sidecar_of(files[name]).is_file() for name in ("table", "all.extxyz", "all.zip"))


def test_a_sample_whose_cell_cannot_exist_counts_with_its_composition(files: Files) -> None:
    decode_files(crystal_config(), files)
    frame = read_table(files["table"])
    assert frame["formula"].tolist() == ["Na4Cl4", "", "Na4Cl4", "Na4Cl4"]
    found = describe_rows(frame.iloc[1:], workers=1, seconds=60)
    assert found["composition_valid"].tolist() == [False, True, True]
    assert found["structural_valid"].tolist() == [False, True, False]
    assert found["elements"].tolist() == [0, 2, 2]
    assert found["reason"].tolist() == frame["reason"].tolist()[1:]


def test_samples_of_something_else_are_not_decoded(tiny_file: Callable[..., Path], files: Files) -> None:
    with pytest.raises(KinoflowError, match="'checkerboard' is not a data set of crystals"):
        decode_files(load_config(tiny_file()), files)
