"""The history of a training: one row for each measurement, as CSV and for TensorBoard."""

import csv
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.store.atomic import replacing

if TYPE_CHECKING:  # importing it takes seconds
    from torch.utils.tensorboard.writer import SummaryWriter

Row = dict[str, float | None]
COLUMNS = ("step", "loss", "validation_loss", "learning_rate", "gradient_norm")


def write_history(path: Path, rows: Sequence[Row]) -> None:
    """Write the history as CSV; values that were not measured stay empty."""
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


class TensorBoardLog(AbstractContextManager["TensorBoardLog"]):
    """Writes rows of the history to a folder of events while training runs; without a folder, nowhere."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._writer: SummaryWriter | None = None

    def write(self, row: Row) -> None:
        """Write a row; rows that a killed run wrote from this step on are hidden."""
        step = int(row["step"] or 0)
        if self._folder is None:
            return
        if self._writer is None:
            from torch.utils.tensorboard.writer import SummaryWriter

            self._writer = SummaryWriter(str(self._folder), purge_step=step)
        for name, value in row.items():
            if name != "step" and value is not None:
                self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def __exit__(self, *exception: object) -> None:
        if self._writer is not None:
            self._writer.close()
