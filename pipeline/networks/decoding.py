"""The state of an autoregressive network between two tokens."""

from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.networks.attention import KeyValueCache


@dataclass
class Decoding:
    """Unfinished sequences: what the blocks keep of the tokens so far, and of the condition."""

    batch: int
    length: int
    modulations: list[tuple[Tensor, ...]]
    head_modulation: tuple[Tensor, ...]
    caches: list[KeyValueCache]
    position: int = 0

    def last_tokens(self, tokens: Tensor | None, begin: int, device: torch.device) -> Tensor:
        """Return the tokens [B] before the next ones: those drawn last, or `begin` at the first position."""
        if (tokens is None) != (self.position == 0) or self.position == self.length:
            wanted = "None" if self.position == 0 else "the tokens drawn last"
            raise KinoflowError(
                f"tokens: {wanted} expected at position {self.position} of {self.length}; "
                "take each position in turn, and call start for further sequences"
            )
        return torch.full((self.batch,), begin, device=device) if tokens is None else tokens
