"""The history of a training for TensorBoard, written while it runs."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # importing it takes seconds
    from torch.utils.tensorboard.writer import SummaryWriter


class TensorBoardLog:
    """A context manager that writes rows of the history to a folder of events; without a folder, nowhere."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._writer: SummaryWriter | None = None

    def __enter__(self) -> "TensorBoardLog":
        return self

    def write(self, row: Mapping[str, float | None]) -> None:
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.close()
