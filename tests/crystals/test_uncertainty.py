"""The uncertainty of energies, by model and chemistry, and how its table is made."""

import json
import math
from pathlib import Path
from unittest.mock import patch

import pytest
from fixed_energy import ENERGY, FIXED, RAW
from small_crystals import rock_salt, table

from pipeline.config import Crystals
from pipeline.crystals import uncertainty as module
from pipeline.crystals.chemistry import CHEMISTRIES, chemistry_of
from pipeline.crystals.energies import formation_energy
from pipeline.crystals.model_errors import measure_models
from pipeline.crystals.uncertainty import uncertainty
from pipeline.errors import KinoflowError
from pipeline.store.journal import Journal


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        ([12, 8], "oxide"),
        ([11, 17], "halide"),
        ([83, 8, 9], "halide"),  # fluorine is more electronegative than oxygen
        ([83, 8, 17], "oxide"),
        ([30, 16], "chalcogenide"),
        ([78, 52, 52], "chalcogenide"),  # platinum is the more electronegative, but a metal
        ([31, 33], "pnictide"),
        ([51, 79], "pnictide"),
        ([28, 13], "intermetallic"),
        ([22, 6], "other"),
        ([1, 3], "other"),
        ([26, 26], "other"),
        ([8, 8], "other"),
        ([10, 26], "other"),
    ],
)
def test_the_most_electronegative_element_that_is_no_metal_decides(numbers: list[int], kind: str) -> None:
    assert chemistry_of(numbers) == kind
    assert kind in CHEMISTRIES


def test_a_chemistry_with_few_structures_has_the_uncertainty_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = {
        "all": {"n": 99, "quantile": 0.02},
        "oxide": {"n": 30, "quantile": 0.03},
        "halide": {"n": 29, "quantile": 9},
    }
    (tmp_path / "table.json").write_text(json.dumps({"models": {"mine": {"errors": errors}}}))
    monkeypatch.setattr(module, "TABLE", tmp_path / "table.json")
    module._measured.cache_clear()
    assert [uncertainty("mine", kind) for kind in ("oxide", "halide", "other")] == [0.03, 0.02, 0.02]
    assert math.isnan(uncertainty("other", "oxide"))
    module._measured.cache_clear()


def test_the_models_of_the_package_have_an_uncertainty_in_every_chemistry() -> None:
    for model in ("chgnet", "sevennet"):
        assert all(0 < uncertainty(model, kind) < 0.2 for kind in CHEMISTRIES)


def structures(folder: Path) -> Path:
    """Write salts whose formation energies are 0.01, 0.02 and so on below those of the model."""
    frame = table(*(rock_salt(str(number)) for number in range(1, 11)))
    known = formation_energy([11, 17], ENERGY)[0]
    frame["formation_energy"] = [known - number / 100 for number in range(1, 10)] + [math.nan]
    frame.to_parquet(folder / "known.parquet")
    return folder / "known.parquet"


def test_the_table_is_measured_and_keeps_other_models(tmp_path: Path) -> None:
    said = {"title": "salts", "count": 50, "journal": tmp_path / "journal", "output": tmp_path / "table.json"}
    path = structures(tmp_path)
    measure_models([FIXED], Crystals(), 0, path=path, **said)
    measure_models([RAW], Crystals(), 0, path=path, **said)
    written = json.loads((tmp_path / "table.json").read_text())["models"]
    assert list(written) == ["fixed", "raw"]
    errors = written["fixed"]["errors"]
    assert list(errors) == ["all", "halide"]
    assert errors["all"] == errors["halide"]
    assert errors["all"]["n"] == written["fixed"]["drawn"] == 9
    assert errors["all"]["mean_absolute_error"] == pytest.approx(0.05)
    assert errors["all"]["quantile"] == pytest.approx(0.01 + 0.68 * 0.08)
    assert written["raw"]["errors"]["all"]["bias"] == pytest.approx(0.05 - 0.614 / 2)
    assert not list(tmp_path.glob("journal/*"))


def test_an_interrupted_measurement_goes_on(tmp_path: Path) -> None:
    said = {"title": "salts", "count": 50, "journal": tmp_path / "journal", "output": tmp_path / "table.json"}
    path = structures(tmp_path)
    with patch.object(Journal, "remove", lambda journal: None):
        measure_models([FIXED], Crystals(), 0, path=path, **said)
    before = (tmp_path / "table.json").read_bytes()
    with patch("pipeline.crystals.workers.Worker", None):  # no worker can start
        measure_models([FIXED], Crystals(), 0, path=path, **said)
    assert (tmp_path / "table.json").read_bytes() == before


def test_structures_without_energies_are_refused(tmp_path: Path) -> None:
    table(rock_salt()).to_parquet(tmp_path / "none.parquet")
    with pytest.raises(KinoflowError, match="no structure has a known formation energy"):
        measure_models(
            [FIXED], Crystals(), 0, path=tmp_path / "none.parquet", title="", count=1, journal=tmp_path, output=tmp_path
        )
