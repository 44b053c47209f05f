"""Structures and pictures that were made to hang, to fill the memory or to mislead are rows with reasons, or errors."""

import gzip
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pipeline.crystals.cif import crystals_in_cif
from pipeline.crystals.crystal import fault_of_cell
from pipeline.crystals.reading import LARGEST, read_structures
from pipeline.errors import KinoflowError
from pipeline.images import evaluate
from pipeline.images.picture import ImageError

SALT = """data_salt
_symmetry_space_group_name_H-M   'P 1'
_cell_length_a   {a}
_cell_length_b   5.0
_cell_length_c   5.0
_cell_angle_alpha   90.0
_cell_angle_beta   90.0
_cell_angle_gamma   90.0
_symmetry_Int_Tables_number   1
loop_
 _symmetry_equiv_pos_site_id
 _symmetry_equiv_pos_as_xyz
  1  'x, y, z'
loop_
 _atom_site_type_symbol
 _atom_site_label
 _atom_site_symmetry_multiplicity
 _atom_site_fract_x
 _atom_site_fract_y
 _atom_site_fract_z
 _atom_site_occupancy
"""
ATOMS = "  {symbol}  X1  1  0.0  0.0  0.0  1\n  Cl  Cl2  1  0.5  0.5  0.5  1\n"


def salt(symbol: str = "Na", a: str = "5.0") -> str:
    return SALT.format(a=a) + ATOMS.format(symbol=symbol)


def test_a_packed_file_that_fills_the_memory_is_a_row_with_a_reason(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("good.cif", salt())
        with archive.open("bomb.cif", "w", force_zip64=True) as stream:
            for _ in range(64):
                stream.write(b" " * 2**20)
    frame = read_structures(tmp_path / "bomb.zip")
    assert dict(zip(frame["id"], frame["reason"], strict=True)) == {"bomb": "larger than 16 MiB", "good": ""}


def test_a_file_that_fills_the_memory_is_a_row_with_a_reason(tmp_path: Path) -> None:
    with (tmp_path / "large.cif").open("wb") as stream:
        stream.truncate(100 * LARGEST)
    assert read_structures(tmp_path / "large.cif")["reason"].tolist() == ["larger than 16 MiB"]


def test_a_packed_table_that_fills_the_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb") as stream:
        stream.write(b"cif\n")
        for _ in range(64):
            stream.write(b" " * 2**20)
    with pytest.raises(KinoflowError, match=r"bomb.csv.gz: .* content is more than 100 times larger than the file"):
        read_structures(path)


def test_a_packed_picture_that_fills_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "LARGEST", 2**20)
    picture = io.BytesIO()
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(picture, "png")
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.png", picture.getvalue() + bytes(2**21))
    with pytest.raises(ImageError, match=r"bomb.zip: bomb.png: larger than 1 MiB; remove it"):
        evaluate.read_pictures(tmp_path / "bomb.zip")


def test_links_to_nothing_and_pipes_are_rows_with_reasons(tmp_path: Path) -> None:
    (tmp_path / "good.cif").write_text(salt())
    (tmp_path / "loop.cif").symlink_to(tmp_path / "loop.cif")
    (tmp_path / "nothing.cif").symlink_to(tmp_path / "missing")
    (tmp_path / "around").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.cif")
    frame = read_structures(tmp_path)
    assert dict(zip(frame["id"], frame["reason"], strict=True)) == {
        "good": "",
        "loop": "cannot be read: Too many levels of symbolic links",
        "nothing": "cannot be read: No such file or directory",
        "pipe": "cannot be read: is no file",
    }


@pytest.mark.parametrize("symbol", ["D", "T"])
def test_heavy_hydrogen_is_a_row_with_a_reason(symbol: str) -> None:
    [reason] = crystals_in_cif(salt(symbol), "heavy")
    assert isinstance(reason, str)
    assert reason.startswith("deuterium or tritium (D, T)")


def test_dysprosium_outside_of_a_loop_is_not_heavy_hydrogen() -> None:
    single = SALT.partition("loop_\n _atom_site")[0].format(a="5.0")
    single += "_atom_site_type_symbol Dy\n_atom_site_label Dy1\n_atom_site_fract_x 0\n_atom_site_fract_y 0\n"
    [found] = crystals_in_cif(f"{single}_atom_site_fract_z 0\n_atom_site_occupancy 1\n", "single")
    assert not str(found).startswith("deuterium")


def test_a_cell_of_metres_is_a_row_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "long.cif").write_text(salt(a="1000000000.0"))
    assert read_structures(tmp_path)["reason"].tolist() == ["a side of more than 1,000 A"]
    assert fault_of_cell(np.array([1000.0, 5, 5]), np.full(3, 90.0)) == ""


def test_a_crystal_of_more_atoms_than_anything_here_can_handle_is_a_row_with_a_reason(tmp_path: Path) -> None:
    places = [(x / 22, y / 22, z / 22) for x in range(22) for y in range(22) for z in range(22)]
    lines = "".join(f"  Na  X{n}  1  {x:.5f}  {y:.5f}  {z:.5f}  1\n" for n, (x, y, z) in enumerate(places))
    (tmp_path / "many.cif").write_text(SALT.format(a="5.0") + lines)
    assert read_structures(tmp_path)["reason"].tolist() == ["more than 10,000 atoms"]


def test_a_negative_number_of_atoms_is_a_row_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "bad.extxyz").write_text("-5\n\n")
    assert read_structures(tmp_path / "bad.extxyz")["reason"][0].startswith("does not parse: line 1 should be a number")


def test_a_pipe_among_pictures_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(ImageError, match=r"pipe.png: is no file; mend or remove it"):
        evaluate.read_pictures(tmp_path)
