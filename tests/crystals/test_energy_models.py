"""Energy models by name: what they say of a crystal, what they refuse, and how they are missed."""

import hashlib
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from ase.calculators.calculator import Calculator
from small_crystals import crystal, rock_salt

from pipeline.config import EnergyModelChoice
from pipeline.config.plugins import ENERGY_MODELS
from pipeline.crystals.checkpoints import FORCE, only_weights
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.energies import atoms_of, formation_energy
from pipeline.crystals.energy_model import EnergyModel
from pipeline.crystals.energy_models import mace, orb
from pipeline.crystals.relaxation import relax
from pipeline.crystals.static_energies import static_energy
from pipeline.crystals.table import crystal_of
from pipeline.errors import KinoflowError


def perovskite(id: str, length: float, numbers: tuple[int, int, int]) -> Crystal:
    a, b, x = numbers
    places = {(0, 0, 0): a, (0.5, 0.5, 0.5): b, (0.5, 0.5, 0): x, (0.5, 0, 0.5): x, (0, 0.5, 0.5): x}
    return crystal(id, length, places)


ZINC_BLENDE = {(0, 0, 0): 48, (0.25, 0.25, 0.25): 52}
KNOWN = [  # as in MP-20: cells, and formation energies in eV/atom
    (rock_salt("NaCl", 4.02), -2.110),
    (rock_salt("LiH", 2.829, (3, 1)), -0.496),
    (rock_salt("YN", 3.478, (39, 7)), -1.867),
    (crystal("CdTe", 4.687, ZINC_BLENDE, angles=[60.0] * 3), -0.669),
    (perovskite("SrFeO3", 3.913, (38, 26, 8)), -2.224),  # an oxide with a U
    (perovskite("KNiF3", 4.069, (19, 28, 9)), -2.642),  # a fluoride with a U
]


@pytest.fixture(scope="module")
def sevennet() -> tuple[EnergyModel, Calculator]:
    model = EnergyModel.of(EnergyModelChoice(name="sevennet"))
    return model, model.load("cpu")


@pytest.mark.parametrize(("start", "known"), KNOWN, ids=lambda value: getattr(value, "id", ""))
def test_sevennets_energies_with_corrections_are_those_of_the_materials_project(
    sevennet: tuple[EnergyModel, Calculator], start: Crystal, known: float
) -> None:
    model, calculator = sevennet
    energy, reason = static_energy(calculator, start, model=model)
    assert reason == ""
    assert formation_energy(start.numbers.tolist(), energy)[0] == pytest.approx(known, abs=0.02)


def test_sevennet_read_as_weights_alone_is_the_library_s_own(sevennet: tuple[EnergyModel, Calculator]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sevenn.calculator import SevenNetCalculator

        theirs = atoms_of(KNOWN[-1][0], SevenNetCalculator("7net-l3i5", device="cpu"))
    ours = atoms_of(KNOWN[-1][0], sevennet[1])
    assert ours.get_potential_energy() == pytest.approx(theirs.get_potential_energy(), abs=1e-6)
    assert ours.get_forces() == pytest.approx(theirs.get_forces(), abs=1e-6)
    assert ours.get_stress() == pytest.approx(theirs.get_stress(), abs=1e-6)


def test_a_relaxed_crystal_has_the_energy_with_corrections(sevennet: tuple[EnergyModel, Calculator]) -> None:
    model, calculator = sevennet
    row = relax(calculator, rock_salt(length=3.9), model=model, steps=60, force=0.1)
    end = crystal_of(row)
    assert end is not None
    raw = float(atoms_of(end, calculator).get_potential_energy()) / 2
    assert row["converged"]
    assert row["energy_per_atom"] == pytest.approx(raw - 0.614 / 2, abs=1e-5)


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (rock_salt(length=20.0), "atoms without neighbours"),
        (rock_salt(numbers=(85, 17)), "the energy model does not know At"),
    ],
)
def test_what_sevennet_knows_nothing_about_has_a_reason(
    sevennet: tuple[EnergyModel, Calculator], start: Crystal, reason: str
) -> None:
    model, calculator = sevennet
    energy, why = static_energy(calculator, start, model=model)
    assert np.isnan(energy)
    assert why == reason
    assert reason in relax(calculator, start, model=model, steps=3, force=0.1)["reason"]


def test_a_name_stands_for_the_weights() -> None:
    names = [
        EnergyModel.of(EnergyModelChoice(**choice)).name
        for choice in (
            {"name": "chgnet"},
            {"name": "sevennet"},
            {"name": "sevennet", "weights": "7net-0"},
        )
    ]
    assert names == ["chgnet", "sevennet", "sevennet_7net_0"]
    assert ENERGY_MODELS.load("mace").variant(mace.Options(path="a", sha256="ab" * 32)) == "abababab"


@pytest.mark.parametrize(
    ("choice", "package"),
    [
        ({"name": "mace", "path": "a.model", "sha256": "0" * 64}, "mace-torch"),
        ({"name": "orb", "path": "a"}, "orb-models"),
    ],
)
def test_a_model_that_is_not_installed_is_an_error_that_says_how_to_get_it(choice: Any, package: str) -> None:
    with pytest.raises(KinoflowError, match=rf"{package} is not installed; run `pip install \"{package}>=0"):
        EnergyModel.of(EnergyModelChoice(**choice))


def test_a_file_of_mace_is_not_opened_if_its_checksum_is_another(tmp_path: Path) -> None:
    with pytest.raises(KinoflowError, match="no such file"):
        mace.load(mace.Options(path=str(tmp_path / "a"), sha256="0" * 64), "cpu")
    (tmp_path / "a").write_bytes(b"code")
    found = hashlib.sha256(b"code").hexdigest()
    with pytest.raises(KinoflowError, match=f"has the SHA-256 {found}"):
        mace.load(mace.Options(path=str(tmp_path / "a"), sha256="0" * 64), "cpu")


def test_orb_is_not_downloaded(tmp_path: Path) -> None:
    with pytest.raises(KinoflowError, match="no such file; correct `path`"):
        orb.load(orb.Options(path=str(tmp_path / "weights.ckpt")), "cpu")


class Payload:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("harm",)


def test_a_checkpoint_with_code_is_refused_though_a_library_would_run_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"state": torch.zeros(2), "shift": np.ones(3), "more": Payload()}, "bad.pth")
    torch.save({"state": torch.zeros(2), "shift": np.ones(3)}, "good.pth")
    with only_weights():
        assert torch.load("good.pth", weights_only=False)["shift"].tolist() == [1, 1, 1]
        with pytest.raises(Exception, match="Weights only load failed"):
            torch.load("bad.pth", weights_only=False)
    assert not (tmp_path / "harm").exists()
    assert FORCE not in os.environ
