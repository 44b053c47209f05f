"""Images on their way along the conditional paths of an experiment's runs (fig:conditional_path).

Use this picture to choose the parameters of a metric path: a good one goes from noise to the image over all of [0, 1].
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pipeline.config import PathChoice
from pipeline.images.decoding import Decoder
from pipeline.networks.saved import path_for
from pipeline.sampling.conditions import label
from pipeline.tokens.token_data import TokenData

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIMES = tuple(step / 8 for step in range(9))
IMAGES = 3  # per path
INCHES = 0.9  # side of one picture
DPI = 150
MASKED = torch.tensor([70, 130, 180], dtype=torch.uint8)  # colour of masked places


def pictures_along(paths: Iterable[PathChoice], data: TokenData, decoder: Decoder, seed: int) -> dict[str, Tensor]:
    """Return a few held-out images along each path, at times from 0 to 1, bytes[T, N, H, W, 3]."""
    x1, shown = examples(data), {}
    for choice in paths:
        path = path_for(choice, data)
        generator = torch.Generator().manual_seed(seed)
        frames = [path.sample(x1, torch.full((len(x1),), t, dtype=torch.float64), generator) for t in TIMES[:-1]]
        shown[label(choice.name, choice.options)] = torch.stack([painted(decoder, data, x) for x in (*frames, x1)])
    return shown


def examples(data: TokenData) -> Tensor:
    """Return the first held-out images, of different classes if they have any, int64[N, D]."""
    rows = torch.arange(min(IMAGES, len(data.test)))
    if data.is_labelled:
        labels = data.labels["test"]
        first = [int((labels == one).nonzero()[0, 0]) for one in labels.unique()]
        rows = torch.tensor(sorted(first)[:IMAGES])
    return data.test[rows].long()


def painted(decoder: Decoder, data: TokenData, x: Tensor) -> Tensor:
    """Return tokens [N, D] as colour pictures, bytes[N, H, W, 3]; masked places have a colour of their own."""
    masked = data.vocabulary.kind_of.values[x] < 0
    some_data = int((data.vocabulary.kind_of.values >= 0).nonzero()[0, 0])
    pictures = decoder.pictures(x.masked_fill(masked, some_data))
    pictures = pictures.expand(*pictures.shape[:3], 3).clone()
    rows, columns, channels = decoder.grid
    places = masked.view(len(x), rows, columns, channels).all(-1)  # a pixel with a known channel is shown
    size = pictures.shape[1] // rows
    places = places.repeat_interleave(size, 1).repeat_interleave(size, 2)
    pictures[places] = MASKED
    return pictures


def draw(shown: dict[str, Tensor]) -> Figure:
    """Return the figure of pictures bytes[T, N, H, W, 3] by path: one row per image, one column per time."""
    from matplotlib.figure import Figure

    count = next(iter(shown.values())).shape[1]
    rows = len(shown) * count
    figure = Figure(figsize=(INCHES * len(TIMES), INCHES * rows + 0.35 * len(shown)), layout="constrained", dpi=DPI)
    parts = figure.subfigures(len(shown), 1, squeeze=False)[:, 0]
    for part, (name, frames) in zip(parts, shown.items(), strict=True):
        part.suptitle(name, fontsize=8)
        boards = part.subplots(count, len(TIMES), squeeze=False)
        for time, pictures, column in zip(TIMES, frames, boards.T, strict=True):
            column[0].set_title(f"t = {time:g}", fontsize=7)
            for axes, picture in zip(column, pictures, strict=True):
                axes.imshow(picture.numpy(), interpolation="nearest")
                axes.set_axis_off()
    return figure
