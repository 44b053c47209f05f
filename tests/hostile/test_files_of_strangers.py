"""Texts, hulls and words on the command line that were made to break a reader are refused by their name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from pipeline.cli import main
from pipeline.crystals.hull import VERSION, Hull
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.images.generation import class_number
from pipeline.text.corpus import CorpusError
from pipeline.text.reading import texts_of
from pipeline.tokens.token_data import TokenData


def test_a_line_that_is_nested_without_end_is_refused_by_its_number(tmp_path: Path) -> None:
    file = tmp_path / "deep.jsonl"
    file.write_text('{"text": "One."}\n' + '{"text": ' + "[" * 100_000 + "\n")
    with pytest.raises(CorpusError, match=r"deep.jsonl: line 2: is not JSON \("):
        list(texts_of(file, "text", None))


def test_a_column_whose_bytes_are_no_text_is_refused_by_its_file(tmp_path: Path) -> None:
    places, content = pa.array([0, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfe")
    column = pa.Array.from_buffers(pa.string(), 1, [None, places, content])
    pq.write_table(pa.table({"text": column}), tmp_path / "bytes.parquet")
    with pytest.raises(CorpusError, match=r"bytes.parquet: cannot be read as parquet \('utf-8' codec"):
        list(texts_of(tmp_path / "bytes.parquet", "text", None))


@pytest.mark.parametrize("notes", ["{", "[1]", json.dumps({"version": VERSION, "description": "a hull"})])
def test_what_is_no_hull_is_refused_by_its_file(tmp_path: Path, notes: str) -> None:
    file = tmp_path / "hull.parquet"
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata({"kinoflow_hull": notes}), file)
    with pytest.raises(KinoflowError, match=r"hull.parquet: cannot be read as a hull \("):
        Hull.load(file)


def test_a_digit_that_is_no_number_is_no_class() -> None:
    tokens: Any = torch.zeros(1, 1, dtype=torch.int64)
    data = TokenData(tokens, tokens, tokens, Vocabulary.single(2), {}, classes=3)
    assert class_number("2", data) == 2
    with pytest.raises(KinoflowError, match="--label '²': no such class"):
        class_number("²", data)


@pytest.mark.parametrize("cores", ["0", "-1", "²", "all; touch x"])
def test_cores_that_are_none_are_refused_before_a_project_is_made(
    tmp_path: Path, only_message: Callable[[int], str], cores: str
) -> None:
    output = tmp_path / "project"
    assert f"--cores {cores}: give a number from 1 on, or all" in only_message(
        main(["train-crystals", str(tmp_path), "--output", str(output), f"--cores={cores}"])
    )
    assert not output.exists()
