"""Tables in parquet files, written so that equal tables give equal bytes."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import KinoflowError
from pipeline.store.atomic import replacing


def write_table(path: Path, frame: pd.DataFrame) -> None:
    """Write a frame; equal frames give equal bytes."""
    with replacing(path) as temporary:
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), temporary, compression="zstd")


def read_table(path: Path, columns: Iterable[str] = ()) -> pd.DataFrame:
    """Read a frame, which must have the given columns."""
    try:
        frame = pq.read_table(path).to_pandas()
    # Notes for pandas in the file may be damaged, too, and it raises anything. The message has the reason.
    except Exception as error:
        reason = f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else error
        raise KinoflowError(
            f"{path}: cannot be read as a parquet table ({reason}); remove it and make it again"
        ) from error
    if missing := [column for column in columns if column not in frame.columns]:
        has = f"it has {', '.join(frame.columns)}"
        raise KinoflowError(f"{path}: no column {', '.join(missing)}; {has}. Give another file, or make it again")
    return frame
