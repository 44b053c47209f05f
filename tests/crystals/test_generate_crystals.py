"""Crystals around what is given."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from known_crystals import rock_salt
from tiny import TINY, TINY_MATERIALS, write_salts

from pipeline.config import Config
from pipeline.config.loading import load_config, merge
from pipeline.crystals.export import cif_text
from pipeline.crystals.generation import generate_crystals
from pipeline.crystals.orders import Order
from pipeline.errors import KinoflowError
from pipeline.stages.job import Job, RunJob
from pipeline.stages.prepare import prepare as prepare_stage
from pipeline.stages.train import train as train_stage
from pipeline.store.parquet import read_table

Generate = Callable[..., pd.DataFrame]


@dataclass(frozen=True)
class Place:
    """A folder with tokens, and weights of runs that have learnt little more than cubes, trained when asked for."""

    folder: Path
    config: Config

    def weights(self, run: str) -> Path:
        files = {name: self.folder / f"{run}-{name}" for name in ("checkpoints", "weights", "metrics", "history")}
        if not files["weights"].exists():
            train_stage(RunJob(self.config, "materials", run), tokens=self.folder / "tokens", gpus=0, **files)
        return files["weights"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("salts")
    write_salts(folder)
    masked = {"mask_ko": {"path": {"name": "mask"}, "loss": "cross_entropy"}}
    data = {"path": str(folder / "salts.extxyz"), "max_atoms": 8}
    materials = merge(TINY_MATERIALS, {"data": data, "training": {"steps": 60}, "runs": masked})
    (folder / "salts.yaml").write_text(yaml.safe_dump(TINY | {"experiments": {"materials": materials}}))
    config = load_config(folder / "salts.yaml")
    prepare_stage(Job(config, "materials"), output=folder / "tokens")
    return Place(folder, config)


@pytest.fixture
def generate(place: Place, tmp_path: Path) -> Generate:
    """Return a function that generates crystals with the network of a run."""

    def make(run: str, **given: Any) -> pd.DataFrame:
        values = {"count": 6, "seed": 0, "gpus": 0}
        values |= {key: given.pop(key) for key in list(given) if key in values}
        files = {"tokens": place.folder / "tokens", "weights": place.weights(run), "output": tmp_path / "made"}
        generate_crystals(place.config, "materials", run, Order(**given), **files, **values)
        return read_table(tmp_path / "made/crystals.parquet")

    return make


@pytest.mark.parametrize("run", ["mask_ko", "metric"])
def test_a_formula_gives_crystals_of_exactly_its_elements_in_every_multiple_that_fits(
    generate: Generate, tmp_path: Path, run: str
) -> None:
    made = generate(run, formula="NaCl", count=8)
    counts = [np.bincount(numbers, minlength=18) for numbers in made["numbers"]]
    assert [(count[11], count[17], count.sum()) for count in counts] == [
        (n, n, 2 * n) for n in (1, 1, 2, 2, 3, 3, 4, 4)
    ]
    assert made["id"].is_unique
    for suffix in ("extxyz", "zip"):
        assert (tmp_path / f"made/crystals.{suffix}").stat().st_size > 0


def test_a_number_of_formula_units_is_kept(generate: Generate) -> None:
    assert set(generate("mask_ko", formula="NaCl", units=3)["formula"]) == {"Na3Cl3"}


def test_the_parts_of_a_template_that_are_kept_stay_as_they_are(generate: Generate, tmp_path: Path) -> None:
    template = tmp_path / "salt.cif"
    template.write_text(cif_text(rock_salt(side=5.6)))
    made = generate("mask_ko", template=template, keep=["lattice", "sites"])
    for row in made.to_dict("records"):
        assert np.allclose(row["lengths"], 5.6)
        assert np.allclose(row["angles"], 90)
        assert np.allclose(np.reshape(row["fractions"], (-1, 3)), rock_salt().fractions)
    assert made["formula"].nunique() > 1


def test_the_same_seed_gives_the_same_crystals_and_another_one_others(generate: Generate) -> None:
    first, again, other = (generate("mask_ko", formula="NaCl", seed=seed) for seed in (1, 1, 2))
    same = [list(row) for row in first["fractions"]] == [list(row) for row in again["fractions"]]
    assert same
    assert [list(row) for row in first["fractions"]] != [list(row) for row in other["fractions"]]


def test_an_autoregressive_run_cannot_fill_in(generate: Generate) -> None:
    with pytest.raises(KinoflowError, match="run 'ar': is autoregressive"):
        generate("ar", formula="NaCl")


def test_a_template_that_is_no_crystal_is_refused_with_its_reason(generate: Generate, tmp_path: Path) -> None:
    template = tmp_path / "broken.cif"
    template.write_text("data_broken\n_cell_length_a   four\n")
    with pytest.raises(KinoflowError, match=r"broken.cif: one crystal expected, but: does not parse"):
        generate("mask_ko", template=template)


@pytest.mark.parametrize("formula, hint", [("Xx2", "Xx is no element"), ("Na9", "at most 8"), ("Na0.5Cl", "whole")])
def test_a_formula_that_cannot_be_is_refused(generate: Generate, formula: str, hint: str) -> None:
    with pytest.raises(KinoflowError, match=hint):
        generate("mask_ko", formula=formula)
