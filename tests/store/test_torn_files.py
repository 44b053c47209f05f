"""Files that a crash of the machine has torn: each reader names the file and what to do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from pipeline.crystals.hull import Hull
from pipeline.errors import KinoflowError
from pipeline.report.tables import read_scores
from pipeline.sampling.samples import SampleSet
from pipeline.store.atomic import read_json, write_json
from pipeline.store.parquet import read_table, write_table
from pipeline.store.provenance import gather_provenance, known_hash, sidecar_of, write_provenance
from pipeline.store.tensors import read_tensors, write_tensors
from pipeline.tokens.token_data import TokenData


def tensors(path: Path) -> None:
    write_tensors(path, "samples", {"tokens": torch.arange(1000)}, {})


def table(path: Path) -> None:
    write_table(path, pd.DataFrame({"x": range(1000)}))


def scores(path: Path) -> None:
    write_json(path, {"conditions": {"run": "metric"}, "metrics": {}})


READERS: dict[str, tuple[Callable[[Path], None], Callable[[Path], Any]]] = {
    "tensors": (tensors, lambda path: read_tensors(path, "samples")),
    "samples": (tensors, SampleSet.load),
    "tokens": (tensors, TokenData.load),
    "table": (table, read_table),
    "hull": (table, Hull.load),
    "json": (scores, read_json),
    "scores": (scores, lambda path: read_scores([path])),
}


@pytest.mark.parametrize("size", [0, 5, -1, -30], ids=["empty", "beginning", "less a byte", "less thirty"])
@pytest.mark.parametrize("reader", READERS)
def test_a_torn_file_is_named_with_what_to_do(tmp_path: Path, reader: str, size: int) -> None:
    write, read = READERS[reader]
    path = tmp_path / "torn"
    write(path)
    content = path.read_bytes()
    if reader in {"json", "scores"} and size == -1:
        size = -3  # without its last line break the file would be whole
    path.write_bytes(content[:size])
    with pytest.raises(KinoflowError, match=r"torn: cannot be read as .*; remove it and make it again"):
        read(path)


def test_a_torn_provenance_is_named_by_who_reads_it(tmp_path: Path) -> None:
    shard, whole = tmp_path / "shard", tmp_path / "whole"
    shard.write_text("shard")
    whole.write_text("whole")
    write_provenance([shard], {}, 0, [])
    torn = sidecar_of(shard)
    torn.write_text(torn.read_text()[:50])
    for read in (lambda: known_hash(shard), lambda: gather_provenance(whole, [shard])):
        with pytest.raises(KinoflowError, match=r"shard\.provenance\.json: cannot be read as JSON .*; remove it"):
            read()
