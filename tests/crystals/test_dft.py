"""Inputs for VASP, and what is made of its results."""

import gzip
import math
import os
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pymatgen.io.vasp.inputs import Incar, Poscar
from small_crystals import crystal, rock_salt
from vasp_output import vasprun

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.dft import collect_dft, folder_name, write_dft_inputs
from pipeline.crystals.energies import elemental_energies
from pipeline.crystals.hull import PUBLISHED, Hull, Point, elements_of
from pipeline.crystals.relaxation import RELAXED_COLUMNS, lost
from pipeline.crystals.table import frame_of, row_of
from pipeline.errors import KinoflowError
from pipeline.store.parquet import read_table, write_table
from pipeline.store.provenance import sidecar_of

LITHIUM_IRON_PHOSPHATE = {
    (0.0, 0.0, 0.0): 3,
    (0.5, 0.5, 0.5): 26,
    (0.25, 0.25, 0.25): 15,
    (0.1, 0.3, 0.3): 8,
    (0.4, 0.2, 0.3): 8,
    (0.3, 0.4, 0.1): 8,
    (0.2, 0.1, 0.4): 8,
}
CRYSTALS = {
    "salt": rock_salt("salt"),
    "run/phosphate 1": crystal("run/phosphate 1", 6.0, LITHIUM_IRON_PHOSPHATE),
    "astatide": rock_salt("astatide", numbers=(11, 85)),
    "oxide": rock_salt("oxide", numbers=(26, 8)),
    "polonide": rock_salt("polonide", numbers=(11, 84)),
    "high": rock_salt("high"),
    "unknown": rock_salt("unknown"),
    "worse salt": rock_salt("worse salt"),
}
ABOVE = dict.fromkeys(CRYSTALS, 0.02) | {"high": 0.3, "unknown": math.nan, "polonide": 0.1, "lost": 0.0}
ABOVE |= {"worse salt": 0.03}
KINDS = {id: "worse salt" if "salt" in id else id for id in ABOVE} | {"oxide": "", "lost": ""}


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, Path]:
    paths = {name: tmp_path / f"{name}.parquet" for name in ("structures", "relaxed", "hull")}
    rows = [_relaxed(chosen) for chosen in CRYSTALS.values()]
    write_table(paths["relaxed"], frame_of([*rows, lost("lost", "exploded")], RELAXED_COLUMNS))
    formulas = {row["id"]: row["formula"] for row in rows} | {"lost": "Na1Cl1"}
    frame = pd.DataFrame(
        {"id": list(ABOVE), "formula": [formulas[id] for id in ABOVE], "energy_above_hull": ABOVE.values()}
    ).assign(kind=KINDS.values())
    write_table(paths["structures"], frame)
    points = [Point.at({11: 1, 17: 1}, -2.0, PUBLISHED, ""), Point.at({26: 1, 8: 1}, -1.5, PUBLISHED, "")]
    points.append(Point.at({3: 1, 15: 1}, -0.5, PUBLISHED, ""))
    Hull([*points, *elements_of(points)], "").save(paths["hull"])
    return paths


def _relaxed(chosen: Crystal) -> dict[str, Any]:
    return row_of(chosen, converged=True, steps=1, energy_per_atom=-3.0, max_force=0.01, rmsd=0.0)


@pytest.fixture
def inputs(tables: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("pymatgen.core.SETTINGS", {})
    write_dft_inputs(tables["structures"], tables["relaxed"], tmp_path / "dft", 0.1)
    return tmp_path / "dft"


def test_crystals_near_the_hull_have_inputs_and_the_others_have_none(inputs: Path) -> None:
    manifest = pd.read_csv(inputs / "manifest.csv", keep_default_na=False).set_index("id")
    assert manifest["folder"].to_dict() == {
        "salt": "salt",
        "run/phosphate 1": "run_phosphate_1",
        "astatide": "",
        "oxide": "oxide",
        **dict.fromkeys(("polonide", "high", "unknown", "worse salt", "lost"), ""),
    }
    assert manifest["reason"].to_dict() == {
        **dict.fromkeys(("salt", "run/phosphate 1", "oxide"), ""),
        "astatide": "no potential for At",
        "lost": "no relaxed structure",
        **dict.fromkeys(("polonide", "high"), "not below 0.1 eV/atom above the hull"),
        "unknown": "no energy above the hull",
        "worse salt": "the same as salt",
    }
    assert float(manifest["energy_above_hull"]["salt"]) == 0.02
    folders = sorted(path.name for path in inputs.iterdir() if path.is_dir())
    assert folders == ["oxide", "run_phosphate_1", "salt"]
    assert {path.name for path in (inputs / "salt").iterdir()} == {"INCAR", "KPOINTS", "POSCAR", "POTCAR.spec"}
    assert sidecar_of(inputs / "manifest.csv").is_file()


def test_duplicates_have_inputs_if_they_are_wanted(tables: dict[str, Path], tmp_path: Path) -> None:
    write_dft_inputs(tables["structures"], tables["relaxed"], tmp_path / "all", 0.1, duplicates=True)
    assert {"salt", "worse_salt"} <= {path.name for path in (tmp_path / "all").iterdir()}


def test_the_lowest_of_a_kind_that_was_relaxed_has_inputs(tables: dict[str, Path], tmp_path: Path) -> None:
    frame = read_table(tables["structures"])
    write_table(tables["structures"], frame.assign(kind=frame["kind"].where(frame["id"] != "lost", "worse salt")))
    write_dft_inputs(tables["structures"], tables["relaxed"], tmp_path / "dft", 0.1)
    assert (tmp_path / "dft" / "salt" / "POSCAR").is_file()


def run_job(folder: Path, vasp: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the job script from elsewhere."""
    known = {"PATH": os.environ["PATH"], "VASP": vasp, **environment}
    return subprocess.run(["bash", str(folder / "job.sh")], env=known, capture_output=True, text=True, cwd="/")


def test_the_job_script_runs_the_folders_that_are_not_finished(inputs: Path) -> None:
    vasp = inputs / "vasp"
    vasp.write_text("#!/bin/bash\necho '</modeling>' > vasprun.xml\necho once >> runs\n")
    vasp.chmod(0o755)
    first = run_job(inputs, str(vasp))
    assert first.returncode == 1
    assert "salt: no POTCAR; make it from the names in POTCAR.spec" in first.stderr
    for name in ("salt", "run_phosphate_1", "oxide"):
        (inputs / name / "POTCAR").write_text("")
    assert run_job(inputs, str(vasp)).returncode == 0
    assert "oxide: finished already" in run_job(inputs, str(vasp)).stdout
    assert [len((inputs / name / "runs").read_text().split()) for name in ("salt", "oxide")] == [1, 1]


def test_a_task_of_an_array_runs_one_folder(inputs: Path) -> None:
    for name in (inputs / "folders.txt").read_text().split():
        (inputs / name / "POTCAR").write_text("")
    given = {"SLURM_ARRAY_TASK_ID": "2", "SLURM_SUBMIT_DIR": str(inputs)}
    assert run_job(inputs, "touch ran", **given).returncode == 0
    assert [path.parent.name for path in inputs.glob("*/ran")] == ["run_phosphate_1"]
    assert run_job(inputs, "false", **given).stderr == "run_phosphate_1: VASP failed; see run_phosphate_1/vasp.out\n"


def test_an_edited_job_script_is_kept(inputs: Path, tables: dict[str, Path]) -> None:
    (inputs / "job.sh").write_text("mine")
    write_dft_inputs(tables["structures"], tables["relaxed"], inputs, 0.01)
    assert (inputs / "job.sh").read_text() == "mine"
    assert (inputs / "folders.txt").read_text() == ""


def test_the_inputs_are_those_of_the_materials_project(inputs: Path) -> None:
    salt, phosphate = (Incar.from_file(inputs / name / "INCAR") for name in ("salt", "run_phosphate_1"))
    assert not salt.get("LDAU")
    assert salt["ENCUT"] == phosphate["ENCUT"] == 520
    poscar = Poscar.from_file(inputs / "run_phosphate_1" / "POSCAR", check_for_potcar=False)
    assert phosphate["LDAUU"][poscar.site_symbols.index("Fe")] == 5.3
    assert sum(phosphate["LDAUU"]) == 5.3
    assert (inputs / "salt" / "POTCAR.spec").read_text().split() == ["Na_pv", "Cl"]


def test_results_beside_the_inputs_survive_writing_them_again(inputs: Path, tables: dict[str, Path]) -> None:
    (inputs / "salt" / "vasprun.xml").write_text("result")
    write_dft_inputs(tables["structures"], tables["relaxed"], inputs, 0.1)
    assert (inputs / "salt" / "vasprun.xml").read_text() == "result"


@pytest.mark.parametrize(("id", "name"), [("mp-1.a_B", "mp-1.a_B"), ("../x", "__x"), ("a b", "a_b"), ("..", "_")])
def test_no_id_leads_out_of_the_folder(id: str, name: str) -> None:
    assert folder_name(id) == name


def collected(tables: dict[str, Path], results: Path) -> pd.DataFrame:
    output = results.parent / "collected.parquet"
    collect_dft(results, tables["structures"], tables["hull"], output)
    assert sidecar_of(output).is_file()
    frame = read_table(output)
    assert frame["id"].tolist() == list(ABOVE)
    return frame.set_index("id")


def salt_energy(above: float) -> float:
    """Return the energy of the cell before its correction, for rock salt so far above the hull."""
    references = elemental_energies()
    return 2 * (-2.0 + above) + references[11] + references[17] + 0.614


def test_the_outputs_of_vasp_become_energies_above_the_hull(inputs: Path, tables: dict[str, Path]) -> None:
    (inputs / "salt" / "vasprun.xml").write_text(vasprun(salt_energy(-0.1)))
    iron = vasprun(-11.0, (("Fe", "Fe_pv"), ("O", "O")), hubbards=(5.3, 0.0), functional="PE")
    (inputs / "oxide" / "vasprun.xml.gz").write_bytes(gzip.compress(iron.encode()))
    frame = collected(tables, inputs)
    assert frame["dft_energy_above_hull"]["salt"] == pytest.approx(-0.1)
    assert frame["dft_energy_per_atom"]["salt"] == pytest.approx((salt_energy(-0.1) - 0.614) / 2)
    assert frame["dft_stable"]["salt"]
    assert frame["dft_reason"]["salt"] == ""
    assert frame["dft_energy_per_atom"]["oxide"] == pytest.approx((-11.0 - 0.687 - 2.256) / 2)
    assert frame["dft_reason"]["run/phosphate 1"] == "missing vasprun.xml"
    assert frame["dft_reason"]["high"] == "no result"
    assert pd.isna(frame["dft_stable"]["high"])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (vasprun(-6.0, electronic_steps=10), "electronic steps not converged"),
        (vasprun(-6.0, ionic_steps=5), "ionic steps not converged"),
        (vasprun(-6.0)[:1500], "unreadable vasprun.xml: "),
        ("", "unreadable vasprun.xml: "),
        (vasprun(-6.0, (("K", "K_sv"), ("Cl", "Cl"))), "another composition: KCl"),
        (vasprun(-6.0, (("Na", "Na_sv"), ("Cl", "Cl"))), "incompatible: not the potentials of the Materials Project"),
        (vasprun(math.nan), "energy not finite"),
    ],
)
def test_an_output_of_no_use_is_a_reason(inputs: Path, tables: dict[str, Path], content: str, reason: str) -> None:
    (inputs / "salt" / "vasprun.xml").write_text(content)
    frame = collected(tables, inputs)
    assert frame["dft_reason"]["salt"].startswith(reason)
    assert math.isnan(frame["dft_energy_above_hull"]["salt"])
    assert pd.isna(frame["dft_stable"]["salt"])


@pytest.mark.parametrize(("column", "divisor"), [("energy_ev", 1), ("energy_ev_per_atom", 2)])
def test_a_table_of_energies_is_corrected_as_the_materials_project_does(
    tables: dict[str, Path], tmp_path: Path, column: str, divisor: int
) -> None:
    lines = {"salt": salt_energy(0.05) / divisor, "oxide": -11.0 / divisor, "high": ""}
    pd.DataFrame({"id": lines.keys(), column: lines.values()}).to_csv(tmp_path / "results.csv", index=False)
    frame = collected(tables, tmp_path / "results.csv")
    assert frame["dft_energy_above_hull"]["salt"] == pytest.approx(0.05)
    assert not frame["dft_stable"]["salt"]
    assert frame["dft_energy_per_atom"]["oxide"] == pytest.approx((-11.0 - 0.687 - 2.256) / 2)
    assert frame["dft_reason"]["high"] == frame["dft_reason"]["unknown"] == "no result"


def test_a_table_may_say_how_it_was_computed(tables: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text(
        'id,energy_ev,run_type,hubbards\noxide,-11,GGA+U,"{""Fe"": 4.0}"\nsalt,-6,SCAN,\nhigh,-6,,\n'
    )
    reasons = collected(tables, tmp_path / "results.csv")["dft_reason"]
    assert reasons["oxide"].startswith("incompatible: Invalid U value of 4.0 on Fe")
    assert reasons["salt"] == "incompatible: computed with SCAN, not with GGA or GGA+U"
    assert reasons["high"] == ""


def test_elements_without_a_reference_or_a_point_are_reasons(tables: dict[str, Path], tmp_path: Path) -> None:
    Hull(elements_of([Point.at({26: 1}, 0.0, PUBLISHED, "")]), "").save(tables["hull"])
    (tmp_path / "results.csv").write_text("id,energy_ev\nsalt,-6\npolonide,-6\n")
    frame = collected(tables, tmp_path / "results.csv")
    assert frame["dft_reason"]["salt"] == "no reference for Na, Cl"
    assert math.isfinite(frame["dft_formation_energy"]["salt"])
    assert frame["dft_reason"]["polonide"] == "no elemental reference for Po"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,energy\nsalt,-6\n", "needs the column id and either energy_ev .* it has id, energy"),
        ("id,energy_ev,energy_ev_per_atom\nsalt,-6,-3\n", "either"),
        ("id,energy_ev\nother,-6\n", "'other' is not in the table"),
        ("id,energy_ev\nsalt,-6\nsalt,-7\n", "'salt' is there twice"),
        ("id,energy_ev\nsalt,low\n", "line of id 'salt' cannot be read"),
        ("id,energy_ev,hubbards\nsalt,-6,Fe\n", "line of id 'salt' cannot be read"),
    ],
)
def test_a_table_that_cannot_be_understood_is_an_error(
    tables: dict[str, Path], tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "results.csv").write_text(content)
    with pytest.raises(KinoflowError, match=message):
        collected(tables, tmp_path / "results.csv")


def test_collecting_again_replaces_what_was_collected(tables: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text(f"id,energy_ev\nsalt,{salt_energy(0.1)}\n")
    collected(tables, tmp_path / "results.csv")
    (tmp_path / "collected.parquet").rename(tables["structures"])
    (tmp_path / "results.csv").write_text(f"id,energy_ev\nsalt,{salt_energy(-0.2)}\n")
    frame = collected(tables, tmp_path / "results.csv")
    assert frame["dft_energy_above_hull"]["salt"] == pytest.approx(-0.2)
    assert len(frame.columns) == len(set(frame.columns)) == 8


def test_results_that_are_nowhere_are_an_error(tables: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(KinoflowError, match="no such file or folder"):
        collect_dft(tmp_path / "nowhere", tables["structures"], tables["hull"], tmp_path / "out")
