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
from pipeline.errors import KinoflowError

KNOWN = {  # formation energies of the Materials Project in eV/atom
    "NaCl": (rock_salt(length=3.99), -2.11),
    "MgO": (rock_salt("MgO", 2.98, (12, 8)), -3.08),
    "NiO": (rock_salt("NiO", 2.96, (28, 8)), -1.22),  # computed with a U
    "GaAs": (
        crystal("GaAs", 4.07, {(0, 0, 0): 31, (0.25, 0.25, 0.25): 33}, angles=[60.0] * 3),
        -0.47,
    ),
}


@pytest.fixture(scope="module")
def sevennet() -> tuple[EnergyModel, Calculator]:
    model = EnergyModel.of(EnergyModelChoice(name="sevennet"))
    return model, model.load("cpu")


@pytest.mark.parametrize("name", KNOWN)
def test_sevennets_energies_with_corrections_are_those_of_the_materials_project(
    sevennet: tuple[EnergyModel, Calculator], name: str
) -> None:
    (model, calculator), (start, known) = sevennet, KNOWN[name]
    energy, reason = static_energy(calculator, start, model=model)
    assert reason == ""
    assert formation_energy(start.numbers.tolist(), energy)[0] == pytest.approx(known, abs=0.05)


def test_sevennet_read_as_weights_alone_is_the_library_s_own(sevennet: tuple[EnergyModel, Calculator]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sevenn.calculator import SevenNetCalculator

        theirs = atoms_of(KNOWN["MgO"][0], SevenNetCalculator("7net-l3i5", device="cpu"))
    ours = atoms_of(KNOWN["MgO"][0], sevennet[1])
    assert ours.get_potential_energy() == pytest.approx(theirs.get_potential_energy(), abs=1e-6)
    assert ours.get_forces() == pytest.approx(theirs.get_forces(), abs=1e-6)
    assert ours.get_stress() == pytest.approx(theirs.get_stress(), abs=1e-6)


def test_a_relaxed_crystal_has_the_energy_with_corrections(sevennet: tuple[EnergyModel, Calculator]) -> None:
    model, calculator = sevennet
    row = relax(calculator, rock_salt(length=3.9), model=model, steps=60, force=0.1)
    end = Crystal(
        "", *(np.array(row[key]) for key in ("lengths", "angles", "numbers")), np.reshape(row["fractions"], (-1, 3))
    )
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
