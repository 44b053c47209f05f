"""Multi-head attention. It can hide tokens, look back only, use rotary positions, and cache keys and values.

Letters in shapes: B sequences, S tokens of each, W features (width), H heads.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.networks.rotary import Rotation


class KeyValueCache:
    """The keys and values of the tokens that one block has seen, [B, H, S, W / H], with room for `length` tokens."""

    def __init__(self, length: int) -> None:
        self._length, self._seen = length, 0
        self._keys = self._values = torch.empty(0)

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add the keys and values of the next tokens, and return those of all tokens so far."""
        if self._seen == 0:  # the type is known only now: it depends on the precision
            batch, heads, _, features = keys.shape
            self._keys, self._values = (keys.new_empty(batch, heads, self._length, features) for _ in range(2))
        before, self._seen = self._seen, self._seen + keys.shape[2]
        self._keys[:, :, before : self._seen] = keys
        self._values[:, :, before : self._seen] = values
        return self._keys[:, :, : self._seen], self._values[:, :, : self._seen]


@dataclass(frozen=True)
class Sight:
    """Which tokens a token attends to: all except hidden ones and, if `causal`, later ones.

    The `rotation` is for the positions of the current tokens; keys in a cache are already rotated.
    """

    seen: Tensor | None = None  # bool [B, S]: whether a token is seen; None: all are
    causal: bool = False
    rotation: Rotation | None = None  # tells how far apart tokens are; None: not known


EVERYTHING = Sight()


class Attention(nn.Module):
    """Multi-head attention among the tokens of a sequence."""

    def __init__(self, width: int, heads: int, bias: bool = True) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width, bias)
        self.combine = nn.Linear(width, width, bias)

    def forward(self, features: Tensor, sight: Sight = EVERYTHING, cache: KeyValueCache | None = None) -> Tensor:
        """Return the output for each token, [B, S, W].

        With a cache, `features` are those of the next token alone. A cache makes sense only if the sight is causal.
        """
        batch, tokens, width = features.shape
        projected = self.project(features).view(batch, tokens, 3, self.heads, width // self.heads)
        queries, keys, values = projected.permute(2, 0, 3, 1, 4)  # [B, H, S, W / H] each
        if sight.rotation is not None:
            queries, keys = sight.rotation.apply(queries), sight.rotation.apply(keys)
        if cache is not None:
            keys, values = cache.extend(keys, values)
        gathered = functional.scaled_dot_product_attention(
            queries,
            keys,
            values,
            attn_mask=None if sight.seen is None else sight.seen[:, None, None, :],  # [B, 1, 1, S]
            is_causal=sight.causal and cache is None,  # a single query at the end sees all that came before
        )
        combined: Tensor = self.combine(gathered.transpose(1, 2).reshape(batch, tokens, width))
        return combined
