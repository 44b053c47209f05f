"""Rolling checkpoints: what training needs to resume, and nothing else.

Batches, noise and dropout are functions of the seed and the step (see :mod:`pipeline.training.loop`), so the step is
the whole state of the random numbers and of the data. Checkpoints of other settings, data or code are never used and
never deleted: they lie in other folders, named by a fingerprint of what they were made from. The last checkpoints of a
finished training stay, so that a training with more steps can resume from there.
"""

from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from pipeline.store.atomic import replacing

KEPT = 2
UNTRUSTED = "it is damaged, or holds more than tensors and plain values. Do not trust this file; remove it"


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of one run in `root`/<fingerprint>."""

    root: Path
    fingerprint: str

    @property
    def folder(self) -> Path:
        """The folder of checkpoints that this run can resume from."""
        return self.root / self.fingerprint[:16]

    def save(self, step: int, state: dict[str, Any]) -> Path:
        """Write the state after `step` steps and remove all but the last checkpoints."""
        path = self.folder / f"step-{step:09d}.pt"
        for torn in self.folder.glob(".step-*.tmp"):  # left by a killed process; nobody else writes here
            torn.unlink()
        with replacing(path) as temporary:
            torch.save(state | {"step": step}, temporary)
        for old in [known for known in self.paths() if known <= path][:-KEPT]:  # later ones are from a longer run
            old.unlink()
        return path

    def paths(self) -> list[Path]:
        """Return the checkpoints from the oldest to the latest."""
        return sorted(self.folder.glob("step-*.pt"))

    def latest(self, last_step: int) -> dict[str, Any] | None:
        """Return the latest state before `last_step`, or None; only tensors and plain values are read.

        A file that a machine crash has damaged is skipped, with a message.
        """
        for path in reversed(self.paths()):
            try:
                state = torch.load(path, weights_only=True, map_location="cpu")
            except UnpicklingError:
                print(f"{path} cannot be read and is passed over: {UNTRUSTED}")
                continue
            except (RuntimeError, EOFError, OSError) as error:
                print(f"{path} cannot be read and is passed over: {error}")
                continue
            if not isinstance(state, dict) or not isinstance(state.get("step"), int):
                print(f"{path} is no checkpoint and is passed over: {UNTRUSTED}")
            elif state["step"] < last_step:
                return state
        return None

    def others(self) -> list[Path]:
        """Return the folders of checkpoints of other settings, data or code; removing them is up to the user."""
        return sorted(path for path in self.root.glob("*") if path.is_dir() and path != self.folder)
