"""Quantisation: each vector is replaced by the nearest of K codes, all of length one.

The codes follow the vectors that they stand for, as a moving average (`vector-quantize-pytorch`). The first batch says
where they begin; one that hardly any vector is near to is dead, and put on a vector of the batch. What that draws comes
from the global generator, which training seeds anew in each step, as for dropout.
Letters in shapes: N vectors, F features, K codes.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, distributed, nn
from torch.nn import functional
from vector_quantize_pytorch import VectorQuantize  # type: ignore[import-untyped]

from pipeline.flow.chunks import row_chunks

MEMORY = 0.95  # of the moving averages
DEAD = 0.03  # a code is dead when it stands for this share of the vectors that it would if all were used alike


@dataclass(frozen=True)
class Quantised:
    """The codes int64[N] of vectors, the vectors [N, F] of these codes, and the loss that draws vectors to codes."""

    codes: Tensor
    vectors: Tensor
    loss: Tensor


class Quantiser(nn.Module):
    """K codes of F features, to be trained on so many vectors at once, over all processes.

    Whether several processes train together has to be known when it is made: they then have the same codes.
    """

    def __init__(self, codes: int, features: int, commitment: float = 0.0, at_once: int = 0) -> None:
        super().__init__()
        self.quantise = VectorQuantize(
            dim=features,
            codebook_size=codes,
            use_cosine_sim=True,
            rotation_trick=True,  # of C. Fifty et al., 2024: gradients are turned with the features, not copied
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
        """Quantise vectors [N, F]; gradients of the vectors that are given back go to those that came in."""
        with torch.autocast(vectors.device.type, enabled=False):
            chosen, codes, loss = self.quantise(functional.normalize(vectors.float(), dim=-1)[None])
        return Quantised(codes[0], chosen[0], loss.sum())

    @torch.no_grad()
    def nearest(self, vectors: Tensor, live: Tensor | None = None) -> Tensor:
        """Return the nearest codes int64[N] of vectors [N, F] among those that are `live`, bool[K]; None: all are."""
        vectors = functional.normalize(vectors.float(), dim=-1)
        codes = torch.empty(len(vectors), dtype=torch.int64, device=vectors.device)
        for part in row_chunks(len(vectors), len(self.codebook)):
            likeness = vectors[part] @ self.codebook.T
            codes[part] = (likeness if live is None else likeness.masked_fill(~live, -torch.inf)).argmax(-1)
        return codes


def processes() -> int:
    """Return how many processes train together."""
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1
