"""Structures from every kind of file, and a reason for each that cannot be used."""

import gzip
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from known_crystals import csv_of, rock_salt, sites_of, wurtzite

from pipeline.crystals import cif
from pipeline.crystals.cif import crystals_in_cif
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.export import cif_text
from pipeline.crystals.reading import read_structures
from pipeline.crystals.table import CRYSTAL_COLUMNS, crystals_of, frame_of, row_of
from pipeline.errors import KinoflowError
from pipeline.store.parquet import write_table

SALT, SULPHIDE = cif_text(rock_salt()), cif_text(wurtzite())


def edited(old: str, new: str, text: str = SALT) -> str:
    assert old in text
    return text.replace(old, new)


FIRST_SITE = "  Na  Na0  1  0.00000000  0.00000000  0.00000000  1\n"
BAD = {
    "partial occupancies": edited(FIRST_SITE, FIRST_SITE.replace("  1\n", "  0.5\n")),
    "an element beyond Z = 94": edited(FIRST_SITE, FIRST_SITE.replace("Na", "Am")),
    "a species that is no element": edited(FIRST_SITE, FIRST_SITE.replace("Na", "X")),
    "does not parse: cannot convert float NaN": edited(FIRST_SITE, FIRST_SITE.replace("0.00000000", "nan", 1)),
    "does not parse: no data block with atoms": "this is no CIF file",
}


def pymatgen_text(structure_of: Crystal) -> str:
    from pymatgen.io.cif import CifWriter

    return str(CifWriter(structure_of.structure()))


def by_pymatgen(text: str, monkeypatch: pytest.MonkeyPatch) -> list[Crystal | str]:
    with monkeypatch.context() as patch:
        patch.setattr(cif, "_plain_crystal", lambda text, id: None)
        return crystals_in_cif(text, "one")


# CIF


@pytest.mark.parametrize(
    "text",
    [
        SALT,
        SULPHIDE,
        pymatgen_text(rock_salt()),
        pymatgen_text(wurtzite()),
        edited("0.33333333", "0.33330000", SULPHIDE),  # within 1e-4 of 1/3
        edited("0.33333333", "0.33300000", SULPHIDE),
        edited("0.37500000", "-0.62500000", SULPHIDE),
        edited("0.87500000", "1.87500000", SULPHIDE),
        SULPHIDE.replace("\n", "\r\n"),
    ],
)
def test_plain_files_are_read_directly_and_as_pymatgen_reads_them(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    [slow] = by_pymatgen(text, monkeypatch)
    monkeypatch.setattr(cif, "_crystals_by_pymatgen", None)
    [fast] = crystals_in_cif(text, "one")
    assert isinstance(fast, Crystal)
    assert isinstance(slow, Crystal)
    np.testing.assert_allclose(np.r_[fast.lengths, fast.angles], np.r_[slow.lengths, slow.angles], atol=1e-9)
    assert sites_of(fast) == sites_of(slow)


@pytest.mark.parametrize(
    "text",
    [
        edited("'P 1'", "'F m -3 m'"),
        edited("  1  'x, y, z'\n", "  1  'x, y, z'\n  2  '-x, -y, -z'\n"),
        edited("5.64000000", "5.64(2)"),
        edited(FIRST_SITE, FIRST_SITE.replace("Na ", "Na+ ", 1)),
        edited(FIRST_SITE, FIRST_SITE.replace("  1\n", "  0.99\n")),
        edited(FIRST_SITE, FIRST_SITE + FIRST_SITE.replace("Na0", "Na9")),
        edited(FIRST_SITE, FIRST_SITE.replace("Na", "D")),
        SALT + SULPHIDE,
    ],
)
def test_everything_else_is_left_to_pymatgen(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(cif, "_crystals_by_pymatgen", lambda text, id: asked.append(id) or [])
    crystals_in_cif(text, "one")
    assert asked == ["one"]


def test_symmetry_is_applied() -> None:
    diamond = """data_diamond
_cell_length_a 3.57
_cell_length_b 3.57
_cell_length_c 3.57
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
_symmetry_space_group_name_H-M 'F d -3 m'
loop_
_atom_site_label
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
C1 0 0 0
"""
    [crystal] = crystals_in_cif(diamond, "diamond")
    assert isinstance(crystal, Crystal)
    assert crystal.numbers.tolist() == [6] * 8


@pytest.mark.parametrize("reason", BAD)
def test_a_file_that_cannot_be_used_is_a_row_with_a_reason(tmp_path: Path, reason: str) -> None:
    (tmp_path / "bad.cif").write_text(BAD[reason])
    frame = read_structures(tmp_path / "bad.cif")
    assert frame["id"].tolist() == ["bad"]
    assert frame["reason"][0].startswith(reason)
    assert crystals_of(frame) == [None]


def test_two_atoms_on_one_site_are_a_row_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "bad.cif").write_text(edited(FIRST_SITE, FIRST_SITE + FIRST_SITE.replace("Na0", "Na9")))
    assert read_structures(tmp_path / "bad.cif")["reason"][0].startswith("does not parse: Occupancy")


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize(
    "old, new, reason",
    [
        ("length_a   5.64", "length_a   -5.64", "a length that is not above zero"),
        ("length_b   5.64000000", "length_b   0", "a length that is not above zero"),
        ("alpha   90", "alpha   190", "an angle that is not between 0 and 180 degrees"),
        ("beta   90.0", "beta   -90.0", "an angle that is not between 0 and 180 degrees"),
        ("gamma   90", "gamma   180", "an angle that is not between 0 and 180 degrees"),
        ("alpha   90", "alpha   1", ""),
    ],
)
def test_a_cell_that_cannot_exist_is_a_row_with_a_reason(
    tmp_path: Path, old: str, new: str, reason: str, plain: bool
) -> None:
    text = edited(old, new)
    (tmp_path / "bad.cif").write_text(text if plain else edited("length_c   5.64000000", "length_c   5.64(2)", text))
    frame = read_structures(tmp_path / "bad.cif")
    assert frame["reason"].tolist() == [reason]
    if plain:
        assert frame["formula"].tolist() == ["Na4Cl4"]


def test_several_structures_in_one_file_are_several_rows_and_a_bad_one_spares_the_others(tmp_path: Path) -> None:
    (tmp_path / "many.cif").write_text(SALT + edited("_cell_length_a   3.82000000\n", "", SULPHIDE) + SULPHIDE)
    frame = read_structures(tmp_path / "many.cif")
    assert frame["id"].tolist() == ["many-1", "many-2", "many-3"]
    assert [reason.split(":")[0] for reason in frame["reason"]] == ["", "does not parse", ""]


def test_reading_says_nothing_but_its_progress(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    (tmp_path / "a.cif").write_text(edited("'P 1'", "'F m -3 m'"))
    read_structures(tmp_path)
    assert not recwarn.list


# Collections


def test_folders_are_read_with_all_below_and_paths_are_ids(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "b.cif").write_text(SALT)
    (tmp_path / "deep" / "er" / "a.CIF").write_text(SULPHIDE)
    (tmp_path / "note.txt").write_text("no structure")
    frame = read_structures(tmp_path)
    assert frame["id"].tolist() == ["b", "deep/er/a"]
    assert frame["formula"].tolist() == ["Na4Cl4", "Zn2S2"]


def test_zips_are_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("one/salt.cif", SALT)
        archive.writestr("bad.cif", b"\xff\xfe")
        archive.writestr("__MACOSX/one/salt.cif", "")
    frame = read_structures(tmp_path / "all.zip")
    assert frame["id"].tolist() == ["bad", "one/salt"]
    assert [reason.split(":")[0] for reason in frame["reason"]] == ["does not parse", ""]


@pytest.mark.parametrize("compressed", [False, True])
def test_csv_files_are_read_with_ids_and_energies(tmp_path: Path, compressed: bool) -> None:
    text = csv_of(
        [SALT, "nothing", SULPHIDE],
        material_id=["mp-1", "mp-2", "mp-1"],
        formation_energy_per_atom=[-2.0, -1.0, None],
        e_above_hull=[0.0, 0.5, "unknown"],
    )
    path = tmp_path / ("all.csv.gz" if compressed else "all.csv")
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    frame = read_structures(path)
    assert frame["id"].tolist() == ["mp-1", "mp-2", "mp-1#2"]
    assert [bool(reason) for reason in frame["reason"]] == [False, True, False]
    np.testing.assert_equal(frame["formation_energy"].tolist(), [-2.0, -1.0, np.nan])
    np.testing.assert_equal(frame["energy_above_hull"].tolist(), [0.0, 0.5, np.nan])


def test_rows_of_a_csv_without_ids_are_numbered_and_empty_cells_have_a_reason(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(csv_of([SALT, None]))  # type: ignore[list-item]
    frame = read_structures(tmp_path / "mine.csv")
    assert frame["id"].tolist() == ["mine-0", "mine-1"]
    assert frame["reason"].tolist() == ["", "no CIF in this row"]


def test_tables_of_our_own_are_read(tmp_path: Path) -> None:
    columns = dict.fromkeys(row_of(rock_salt()), "list")
    write_table(tmp_path / "own.parquet", frame_of([row_of(rock_salt("a")), row_of(wurtzite())], columns))
    frame = read_structures(tmp_path / "own.parquet")
    assert frame["id"].tolist() == ["a", "wurtzite"]
    assert frame["formation_energy"].isna().all()
    first = crystals_of(frame)[0]
    assert first is not None
    assert sites_of(first) == sites_of(rock_salt())


def own_row(**changes: object) -> dict[str, object]:
    return row_of(rock_salt("a"), **changes)


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({}, ""),
        ({"formula": "stale"}, ""),
        ({"reason": None}, ""),
        ({"numbers": [95] * 8}, "an element beyond Z = 94"),
        ({"numbers": []}, "does not parse: 3 lengths, 3 angles, 0 atoms, 8 places"),
        ({"numbers": [11] * 7}, "does not parse: 3 lengths, 3 angles, 7 atoms, 8 places"),
        ({"fractions": [0.5] * 23}, "does not parse: cannot reshape"),
        ({"fractions": [float("nan")] * 24}, "a number that is not finite"),
        ({"lengths": [4.0, 4.0]}, "does not parse: 2 lengths, 3 angles, 8 atoms, 8 places"),
        ({"lengths": None}, "does not parse: 1 lengths"),
        ({"numbers": [11.5] * 8}, "does not parse: atomic numbers that are not whole"),
        ({"angles": [10.0, 130.0, 90.0]}, "angles that do not close to a cell"),
        ({"reason": "time limit (60 s)"}, "time limit (60 s)"),
        ({"reason": "no atoms", "numbers": [], "fractions": []}, "no atoms"),
    ],
)
def test_rows_of_tables_are_checked_like_those_of_files(
    tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    good = row_of(wurtzite())
    write_table(tmp_path / "own.parquet", pd.DataFrame([own_row(**changes), good]))
    frame = read_structures(tmp_path / "own.parquet")
    assert frame["reason"][1] == ""
    assert frame["reason"][0].startswith(reason)
    assert bool(frame["reason"][0]) == bool(reason)
    kept = not reason or reason in ("angles that do not close to a cell", "time limit (60 s)")
    assert frame["formula"].tolist() == ["Na4Cl4" if kept else "", "Zn2S2"]
    assert [len(numbers) for numbers in frame["numbers"]] == [8 if kept else 0, 4]


def test_ids_of_a_table_are_unique_even_if_they_look_as_if_they_had_been_made_so(tmp_path: Path) -> None:
    ids = ["a", "a", "a#2", "b", "a"]
    write_table(tmp_path / "own.parquet", pd.DataFrame([row_of(rock_salt(id)) for id in ids]))
    assert read_structures(tmp_path / "own.parquet")["id"].tolist() == ["a", "a#2", "a#2#2", "b", "a#3"]


def test_energies_of_a_table_of_our_own_are_kept(tmp_path: Path) -> None:
    rows = [own_row(formation_energy=-1.5, energy_above_hull=0.1)]
    write_table(tmp_path / "own.parquet", pd.DataFrame(rows))
    frame = read_structures(tmp_path / "own.parquet")
    assert (frame["formation_energy"][0], frame["energy_above_hull"][0]) == (-1.5, 0.1)


def test_a_member_of_a_zip_that_cannot_be_unpacked_is_a_row_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.cif", SALT)
        archive.writestr("locked.cif", SULPHIDE)
    content = bytearray(path.read_bytes())
    headers = [content.index(b"PK\x03\x04", 1) + 6, content.rindex(b"PK\x01\x02") + 8]
    for flags in headers:
        content[flags] |= 1  # encrypted, says the archive
    path.write_bytes(content)
    frame = read_structures(path)
    assert frame["id"].tolist() == ["a", "locked"]
    assert frame["reason"][0] == ""
    assert re.match("cannot be unpacked: .*encrypted", frame["reason"][1])


LATTICE = 'Lattice="5 0 0 0 5 0 0 0 5"'
PROPERTIES = "Properties=species:S:1:pos:R:3"
FRAMES = f"""1
{LATTICE} {PROPERTIES} pbc="T T T" material_id=mine formation_energy_per_atom=-1.5
Na 2.5 0 6
1
{LATTICE} {PROPERTIES} pbc="T T F"
Na 0 0 0
1
{PROPERTIES}
Na 0 0 0
1
{LATTICE} {PROPERTIES} pbc="T T T"
Qq 0 0 0
1
{LATTICE} {PROPERTIES} pbc="T T T"
Na 0 zero 0
0
{LATTICE} {PROPERTIES} pbc="T T T"

1
{LATTICE} {PROPERTIES} pbc="T T T"
Am 0 0 0
1
{LATTICE} {PROPERTIES} pbc="T T T"
Na nan 0 0
"""


def test_frames_of_extended_xyz_are_read_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "all.extxyz").write_text(FRAMES + "five\n")
    frame = read_structures(tmp_path / "all.extxyz")
    assert frame["id"].tolist() == ["mine", *(f"all-{number:06d}" for number in range(2, 10))]
    assert [reason.split(":")[0] for reason in frame["reason"]] == [
        "",
        *["not periodic in three directions"] * 2,
        *["does not parse"] * 2,
        "no atoms",
        "an element beyond Z = 94",
        "a number that is not finite",
        "does not parse",
    ]
    assert frame["formation_energy"][0] == -1.5
    assert frame["fractions"][0] == pytest.approx([0.5, 0, 0.2])


@pytest.mark.parametrize("flat", ["5 0 0 10 0 0 0 0 5", "5 0 0 0 5 0 5 5 0", "0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9"])
def test_a_flat_cell_is_a_frame_with_a_reason_and_the_others_stay(tmp_path: Path, flat: str) -> None:
    good = "".join(f"{line}\n" for line in FRAMES.splitlines()[:3])
    (tmp_path / "all.extxyz").write_text(good.replace("5 0 0 0 5 0 0 0 5", flat).replace("mine", "flat") + good)
    frame = read_structures(tmp_path / "all.extxyz")
    assert frame["id"].tolist() == ["flat", "mine"]
    assert frame["reason"].tolist() == ["a cell without volume", ""]


def test_a_frame_that_is_cut_off_is_a_row_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "cut.xyz").write_text(FRAMES.splitlines()[0] + "\n" + LATTICE)
    assert read_structures(tmp_path / "cut.xyz")["reason"][0] == (
        "does not parse: the file ends within the frame of line 1"
    )


# Input that holds nothing to read


def no_cifs(path: Path) -> Path:
    with zipfile.ZipFile(path / "empty.zip", "w") as archive:
        archive.writestr("readme.txt", "")
    return path / "empty.zip"


def no_rows(path: Path) -> Path:
    write_table(path / "empty.parquet", frame_of([], CRYSTAL_COLUMNS))
    return path / "empty.parquet"


def written(name: str, content: bytes) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        (path / name).write_bytes(content)
        return path / name

    return write


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda path: path / "nowhere.cif", "no such file or folder"),
        (lambda path: path, "no CIF files in this folder"),
        (no_cifs, "no CIF files in this archive"),
        (written("bad.zip", b"PK"), "cannot be read as a zip archive"),
        (written("notes.docx", b""), "unknown suffix; give a folder of CIF files or one of .cif, .zip"),
        (written("bad.csv", b"a,b\n1,2\n"), "no column 'cif' with the text of CIF files; it has a, b"),
        (written("empty.csv", b""), "cannot be read as a table"),
        (written("bad.csv.gz", b"no gzip"), "cannot be read as a table"),
        (written("empty.extxyz", b""), "no structures in this file"),
        (written("header.csv", b"material_id,cif\n"), "no structures in this file"),
        (no_rows, "no structures in this file"),
        (written("bad.parquet", b"no parquet"), "cannot be read as a parquet table"),
    ],
)
def test_input_without_structures_is_an_error_that_names_it(
    tmp_path: Path, make: Callable[[Path], Path], message: str
) -> None:
    path = make(tmp_path)
    with pytest.raises(KinoflowError, match=re.escape(message)) as raised:
        read_structures(path)
    assert str(path) in str(raised.value)


def test_a_table_without_the_columns_of_crystals_is_an_error(tmp_path: Path) -> None:
    write_table(tmp_path / "other.parquet", pd.DataFrame({"id": ["a"]}))
    with pytest.raises(KinoflowError, match="no column reason, formula"):
        read_structures(tmp_path / "other.parquet")
