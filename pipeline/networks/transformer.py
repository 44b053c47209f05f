"""Transformers with a condition: adaptive layer norms let it in, and each block starts as the identity (adaLN-zero).

Letters in shapes: B sequences, S tokens of each, W features (width), C features of the condition, H heads.
"""

import math
from dataclasses import dataclass

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config import Strict
from pipeline.errors import KinoflowError
from pipeline.networks.attention import EVERYTHING, Attention, KeyValueCache, Sight
from pipeline.networks.denoiser import chosen, of_sequences
from pipeline.networks.linear import Linear
from pipeline.networks.time_features import time_features

TIME_FEATURES = 256
PERCEPTRON_RATIO = 4  # hidden features of a block's perceptron, per feature of its input
CACHED = 1 << 17  # numbers that stay in a processor's cache
GELU_SLOPE = 2 * math.sqrt(2 / math.pi)
GELU_CURVE = 0.044715 * GELU_SLOPE
LONGEST_PERIOD = 10_000  # of the sinusoidal positions, in tokens


class TransformerOptions(Strict):
    """The size of a transformer."""

    width: int = Field(256, ge=2, multiple_of=2, description="features of each token; a multiple of heads")
    depth: int = Field(16, ge=1, le=1000, description="attention blocks")
    heads: int = Field(16, ge=1, description="attention heads of each block")
    dropout: float = Field(0.1, ge=0, lt=1, description="share of features dropped in training")

    @model_validator(mode="after")
    def _heads_of_equal_size(self) -> "TransformerOptions":
        if self.width % self.heads:
            raise ValueError(f"width ({self.width}) must be a multiple of heads ({self.heads})")
        return self


class Modulation(nn.Module):
    """Several sets of W numbers, computed from a condition; all are zero before training."""

    def __init__(self, condition_width: int, width: int, sets: int) -> None:
        super().__init__()
        self.linear = Linear(condition_width, sets * width)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, condition: Tensor) -> Tensor:
        """Return the sets for conditions [B, C], one after the other, [B, 1, sets W]."""
        modulation: Tensor = self.linear(functional.silu(condition))
        return modulation[:, None]


class ConstantModulation(nn.Module):
    """Several sets of W numbers that depend on no condition; all are zero before training."""

    def __init__(self, width: int, sets: int) -> None:
        super().__init__()
        self.values = nn.Parameter(torch.zeros(sets, width))

    def forward(self, condition: None = None) -> Tensor:
        """Return the sets, one after the other, [1, 1, sets W]."""
        return self.values.view(1, 1, -1)


def new_modulation(condition_width: int | None, width: int, sets: int) -> Modulation | ConstantModulation:
    """Return the modulation for conditions with so many features; None: there is no condition."""
    return ConstantModulation(width, sets) if condition_width is None else Modulation(condition_width, width, sets)


def modulated_norm(features: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    """Return features [B, S, W] with mean 0 and deviation 1 for each token, then scaled by 1 + scale and shifted."""
    return torch.addcmul(shift, functional.layer_norm(features, features.shape[-1:]), 1 + scale)


class TanhGelu(nn.Module):
    """GELU in its tanh form; without gradients, by the same formula with a sigmoid, which a processor does faster."""

    def forward(self, features: Tensor) -> Tensor:
        if not _on_bare_cpu(features):
            return functional.gelu(features, approximate="tanh")
        slope = features.new_tensor(GELU_SLOPE)  # 1 + tanh(u) = 2 sigmoid(2 u), and 2 u = x (slope + curve x^2)
        gates = torch.addcmul(slope, features, features, value=GELU_CURVE).mul_(features).sigmoid_()
        return gates.mul_(features)


class Perceptron(nn.Sequential):
    """Two linear layers; without gradients, on a CPU, for so few tokens at a time that these stay in its cache."""

    def __init__(self, width: int) -> None:
        hidden = PERCEPTRON_RATIO * width
        super().__init__(Linear(width, hidden), TanhGelu(), Linear(hidden, width))
        self.tokens = max(CACHED // hidden, 1)

    def forward(self, features: Tensor) -> Tensor:
        if not _on_bare_cpu(features) or features[..., 0].numel() <= self.tokens:
            return super().forward(features)
        parts = [super(Perceptron, self).forward(part) for part in features.flatten(0, -2).split(self.tokens)]
        return torch.cat(parts).view_as(features)


def _on_bare_cpu(features: Tensor) -> bool:
    return not features.requires_grad and features.dtype == torch.float32 and features.device.type == "cpu"


class Block(nn.Module):
    """Attention and a perceptron, each added to its input through a gate that is closed before training."""

    def __init__(self, options: TransformerOptions, condition_width: int | None) -> None:
        super().__init__()
        width = options.width
        self.modulation = new_modulation(condition_width, width, sets=6)
        self.attention = Attention(width, options.heads)
        self.perceptron = Perceptron(width)
        self.dropout = nn.Dropout(options.dropout)

    def forward(
        self,
        features: Tensor,
        modulation: Tensor,
        sight: Sight = EVERYTHING,
        cache: KeyValueCache | None = None,
        at: Tensor | None = None,
    ) -> Tensor:
        """Return the features after the block, [B, S, W], or those of the tokens `at` only, [n, W].

        The `modulation` is what the block computed from the condition.
        """
        before, after = modulation.split([2 * features.shape[-1], 4 * features.shape[-1]], dim=-1)
        shift, scale = sight.spread(before).chunk(2, dim=-1)
        gathered = self.attention(modulated_norm(features, shift, scale), sight, cache, at)
        after = sight.spread(after) if at is None else of_sequences(after, sight.sequences_of(at, features.shape[1]))
        gate, perceptron_shift, perceptron_scale, perceptron_gate = after.chunk(4, dim=-1)
        features = torch.addcmul(chosen(features, at), gate, self.dropout(gathered))
        computed = self.perceptron(modulated_norm(features, perceptron_shift, perceptron_scale))
        return torch.addcmul(features, perceptron_gate, self.dropout(computed))


class Blocks(nn.Module):
    """All blocks, one after the other; `condition_width` None: there is no condition."""

    def __init__(self, options: TransformerOptions, condition_width: int | None) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(options, condition_width) for _ in range(options.depth))

    def modulations(self, condition: Tensor | None = None) -> list[Tensor]:
        """Return what each block computes from the condition [B, C]; all tokens share it, so decoding needs it once."""
        return [block.get_submodule("modulation")(condition) for block in self.blocks]

    def forward(
        self,
        features: Tensor,
        modulations: list[Tensor],
        sight: Sight = EVERYTHING,
        caches: list[KeyValueCache] | None = None,
        at: Tensor | None = None,
    ) -> Tensor:
        """Return the features after all blocks, [B, S, W], or those of the tokens `at`, [n, W].

        The last block computes little more than what is asked for: there only keys and values need all tokens.
        """
        few, last = sight.narrowed(at, features), len(self.blocks) - 1
        for number, (block, modulation) in enumerate(zip(self.blocks, modulations, strict=True)):
            cache = None if caches is None else caches[number]
            features = block(features, modulation, sight, cache, few if number == last else None)
        return chosen(features, at) if few is None else features


class Head(nn.Module):
    """The last adaptive layer norm, and a linear layer that gives the logits.

    The linear layer is zero before training. With an `embedding`, it shares those weights and has no bias.
    """

    def __init__(
        self, width: int, condition_width: int | None, tokens: int, embedding: nn.Embedding | None = None
    ) -> None:
        super().__init__()
        self.modulation = new_modulation(condition_width, width, sets=2)
        self.linear = Linear(width, tokens, bias=embedding is None)
        if embedding is None:
            nn.init.zeros_(self.linear.weight)
            nn.init.zeros_(self.linear.bias)
        else:
            self.linear.weight = embedding.weight

    def forward(self, features: Tensor, modulation: Tensor, sequences: Tensor | None = None) -> Tensor:
        """Return the logits [B, S, K] for features [B, S, W], or [n, K] for tokens [n, W] of some sequences [n].

        The `modulation` comes from the condition.
        """
        if sequences is not None:
            modulation = of_sequences(modulation, sequences)
        return self.linear(modulated_norm(features, *modulation.chunk(2, dim=-1)))


@dataclass
class Decoding:
    """Unfinished sequences of an autoregressive network: what is kept of the tokens so far, and of the condition."""

    batch: int
    length: int
    modulations: list[Tensor]
    head_modulation: Tensor
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


class TimeEmbedding(nn.Module):
    """The time as a condition."""

    def __init__(self, condition_width: int) -> None:
        super().__init__()
        self.first = Linear(TIME_FEATURES, condition_width)
        self.second = Linear(condition_width, condition_width)

    def forward(self, t: Tensor) -> Tensor:
        """Return the condition for times t [B], [B, C]."""
        features = time_features(t, TIME_FEATURES).to(self.first.weight.dtype)
        return self.second(functional.silu(self.first(features)))


def sinusoidal_positions(length: int, width: int) -> Tensor:
    """Return sines and cosines of the positions 0, ..., length - 1, periods 2 pi to LONGEST_PERIOD, [length, width]."""
    frequencies = torch.exp(torch.arange(0, width, 2) * (-math.log(LONGEST_PERIOD) / width))
    angles = torch.arange(length)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
