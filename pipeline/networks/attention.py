"""Multi-head attention. It can hide tokens, look back only, use rotary positions, and cache keys and values.

If only some tokens are asked for, all others still have keys and values, but no queries.

Rotary positions: queries and keys are rotated by angles that grow with the position, so that their dot products depend
on how far apart two tokens are, not on where they are. Two neighbouring features are one complex number, and each
number rotates at its own frequency.

Letters in shapes: B sequences, S tokens of each, W features (width), H heads, F = W / H features of a head.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.errors import KinoflowError
from pipeline.networks.denoiser import chosen
from pipeline.networks.linear import Linear, linear
from pipeline.networks.packing import Packing

BASE = 10_000  # the frequencies of rotary positions are 1, ..., almost 1 / BASE radians per token
FEW = 4  # asked tokens of a sequence, on average: their copies of its keys and values need bounded memory


@dataclass(frozen=True)
class Rotation:
    """The factors exp(i angle) that rotate the features at some positions, complex [S, F / 2]."""

    factors: Tensor

    def apply(self, features: Tensor) -> Tensor:
        """Return the rotated features [..., S, F] (queries or keys), in their own type."""
        pairs = features.to(self.factors.real.dtype).unflatten(-1, (-1, 2))
        turned = torch.view_as_complex(pairs) * self.factors  # one pass over memory; cosines and sines take five
        return torch.view_as_real(turned).flatten(-2).to(features.dtype)

    def at(self, positions: Tensor) -> "Rotation":
        """Return the rotation of single tokens at some positions [n], for features [n, ..., 1, F]."""
        return Rotation(self.factors[positions, None, None])


def angles_of(positions: Tensor, features: int) -> Tensor:
    """Return the angles at positions [S] for heads of an even number of features, float64[S, F / 2]."""
    exponents = torch.arange(0, features, 2, dtype=torch.float64, device=positions.device) / features
    return positions[:, None] * BASE**-exponents


class RotaryTable(nn.Module):
    """The rotations by angles [S, F / 2]; the first `prefix` belong to tokens before the sequence itself.

    There are no parameters, and nothing to save.
    """

    def __init__(self, angles: Tensor, prefix: int = 0) -> None:
        super().__init__()
        self.length, self.prefix = len(angles), prefix
        self.cosines: Tensor  # apart from the sines: converting a module to another type would drop imaginary parts
        self.sines: Tensor
        self.register_buffer("cosines", angles.cos().float(), persistent=False)
        self.register_buffer("sines", angles.sin().float(), persistent=False)

    def forward(self, tokens: int, before: int = 0) -> Rotation:
        """Return the rotation for so many tokens, after `before` others."""
        self.check(before + tokens - self.prefix)
        there = slice(before, before + tokens)
        return Rotation(torch.complex(self.cosines[there], self.sines[there]))

    def check(self, length: int) -> None:
        """Raise if sequences of `length` tokens, not counting the prefix, are too long."""
        longest = self.length - self.prefix
        if length > longest:
            raise KinoflowError(
                f"length: the model is made for sequences of at most {longest} tokens, got {length}; "
                "give shorter ones, or train it on data of that length"
            )


class Rotary(RotaryTable):
    """The rotations of the positions 0, ..., length - 1."""

    def __init__(self, length: int, features: int) -> None:
        super().__init__(angles_of(torch.arange(length), features))


class GridRotary(RotaryTable):
    """The rotations of a grid's cells, row by row: half of a head's features rotate with the row, half with the column.

    The tokens of the prefix have no cell and are not rotated; F is a multiple of 4.
    """

    def __init__(self, rows: int, columns: int, features: int, prefix: int = 0) -> None:
        row, column = torch.arange(rows).repeat_interleave(columns), torch.arange(columns).repeat(rows)
        places = torch.cat([angles_of(row, features // 2), angles_of(column, features // 2)], dim=-1)
        super().__init__(torch.cat([places.new_zeros(prefix, features // 2), places]), prefix)


class KeyValueCache:
    """The keys and values of the tokens that one block has seen, [B, H, S, F], with room for `length` tokens."""

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

    seen: Tensor | None = None  # bool [B, S]: whether a token is seen, or what is added to its logit; None: all are
    causal: bool = False
    rotation: Rotation | None = None  # tells how far apart tokens are; None: not known
    packing: Packing | None = None  # sequences are in one row, and a token sees all of its own; None: they are not

    def spread(self, values: Tensor) -> Tensor:
        """Return values of sequences [B, 1, W] in a shape that fits the features of tokens."""
        return values if self.packing is None else self.packing.spread(values)

    def sequences_of(self, at: Tensor, tokens: int) -> Tensor:
        """Return the sequences of the tokens `at` [n]; there are `tokens` in a row."""
        return at // tokens if self.packing is None else self.packing.sequences[at]

    def narrowed(self, at: Tensor | None, features: Tensor) -> Tensor | None:
        """Return `at` if these tokens of features [B, S, W] are so few that the others need no queries, or None."""
        if at is None or self.causal:
            return None
        longest = features.shape[1] if self.packing is None else int(self.packing.lengths.max())
        return at if len(at) * longest <= FEW * features.shape[0] * features.shape[1] else None


EVERYTHING = Sight()


class Attention(nn.Module):
    """Multi-head attention among the tokens of a sequence."""

    def __init__(self, width: int, heads: int, bias: bool = True) -> None:
        super().__init__()
        self.heads = heads
        self.project = Linear(width, 3 * width, bias)
        self.combine = Linear(width, width, bias)

    def forward(
        self,
        features: Tensor,
        sight: Sight = EVERYTHING,
        cache: KeyValueCache | None = None,
        at: Tensor | None = None,
    ) -> Tensor:
        """Return the output for each token, [B, S, W], or for the tokens `at` [n] only, [n, W].

        With a cache, `features` are those of the next token alone. A cache makes sense only if the sight is causal.
        """
        if at is not None:
            return self.combine(self._gather_at(features, sight, at))
        projected = self.project(features)
        if sight.packing is None:
            return self.combine(self._gather(projected, sight, cache))
        parts = [self._gather(part, Sight(seen)) for part, seen in sight.packing.pad(projected)]
        return self.combine(sight.packing.unpad(parts))

    def _gather(self, projected: Tensor, sight: Sight, cache: KeyValueCache | None = None) -> Tensor:
        """Return the weighted means of values, [B, S, W], given queries, keys and values, [B, S, 3 W]."""
        queries, keys, values = projected.unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)  # [B, H, S, F] each
        if sight.rotation is not None:
            queries, keys = sight.rotation.apply(queries), sight.rotation.apply(keys)
        if cache is not None:
            keys, values = cache.extend(keys, values)
        gathered = functional.scaled_dot_product_attention(
            queries,
            keys,
            values,
            attn_mask=_mask(sight.seen, queries),
            is_causal=sight.causal and cache is None,  # a single query at the end sees all that came before
        )
        return gathered.transpose(1, 2).flatten(2)

    def _gather_at(self, features: Tensor, sight: Sight, at: Tensor) -> Tensor:
        """Return the weighted means of values for the tokens `at` [n], [n, W]; only these have queries."""
        width, tokens = features.shape[-1], features.shape[1]
        weight, bias = self.project.weight, self.project.bias
        first, others = (None, None) if bias is None else (bias[:width], bias[width:])
        queries = linear(chosen(features, at), weight[:width], first).unflatten(-1, (self.heads, 1, -1))
        projected = linear(features, weight[width:], others)
        if sight.packing is None:
            sequences = at // tokens
            seen = None if sight.seen is None else sight.seen[sequences]
            around = projected.index_select(0, sequences)  # [n, S, 2 W]
        else:
            places, seen = sight.packing.around(at)
            around = projected[0].index_select(0, places.flatten()).unflatten(0, places.shape)
        keys, values = around.unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)  # [n, H, S, F] each
        if sight.rotation is not None:
            queries, keys = sight.rotation.at(at % tokens).apply(queries), sight.rotation.apply(keys)
        mask = _mask(seen, queries)
        return functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask).flatten(1)


def _mask(seen: Tensor | None, queries: Tensor) -> Tensor | None:
    """Return for all heads and queries what they see, [B, 1, 1, S], or what is added to their logits, in their type."""
    if seen is None or seen.dtype == torch.bool:
        return None if seen is None else seen[:, None, None]
    return seen[:, None, None].to(queries.dtype)
