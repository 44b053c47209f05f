"""What the fuzzer found, one named case each."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import KinoflowError
from pipeline.store.parquet import read_table


def test_a_table_whose_notes_for_pandas_are_damaged_is_refused_by_its_name(tmp_path: Path) -> None:
    notes = {"pandas": '{"columns": [{"name": "x"}], "column_indexes": [], "index_columns": []}'}
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata(notes), tmp_path / "table.parquet")
    with pytest.raises(KinoflowError, match=r"table.parquet: cannot be read as a parquet table \(KeyError: "):
        read_table(tmp_path / "table.parquet")
