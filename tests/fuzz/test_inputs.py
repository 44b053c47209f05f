"""Damaged files of users: structures, pictures and text are read, or refused with a message that names them."""

import csv
import io
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from apart import Attempt
from damage import damaged, steps
from hypothesis import strategies as st
from known_crystals import rock_salt
from PIL import Image
from world import World

from pipeline.crystals.export import cif_text
from pipeline.crystals.reading import COLUMNS, read_structures
from pipeline.crystals.table import CRYSTAL_COLUMNS, frame_of, row_of
from pipeline.images.evaluate import read_pictures
from pipeline.store.parquet import write_table
from pipeline.tokens.token_data import TokenData

PLACES = st.lists(st.integers(0, 3), max_size=2)  # which members of an archive are damaged


@pytest.fixture(scope="module")
def structures(world: World) -> dict[str, bytes]:
    """A file of each kind, by its name."""
    salt = rock_salt()
    symmetric, plain = cif_text(salt, 0.1).encode(), cif_text(salt).encode()
    table = io.StringIO()
    csv.writer(table).writerows([["material_id", "cif"], *((f"m{n}", plain.decode()) for n in range(4))])
    write_table(world.folder / "salts.parquet", frame_of([row_of(salt, reason="")] * 3, CRYSTAL_COLUMNS))
    return {
        "one.cif": symmetric,
        "plain.cif": plain,
        "salts.extxyz": (world.folder / "salts.extxyz").read_bytes()[:1500],
        "table.csv": table.getvalue().encode(),
        "salts.parquet": (world.folder / "salts.parquet").read_bytes(),
        "many.zip": zipped({f"{n}.cif": plain for n in range(4)}),
    }


def zipped(members: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return content.getvalue()


def test_structures(holds: Callable[..., None], folder: Path, structures: dict[str, bytes]) -> None:
    def read(path: Path) -> None:
        frame = read_structures(path)
        assert list(frame.columns) == list(COLUMNS)
        assert len(frame)
        assert frame["id"].is_unique

    def faults(case: tuple[str, list]) -> list[str]:
        name, changes = case
        path = folder / "in" / name
        path.write_bytes(damaged(structures[name], changes))
        found = Attempt(folder, partial(read, path), names=(name,)).faults()
        path.unlink()
        return found

    holds(st.tuples(st.sampled_from(sorted(structures)), steps()), faults, few=20)


def test_damaged_members_of_archives(holds: Callable[..., None], folder: Path, structures: dict[str, bytes]) -> None:
    path = folder / "in" / "many.zip"

    def faults(case: tuple[list[int], list, str]) -> list[str]:
        places, changes, name = case
        plain = structures["plain.cif"]
        members = {f"{n}.cif": damaged(plain, changes) if n in places else plain for n in range(4)}
        path.write_bytes(zipped(members | {name: b"data_x"}))
        return Attempt(folder, partial(_read_only, path), names=("many.zip",)).faults()

    names = st.sampled_from(
        ["../up.cif", "/root.cif", "a/b/c.cif", "\x01.cif", "ü.cif", "0.cif/", ".cif", "x" * 300 + ".cif"]
    )
    holds(st.tuples(PLACES, steps(), names), faults)


def _read_only(path: Path) -> None:
    assert len(read_structures(path)) >= 4


def test_templates(holds: Callable[..., None], folder: Path, world: World, structures: dict[str, bytes]) -> None:
    def faults(case: tuple[str, list, list[str]]) -> list[str]:
        name, changes, keep = case
        path = folder / "in" / name
        path.write_bytes(damaged(structures[name].split(b"\n2\n")[0], changes))
        order = ("generate-crystals", "--run", "metric", "--count", 1, "--template", path, "--output", folder / "out")
        words = (name, "keep", "--template")
        found = Attempt(folder, partial(world.run, *order, "--keep", *keep), names=words).faults()
        path.unlink()
        return found

    words = [
        "composition",
        "lattice",
        "sites",
        "sites:1",
        "sites:1-2",
        "sites:2-1",
        "composition:1-99999999999",
        "x",
        "",
    ]
    keep = st.lists(st.sampled_from(words), min_size=1, max_size=3)
    holds(st.tuples(st.sampled_from(["plain.cif", "salts.extxyz"]), steps(), keep), faults, few=4)


def test_pictures(holds: Callable[..., None], folder: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (12, 9, 3), dtype=np.uint8)
    pictures = {}
    for suffix in ("png", "jpg", "gif", "bmp", "tiff", "webp", "ppm"):
        content = io.BytesIO()
        Image.fromarray(pixels).save(content, {"jpg": "jpeg"}.get(suffix, suffix))
        pictures[f"picture.{suffix}"] = content.getvalue()

    def faults(case: tuple[str, list, bool]) -> list[str]:
        name, changes, packed = case
        content = damaged(pictures[name], changes)
        path = folder / "in" / ("pictures.zip" if packed else name)
        path.write_bytes(zipped({name: content}) if packed else content)
        given = path if packed else path.parent
        found = Attempt(folder, partial(_read_pictures, given, folder / "tmp"), names=(name,)).faults()
        path.unlink()
        return found

    holds(st.tuples(st.sampled_from(sorted(pictures)), steps(), st.booleans()), faults, few=20)


def _read_pictures(path: Path, folder: Path) -> None:
    assert read_pictures(path, folder).shape[-1] == 3


def test_texts(holds: Callable[..., None], folder: Path, world: World) -> None:
    texts = {
        "a.txt": b"One two three four.\nFive six seven eight nine ten.\n" * 20,
        "a.jsonl": b'{"text": "One two three four five six seven."}\n' * 20,
    }
    write_table(world.folder / "a.parquet", pd.DataFrame({"text": ["One two three four five six."] * 20}))
    texts["a.parquet"] = (world.folder / "a.parquet").read_bytes()
    output, cache = folder / "out" / "tokens", f"data.cache={folder / 'out' / 'cache'}"

    def faults(case: tuple[str, list]) -> list[str]:
        name, changes = case
        path = folder / "in" / name
        path.write_bytes(damaged(texts[name], changes))
        corpus = f'experiments.text.data.corpus={{name: files, path: "{path}", separator: "\\n"}}'
        work = partial(world.run, "prepare", "--experiment", "text", "--set", cache, corpus, "--output", output)
        found = Attempt(folder, work, lambda: TokenData.load(output), (name, "experiments.text", "text")).faults()
        path.unlink()
        return found

    holds(st.tuples(st.sampled_from(sorted(texts)), steps()), faults)
