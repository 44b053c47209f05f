"""Crystals to order: none breaks it, on any path, and what cannot be is explained."""

import doctest
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from known_crystals import rock_salt, wurtzite
from small_images import stirred
from tiny import TINY, TINY_MATERIALS, write_salts

from pipeline.cli import main
from pipeline.config import Config
from pipeline.config.loading import load_config, merge
from pipeline.crystals import compositions as all_compositions
from pipeline.crystals import limits, templates
from pipeline.crystals.compositions import Composition, compositions, draw, laws_of_compositions
from pipeline.crystals.elements import NUMBERS
from pipeline.crystals.export import cif_text
from pipeline.crystals.generation import generate_crystals
from pipeline.crystals.limits import Limits
from pipeline.crystals.orders import Order, Plan, plan
from pipeline.crystals.tokens import ELEMENT, FIRST_ELEMENT
from pipeline.crystals.validity import composition_valid
from pipeline.errors import KinoflowError
from pipeline.networks.saved import Description, new_network, save_network
from pipeline.stages.job import Job
from pipeline.stages.prepare import prepare as prepare_stage
from pipeline.store.atomic import read_json
from pipeline.store.parquet import read_table
from pipeline.tokens.token_data import TokenData

FIVE = ("mask", "uniform", "statistics", "metric", "kindwise")
OPTIONS = {"kindwise": {"paths": [{"name": name} for name in ("metric", "uniform", "mask", "statistics", "uniform")]}}
LI, P, S, NA, CL = (NUMBERS[symbol] for symbol in ("Li", "P", "S", "Na", "Cl"))
SYSTEM = {"chemical_system": "Li-P-S", "atoms": "4-12"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with tokens of 40 alkali halides of two atoms, and weights at random for every path."""
    folder = tmp_path_factory.mktemp("orders")
    write_salts(folder)
    runs = {name: {"path": {"name": name, **OPTIONS.get(name, {})}, "loss": "cross_entropy"} for name in FIVE}
    data = {"path": str(folder / "salts.extxyz"), "max_atoms": 12}
    materials = merge(TINY_MATERIALS, {"data": data, "runs": runs, "sampling": {"steps": 4, "block": 30}})
    materials["runs"]["metric"] = runs["metric"]
    (folder / "salts.yaml").write_text(yaml.safe_dump(TINY | {"experiments": {"materials": materials}}))
    config = load_config(folder / "salts.yaml")
    prepare_stage(Job(config, "materials"), output=folder / "tokens")
    tokens = TokenData.load(folder / "tokens")
    for name, run in config.experiments["materials"].runs.items():
        network = stirred(new_network(run.model, tokens))
        save_network(folder / f"{name}-weights", network, Description.of(name, run, tokens))
    (folder / "salt.cif").write_text(cif_text(rock_salt(side=5.6437)))
    (folder / "zinc.cif").write_text(cif_text(wurtzite(gamma=119.6)))
    return folder


@pytest.fixture(scope="module")
def config(folder: Path) -> Config:
    return load_config(folder / "salts.yaml")


@pytest.fixture
def generate(config: Config, folder: Path, tmp_path: Path) -> Callable[..., pd.DataFrame]:
    def make(run: str, count: int = 50, seed: int = 0, **order: Any) -> pd.DataFrame:
        files = {"tokens": folder / "tokens", "weights": folder / f"{run}-weights", "output": tmp_path / "made"}
        generate_crystals(config, "materials", run, Order(**order), **files, count=count, seed=seed, gpus=0)
        return read_table(tmp_path / "made/crystals.parquet")

    return make


def planned(folder: Path, count: int = 400, seed: int = 0, **order: Any) -> Plan:
    tokens = TokenData.load(folder / "tokens")
    return plan(Order(**order), tokens, count, torch.Generator().manual_seed(seed))


def elements_of(made: Plan) -> list[list[int]]:
    """Return the Z that each template fixes."""
    return [
        (template.tokens[template.fixed & (template.kinds == ELEMENT)] - FIRST_ELEMENT + 1).tolist()
        for template in made.templates
    ]


@pytest.mark.parametrize("run", [*FIVE, "ar"])
def test_a_chemical_system_and_a_range_of_atoms_are_kept_by_every_path(
    generate: Callable[..., pd.DataFrame], run: str
) -> None:
    made = generate(run, **SYSTEM)
    assert len(made) == 50
    assert all(4 <= len(numbers) <= 12 for numbers in made["numbers"])
    assert {z for numbers in made["numbers"] for z in numbers} <= {LI, P, S}
    assert made["formula"].nunique() > 5


@pytest.mark.parametrize("run", FIVE)
def test_charge_neutral_crystals_of_a_system_are_neutral_on_every_path(
    generate: Callable[..., pd.DataFrame], run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = generate(run, **SYSTEM, elements=["S"], exclude=["P"], charge_neutral=True)
    assert len(made) == 50
    for numbers in made["numbers"]:
        composition = Counter(numbers.tolist())
        assert 4 <= composition.total() <= 12
        assert S in composition
        assert composition.keys() <= {LI, S}
        assert composition_valid(composition, "smact14")
    said = capsys.readouterr().out
    assert "charge-neutral compositions, 0 of them in the training set" in said
    assert "the training set has no crystal of 4-12 atoms: each number is equally likely" in said
    assert "elements that the network never saw in training: S" in said


@pytest.mark.parametrize("run", FIVE)
def test_required_elements_are_there_and_excluded_ones_are_not(generate: Callable[..., pd.DataFrame], run: str) -> None:
    made = generate(run, elements=["Na", "Cl"], exclude=["O", "F", "H"], atoms="3")
    assert all(len(numbers) == 3 and {NA, CL} <= set(numbers) for numbers in made["numbers"])
    assert not {z for numbers in made["numbers"] for z in numbers} & {1, 8, 9}


def test_an_autoregressive_run_takes_no_elements_that_must_be_there(generate: Callable[..., pd.DataFrame]) -> None:
    with pytest.raises(KinoflowError, match="run 'ar': is autoregressive"):
        generate("ar", elements=["Na"])


def test_the_number_of_atoms_follows_the_training_set_within_the_range(folder: Path) -> None:
    made = planned(folder, atoms="1-6")
    assert {int((template.kinds == ELEMENT).sum()) for template in made.templates} == {2}
    assert not made.notes


def test_a_number_of_atoms_that_the_training_set_does_not_have_is_drawn_evenly(folder: Path) -> None:
    sizes = Counter(int((template.kinds == ELEMENT).sum()) for template in planned(folder, atoms="4-7").templates)
    assert sizes.keys() == {4, 5, 6, 7}
    assert all(70 < number < 130 for number in sizes.values())


def test_neutral_compositions_without_a_system_are_those_of_the_training_set(folder: Path) -> None:
    made = planned(folder, charge_neutral=True, exclude=["I"])
    drawn = {tuple(numbers) for numbers in elements_of(made)}
    assert drawn <= {(a, b) for a in (3, 11, 19, 37, 55) for b in (9, 17, 35)} | {
        (b, a) for a in (11, 19, 37, 55) for b in (9, 17, 35)
    }
    assert len(drawn) > 10


def test_compositions_of_a_system_are_drawn_with_one_more_than_their_count() -> None:
    bounds = Limits.of(max_atoms=12, chemical_system="Na-Cl", elements=["Na", "Cl"], atoms="2-4", charge_neutral=True)
    salt: Composition = ((NA, 1), (CL, 1))
    laws = laws_of_compositions(bounds, bounds.sizes, Counter({NA: 1, CL: 1}), Counter({salt: 6}))
    assert laws[2] == {salt: 7}
    assert laws[4][(NA, 2), (CL, 2)] == 1
    drawn = Counter(draw({"seen": 7, "unseen": 1}, 4000, torch.Generator().manual_seed(0)))
    assert abs(drawn["seen"] / 4000 - 7 / 8) < 0.02


def test_a_system_of_too_many_compositions_takes_those_of_the_training_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.crystals.compositions.MOST", 3)
    bounds = Limits.of(max_atoms=12, chemical_system="Na-Cl", atoms="2-4", charge_neutral=True)
    known: Counter[Composition] = Counter({((NA, 1), (CL, 1)): 6, ((NA, 1), (CL, 2)): 5, ((NA, 5), (CL, 5)): 4})
    assert laws_of_compositions(bounds, bounds.sizes, Counter(), known) == {2: {((NA, 1), (CL, 1)): 6}}


def test_every_composition_is_listed_once() -> None:
    found = list(compositions([LI, P, S], 6, Counter({P: 1})))
    assert len(found) == len(set(found)) == 21
    assert all(sum(count for _, count in one) == 6 and dict(one)[P] >= 1 for one in found)


def test_a_formula_takes_only_the_multiples_in_the_range(folder: Path) -> None:
    made = planned(folder, count=6, formula="NaCl", atoms="4-9")
    assert [len(numbers) for numbers in elements_of(made)] == [4, 4, 6, 6, 8, 8]


@pytest.mark.parametrize("run", ["mask", "metric"])
def test_a_kept_lattice_and_kept_sites_come_out_with_all_their_digits(
    generate: Callable[..., pd.DataFrame], folder: Path, run: str
) -> None:
    made = generate(run, count=4, template=folder / "zinc.cif", keep=["lattice", "sites:1,4"], atoms="4-6")
    for row in made.to_dict("records"):
        fractions = np.reshape(row["fractions"], (-1, 3))
        assert np.allclose(row["lengths"], wurtzite().lengths, atol=1e-8)
        assert np.allclose(row["angles"], [90, 90, 119.6], atol=1e-8)
        first, second = (0, 3) if len(fractions) == 4 else (0, 1)
        assert np.allclose(fractions[[first, second]], wurtzite().fractions[[0, 3]], atol=1e-7)
        assert row["reason"] == ""


def test_elements_of_some_atoms_are_kept_and_others_are_added(
    generate: Callable[..., pd.DataFrame], folder: Path
) -> None:
    order = {"keep": ["lattice", "composition:1-2", "sites:1-2"], "chemical_system": "Na-Cl-S", "elements": ["S"]}
    made = generate("uniform", count=8, template=folder / "salt.cif", atoms="5", **order)
    for row in made.to_dict("records"):
        assert list(row["numbers"][:2]) == [NA, NA]
        assert len(row["numbers"]) == 5
        assert S in row["numbers"]
        assert set(row["numbers"]) <= {NA, CL, S}
        assert np.allclose(row["fractions"][:6], rock_salt().fractions[:2].ravel())


def test_the_lattice_of_a_large_structure_is_kept_around_few_atoms(folder: Path, tmp_path: Path) -> None:
    large = rock_salt(side=5.6437)
    places = np.concatenate([large.fractions, large.fractions + 0.1])
    large = replace(large, numbers=np.tile(large.numbers, 2), fractions=places)
    (tmp_path / "large.cif").write_text(cif_text(large))
    made = planned(folder, count=2, template=tmp_path / "large.cif", keep=["lattice"], atoms="3")
    assert all(int((template.kinds == ELEMENT).sum()) == 3 for template in made.templates)
    assert np.allclose(made.templates[0].exact.restored(wurtzite()).lengths, 5.6437)


def test_a_formula_is_put_on_kept_sites_in_random_order(folder: Path) -> None:
    made = planned(folder, count=20, formula="LiF", template=folder / "salt.cif", keep=["sites", "lattice"])
    assert {tuple(sorted(numbers)) for numbers in elements_of(made)} == {(3,) * 4 + (9,) * 4}
    assert len({tuple(numbers) for numbers in elements_of(made)}) > 10


def test_the_order_is_recorded(generate: Callable[..., pd.DataFrame], tmp_path: Path) -> None:
    generate("mask", count=2, **SYSTEM)
    settings = read_json(tmp_path / "made/crystals.parquet.provenance.json")["settings"]
    assert (settings["chemical_system"], settings["atoms"], settings["elements"]) == ("Li-P-S", "4-12", [])


SALT = {"template": "salt.cif"}
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown element": ({"elements": ["Xx"]}, r"--elements Xx: 'Xx' is no element from Z = 1"),
    "element outside the vocabulary": ({"chemical_system": "Am-O"}, r"--chemical-system Am-O: 'Am' is no element"),
    "empty system": ({"chemical_system": ""}, "write symbols like Li-P-S"),
    "everything is excluded": (
        {"chemical_system": "Li-P", "exclude": ["Li", "P"]},
        "--chemical-system Li-P --exclude Li P: no element is left",
    ),
    "required outside the system": (
        {"chemical_system": "Li-P", "elements": ["S"]},
        "--elements S: S is required, but not in --chemical-system Li-P",
    ),
    "required and excluded": ({"elements": ["S"], "exclude": ["S"]}, "S is required, but --exclude"),
    "more elements than atoms": (
        {"elements": ["Li", "P", "S"], "atoms": "2"},
        "3 elements do not fit into 2 atoms",
    ),
    "too many atoms": ({"atoms": "4-30"}, r"--atoms 4-30: at most 12 atoms are possible"),
    "no range": ({"atoms": "12-4"}, "--atoms 12-4: write a number or a range"),
    "no number": ({"atoms": "many"}, "--atoms many: write a number or a range"),
    "no atoms": ({"atoms": "0"}, "--atoms 0: write a number"),
    "no neutral composition": (
        {"chemical_system": "Na-Cl", "elements": ["Na", "Cl"], "atoms": "3", "charge_neutral": True},
        "no composition of Na-Cl with 3 atoms is neutral",
    ),
    "no neutral composition in the training set": (
        {"elements": ["S"], "charge_neutral": True},
        "no composition in the training set with 1-12 atoms is neutral .* name a --chemical-system",
    ),
    "formula too large": ({"formula": "C13"}, "13 atoms, but at most 12"),
    "formula of no such cell": ({"formula": "NaCl", "atoms": "5"}, "its cells have 2, 4, .* atoms, none of them 5"),
    "formula outside the system": (
        {"formula": "NaCl", "chemical_system": "Li-P-S"},
        "--formula NaCl: Na is not allowed",
    ),
    "formula without a required element": ({"formula": "NaCl", "elements": ["S"]}, "S is required"),
    "formula that is not neutral": (
        {"formula": "NaCl2", "charge_neutral": True},
        "--formula NaCl2: not charge-neutral",
    ),
    "units of nothing": ({"units": 2, "atoms": "4"}, "--units: there is nothing to multiply"),
    "nothing to keep": ({"keep": ["lattice"], "atoms": "4"}, "--keep: there is nothing to keep"),
    "elements twice": (SALT | {"formula": "NaCl"}, "both give elements"),
    "another number of atoms": (SALT | {"atoms": "4"}, "the structure has 8 atoms, not 4"),
    "kept elements outside the system": (SALT | {"exclude": ["Cl"]}, "--keep composition: Cl is not allowed"),
    "kept composition without a required element": (SALT | {"elements": ["S"]}, "needs 9 atoms, of at most 8"),
    "atoms that are not there": (SALT | {"keep": ["sites:7-9"]}, "the structure has the atoms 1 to 8"),
    "atoms that are no numbers": (SALT | {"keep": ["sites:a"]}, "'sites:a' cannot be read"),
    "a part of a lattice": (SALT | {"keep": ["lattice:1"]}, "'lattice:1' is none of them"),
    "too many kept atoms": (SALT | {"keep": ["sites:1-4"], "atoms": "3"}, "needs 4 atoms, of at most 3"),
}


@pytest.mark.parametrize("order, message", FAULTS.values(), ids=FAULTS)
def test_an_order_that_cannot_be_met_is_explained(folder: Path, order: dict[str, Any], message: str) -> None:
    if "template" in order:
        order = order | {"template": folder / order["template"]}
    with pytest.raises(KinoflowError, match=message):
        planned(folder, count=3, **order)


def test_the_command_takes_all_flags(folder: Path, tmp_path: Path) -> None:
    files = [f"--tokens={folder / 'tokens'}", f"--weights={folder / 'mask-weights'}", f"--output={tmp_path / 'made'}"]
    order = ["--chemical-system", "Li-P-S", "--elements", "Li", "S", "--exclude", "P", "--atoms", "4-12"]
    call = ["generate-crystals", f"--config={folder / 'salts.yaml'}", "--run=mask", "--charge-neutral", "--count=5"]
    assert main([*call, *order, *files]) == 0
    made = read_table(tmp_path / "made/crystals.parquet")
    assert {z for numbers in made["numbers"] for z in numbers} == {LI, S}


def test_limits_leave_other_tokens_alone() -> None:
    possible = Limits.of(max_atoms=20, chemical_system="Li-P-S").tokens()
    assert possible is not None
    assert int((~possible).sum()) == 94 - 3
    assert Limits.of(max_atoms=20, atoms="4").tokens() is None


@pytest.mark.parametrize("module", [all_compositions, limits, templates])
def test_examples_run(module: ModuleType) -> None:
    results = doctest.testmod(module)
    assert results.attempted
    assert not results.failed
