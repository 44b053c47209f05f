"""Quantisation: each vector is replaced by the nearest of K codes, all of length one.

A code is a moving average of the vectors assigned to it (`vector-quantize-pytorch`). Codes are initialised from the
first batch. A code with hardly any vectors is dead, and moves to a random vector of the batch. These draws come from
the global generator, as for dropout; training reseeds it at each step.
Letters in shapes: N vectors, F features, K codes.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, distributed, nn
from torch.nn import functional
from vector_quantize_pytorch import VectorQuantize  # type: ignore[import-untyped]

from pipeline.flow.chunks import row_chunks

MEMORY = 0.95  # decay of the moving averages
DEAD = 0.03  # a code is dead if it gets less than this share of the vectors it would get if all were used equally


@dataclass(frozen=True)
class Quantised:
    """The codes int64[N] of vectors, the vectors [N, F] of these codes, and the loss that pulls vectors to codes."""

    codes: Tensor
    vectors: Tensor
    loss: Tensor


class Quantiser(nn.Module):
    """K codes of F features, trained on `at_once` vectors per step, over all processes.

    Create it after the processes have joined: it then keeps the codes the same in all of them.
    """

    def __init__(self, codes: int, features: int, commitment: float = 0.0, at_once: int = 0) -> None:
        super().__init__()
        self.quantise = VectorQuantize(
            dim=features,
            codebook_size=codes,
            use_cosine_sim=True,
            rotation_trick=True,  # C. Fifty et al., 2024: rotate gradients with the features, do not copy them
            decay=MEMORY,
            kmeans_init=True,
            threshold_ema_dead_code=DEAD * at_once / codes,
            commitment_weight=commitment,
            sync_codebook=processes() > 1,
        )

    @property
    def codebook(self) -> Tensor:
        """The codes, of length one, [K, F]."""
        codebook: Tensor = self.quantise.codebook
        return codebook

    def forward(self, vectors: Tensor) -> Quantised:
        """Quantise vectors [N, F]; gradients pass from the returned vectors to the given ones."""
        with torch.autocast(vectors.device.type, enabled=False):
            chosen, codes, loss = self.quantise(functional.normalize(vectors.float(), dim=-1)[None])
        return Quantised(codes[0], chosen[0], loss.sum())

    @torch.no_grad()
    def nearest(self, vectors: Tensor, live: Tensor | None = None) -> Tensor:
        """Return the nearest codes int64[N] of vectors [N, F] among the `live` ones, bool[K]; None: all are live."""
        vectors = functional.normalize(vectors.float(), dim=-1)
        codes = torch.empty(len(vectors), dtype=torch.int64, device=vectors.device)
        for part in row_chunks(len(vectors), len(self.codebook)):
            likeness = vectors[part] @ self.codebook.T
            codes[part] = (likeness if live is None else likeness.masked_fill(~live, -torch.inf)).argmax(-1)
        return codes


def processes() -> int:
    """Return how many processes train together."""
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1
