"""A U-Net over the values of an image's pixels: that of Dhariwal and Nichol (2021), with tokens instead of numbers.

The first layer is a table of embeddings, the last one gives K logits for every channel of a pixel. Letters in shapes: B
images, H rows, V columns, C channels, D = H V C tokens, K tokens of the vocabulary, W features, E of the condition.
"""

import math

import torch
from pydantic import Field, PositiveInt, model_validator
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config import Strict
from pipeline.errors import KinoflowError
from pipeline.images.networks.image_condition import Grid, builder, new_class_embedding, refuse_labels
from pipeline.networks.attention import Attention
from pipeline.networks.transformer import Modulation, TimeEmbedding

GROUPS = 32  # most groups of features that are normalised together
CONDITION_RATIO = 4  # features of the condition, per channel


def group_norm(width: int) -> nn.GroupNorm:
    """Return the norm of W features in 32 groups, or in as many as divide both 32 and W."""
    return nn.GroupNorm(math.gcd(GROUPS, width), width)


def zeroed(layer: nn.Conv2d | nn.Linear) -> None:
    """Set the weights of a layer to zero, so that it adds nothing before training."""
    for weights in layer.parameters():
        nn.init.zeros_(weights)


class ResidualBlock(nn.Module):
    """Two convolutions added to the input; the norm between them is scaled and shifted by the condition, if any."""

    def __init__(self, width_in: int, width: int, condition_width: int | None, dropout: float) -> None:
        super().__init__()
        self.first_norm = group_norm(width_in)
        self.first = nn.Conv2d(width_in, width, 3, padding=1)
        self.modulation = None if condition_width is None else Modulation(condition_width, width, sets=2)
        self.second_norm = group_norm(width)
        self.dropout = nn.Dropout(dropout)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.shortcut = nn.Identity() if width_in == width else nn.Conv2d(width_in, width, 1)
        zeroed(self.second)

    def forward(self, features: Tensor, condition: Tensor | None = None) -> Tensor:
        """Return the features [B, W, H, V] after the block, under a condition [B, E]."""
        hidden = self.second_norm(self.first(functional.silu(self.first_norm(features))))
        if self.modulation is not None:
            scale, shift = self.modulation(condition).transpose(1, 2)[..., None].chunk(2, dim=1)  # [B, W, 1, 1] each
            hidden = hidden * (1 + scale) + shift
        return self.shortcut(features) + self.second(self.dropout(functional.silu(hidden)))


class PixelAttention(nn.Module):
    """Attention among all pixels, added to the input."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm = group_norm(width)
        self.attention = Attention(width, heads)
        zeroed(self.attention.combine)

    def forward(self, features: Tensor) -> Tensor:
        pixels = self.norm(features).flatten(2).transpose(1, 2)  # [B, H V, W]
        return features + self.attention(pixels).transpose(1, 2).reshape(features.shape)


class Stage(nn.Module):
    """A residual block, followed by attention if there are `heads`."""

    def __init__(
        self, width_in: int, width: int, condition_width: int | None, dropout: float, heads: int | None
    ) -> None:
        super().__init__()
        self.residual = ResidualBlock(width_in, width, condition_width, dropout)
        self.attention = nn.Identity() if heads is None else PixelAttention(width, heads)

    def forward(self, features: Tensor, condition: Tensor | None = None) -> Tensor:
        return self.attention(self.residual(features, condition))


class Options(Strict):
    """The size of the network."""

    # The paper gives these sizes and 113 million parameters. This network has 111.8 million: it has as many blocks on
    # the way up as down, the condition scales and shifts its norms, and it changes sizes without weights.
    channels: int = Field(96, ge=8, multiple_of=8, description="features of each token, and the unit of widths")
    depth: int = Field(5, ge=1, le=1000, description="residual blocks of each level, on the way down and on the way up")
    multipliers: tuple[PositiveInt, ...] = Field(
        (3, 4, 4),
        min_length=1,
        description="width of each level in units of channels; each but the first halves the side",
    )
    head_channels: int = Field(64, ge=1, description="features of an attention head; divides widths with attention")
    attention: tuple[PositiveInt, ...] = Field(
        (16,), description="sides in pixels of the levels with attention; there is always some in the middle"
    )
    dropout: float = Field(0.3, ge=0, lt=1, description="share of features dropped in training")
    time: bool = Field(True, description="tell the network the time; mask paths do not need it")
    conditional: bool = Field(False, description="tell the network the class of the image")

    @model_validator(mode="after")
    def _heads_of_equal_size_in_the_middle(self) -> "Options":
        if self.widths[-1] % self.head_channels:
            raise ValueError(
                f"channels ({self.channels}) times the last of the multipliers ({self.multipliers[-1]}) "
                f"must be a multiple of head_channels ({self.head_channels})"
            )
        return self

    @property
    def widths(self) -> list[int]:
        """Features of each level."""
        return [multiplier * self.channels for multiplier in self.multipliers]


class ImageUnet(nn.Module):
    """Levels of residual blocks, each at half the size of the one before, and back up, with skips at each level.

    Before training, all blocks add nothing and all logits are equal.
    """

    def __init__(self, options: Options, tokens: int, grid: Grid, classes: int) -> None:
        super().__init__()
        self.grid, channels = grid, grid[2]
        condition_width = CONDITION_RATIO * options.channels
        self.embedding = nn.Embedding(tokens, options.channels)
        self.time = TimeEmbedding(condition_width) if options.time else None
        self.classes = new_class_embedding(True, classes, condition_width) if options.conditional else None
        told = condition_width if options.time or options.conditional else None

        def stage(width_in: int, width: int, attends: bool) -> Stage:
            return Stage(width_in, width, told, options.dropout, width // options.head_channels if attends else None)

        attending = _levels_with_attention(options, grid)
        levels = list(zip(options.widths, attending, strict=True))
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        width = channels * options.channels
        for level_width, attends in levels:
            widths_in = [width] + [level_width] * (options.depth - 1)
            self.down.append(nn.ModuleList(stage(width_in, level_width, attends) for width_in in widths_in))
            width = level_width
        self.middle = nn.ModuleList([stage(width, width, attends=True), stage(width, width, attends=False)])
        for level_width, attends in reversed(levels):
            widths_in = [width + level_width] + [2 * level_width] * (options.depth - 1)  # joined with the way down
            self.up.append(nn.ModuleList(stage(width_in, level_width, attends) for width_in in widths_in))
            width = level_width
        self.norm = group_norm(width)
        self.head = nn.Conv2d(width, channels * tokens, 3, padding=1)
        zeroed(self.head)

    def forward(self, x: Tensor, t: Tensor, labels: Tensor | None = None) -> Tensor:
        """Return the logits of p(x1 | x_t, class), [B, D, K]."""
        rows, columns, _ = self.grid
        condition = self._condition(x, t, labels)
        pixels = self.embedding(x).reshape(len(x), rows, columns, -1)  # the features of a pixel's channels, stacked
        features, seen = pixels.permute(0, 3, 1, 2), list[Tensor]()
        for number, level in enumerate(self.down):
            features = functional.avg_pool2d(features, 2) if number else features
            for stage in level.children():
                features = stage(features, condition)
                seen.append(features)
        for stage in self.middle:
            features = stage(features, condition)
        for number, level in enumerate(self.up):
            features = functional.interpolate(features, scale_factor=2, mode="nearest") if number else features
            for stage in level.children():
                features = stage(torch.cat([features, seen.pop()], dim=1), condition)
        logits = self.head(functional.silu(self.norm(features)))  # [B, C K, H, V]
        return logits.permute(0, 2, 3, 1).reshape(*x.shape, -1)

    def _condition(self, x: Tensor, t: Tensor, labels: Tensor | None) -> Tensor | None:
        time = None if self.time is None else self.time(t)
        if self.classes is None:
            refuse_labels(labels)
            return time
        embedded = self.classes(labels, len(x))
        return embedded if time is None else time + embedded


def _levels_with_attention(options: Options, grid: Grid) -> list[bool]:
    """Return for each level whether it has attention; raise if the grid cannot be halved that often."""
    rows, columns, _ = grid
    halvings = len(options.multipliers) - 1
    if rows % 2**halvings or columns % 2**halvings:
        raise KinoflowError(
            f"multipliers: {len(options.multipliers)} levels halve the image {halvings} times, which {rows} x "
            f"{columns} pixels do not allow; give fewer multipliers"
        )
    sides = [rows // 2**level for level in range(halvings + 1)]
    if unknown := set(options.attention) - set(sides):
        known = ", ".join(map(str, sides))
        raise KinoflowError(f"attention: no level has the side {min(unknown)}; the sides are {known}")
    for side, width in zip(sides, options.widths, strict=True):
        if side in options.attention and width % options.head_channels:
            raise KinoflowError(
                f"attention: {width} features at side {side} are no multiple of head_channels "
                f"({options.head_channels}); change channels, multipliers or head_channels"
            )
    return [side in options.attention for side in sides]


build = builder(ImageUnet)
