"""What the fuzzer found, one named case each."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from pipeline.errors import KinoflowError
from pipeline.sampling.samples import SampleSet
from pipeline.store.parquet import read_table


def test_a_table_whose_notes_for_pandas_are_damaged_is_refused_by_its_name(tmp_path: Path) -> None:
    notes = {"pandas": '{"columns": [{"name": "x"}], "column_indexes": [], "index_columns": []}'}
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata(notes), tmp_path / "table.parquet")
    with pytest.raises(KinoflowError, match=r"table.parquet: cannot be read as a parquet table \(KeyError: "):
        read_table(tmp_path / "table.parquet")


def test_samples_whose_run_has_lost_a_letter_are_refused_by_their_name(tmp_path: Path) -> None:
    SampleSet(torch.zeros(1, 2, dtype=torch.int64), {"run": "metric", "seed": 0}).save(tmp_path / "samples")
    content = (tmp_path / "samples").read_bytes()
    assert content.count(b"run") == 1
    (tmp_path / "samples").write_bytes(content.replace(b"run", b"rui"))
    with pytest.raises(KinoflowError, match="samples: their run or seed is not that of samples; remove it and draw"):
        SampleSet.load(tmp_path / "samples")
