"""The loss and the gradient norm of each step, kept on the device, so that no step waits for it."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Reading:
    """The loss and the gradient norm of the last step, or of the first `step` in which one of them was not finite."""

    step: int
    loss: float
    norm: float

    @property
    def diverged(self) -> bool:
        """Whether training has left the finite numbers."""
        return not math.isfinite(self.loss + self.norm)


class Watch:
    """Notes steps; a reading waits for the device. After a step that is not finite, later ones are not noted."""

    def __init__(self, step: int, device: torch.device) -> None:
        self._last = torch.tensor([step, 0.0, 0.0], dtype=torch.float64, device=device)
        self._first = torch.full((), math.nan, dtype=torch.float64, device=device)
        self._one = torch.tensor([1.0], dtype=torch.float64, device=device)

    def note(self, loss: Tensor, norm: Tensor) -> None:
        """Note the loss and the gradient norm of the next step."""
        self._first = torch.where(self._first.isnan(), loss.double(), self._first)
        new = torch.cat([self._last[:1] + self._one, torch.stack([loss.double(), norm.double()])])
        self._last = torch.where(self._last.isfinite().all(), new, self._last)

    def read(self) -> Reading:
        """Return what was noted last."""
        step, loss, norm = self._last.tolist()
        return Reading(int(step), loss, norm)

    @property
    def first(self) -> float:
        """The loss of the first step that was noted."""
        return float(self._first)
