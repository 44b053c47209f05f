"""The history of a training: one row for each measurement."""

import csv
from collections.abc import Sequence
from pathlib import Path

from pipeline.store.atomic import replacing

Row = dict[str, float | None]
COLUMNS = ("step", "loss", "validation_loss", "learning_rate", "gradient_norm")


def write_history(path: Path, rows: Sequence[Row]) -> None:
    """Write the history as CSV; values that were not measured stay empty."""
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
