"""The inverse temperature of a metric path."""

import torch
from torch import Tensor

from pipeline.flow.device import Table
from pipeline.flow.errors import FlowError


class Beta:
    """The inverse temperature beta_t = c (t / (1 - t))^a of a metric path, with one a and c for all tokens or for each.

    >>> Beta(a=5.0, c=1.0).value(torch.tensor([0.0, 0.5, 0.75], dtype=torch.float64), x1=torch.tensor([0, 0, 0]))
    tensor([  0.0000,   1.0000, 243.0000], dtype=torch.float64)
    """

    def __init__(self, a: float | Tensor, c: float | Tensor) -> None:
        self.a, self.c = (Table(torch.as_tensor(value, dtype=torch.float64)) for value in (a, c))
        for name, table in (("a", self.a), ("c", self.c)):
            if not bool(((table.values > 0) & table.values.isfinite()).all()):
                raise FlowError(f"{name}: must be finite and above 0, got {table.values.min().item()}")

    def within(self, tokens: Tensor) -> "Beta":
        """Return beta_t of some of the tokens, numbered 0, 1, 2, ... in their order."""
        return Beta(*(table.values[tokens] if table.values.dim() else table.values for table in (self.a, self.c)))

    def _of(self, table: Table, x1: Tensor) -> Tensor:
        values = table.on(x1.device)
        return values[x1] if values.dim() else values

    def value(self, t: Tensor, x1: Tensor) -> Tensor:
        """Return beta_t, 0 at t = 0 and infinite at t = 1. It is computed in log space, so no power overflows."""
        return torch.exp(self._of(self.c, x1).log() + self._of(self.a, x1) * (torch.log(t) - torch.log1p(-t)))

    def rate(self, t: Tensor, x1: Tensor) -> Tensor:
        """Return d beta / dt = c a t^(a-1) / (1-t)^(a+1); infinite at t = 0 if a < 1."""
        a = self._of(self.a, x1)
        log_rate = self._of(self.c, x1).log() + a.log() + torch.xlogy(a - 1, t) - (a + 1) * torch.log1p(-t)
        return torch.exp(log_rate)
