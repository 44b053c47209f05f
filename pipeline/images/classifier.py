"""A small convolutional classifier for images of any size, its file, and its training.

A row of the training loop is (split, number) of an image: no image is copied before it is used.
Letters in shapes: B images of H rows, W columns and C channels, F features.
"""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch
from pydantic import ValidationError
from safetensors.torch import load_model
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config import Strict, Training
from pipeline.errors import KinoflowError
from pipeline.images.features.classifier import Options
from pipeline.images.imagedata import ImageData, to_bytes, view
from pipeline.scoring.intervals import rate
from pipeline.store.arrays import read_description
from pipeline.store.tensors import write_network

KIND = "classifier"
_GROUPS = 8  # groups of channels that are normalised together
_SMALLEST = 4  # pixels per side, roughly, after the last halving
_WIDEST = 4  # most channels, as a multiple of those of the first layer
_SPLITS = ("train", "validation")
_BATCH = 250  # test images at once


class Description(Strict):
    """What a classifier is and what it tells apart."""

    options: Options
    side: int
    channels: int
    classes: tuple[str, ...]


class Classifier(nn.Module):
    """Pairs of convolutions with pooling in between, then the mean over all pixels."""

    def __init__(self, description: Description) -> None:
        super().__init__()
        options = description.options
        halvings = max(1, (description.side // _SMALLEST).bit_length() - 1)
        widths = [options.width * min(2**level, _WIDEST) for level in range(halvings + 1)]
        layers = _pair(description.channels, widths[0])
        for before, after in pairwise(widths):
            layers += [nn.MaxPool2d(2, ceil_mode=True), *_pair(before, after)]
        self.layers = nn.Sequential(*layers)
        self.combine = nn.Linear(widths[-1], options.features)
        self.head = nn.Linear(options.features, len(description.classes))

    def features(self, images: Tensor) -> Tensor:
        """Return the features [B, F] of images uint8[B, H, W, C]: the output of the last layer but one."""
        seen = self.layers(images.permute(0, 3, 1, 2).float() / 127.5 - 1)
        return functional.silu(self.combine(seen.mean(dim=(2, 3))))

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits of the classes for images uint8[B, H, W, C]."""
        return self.head(self.features(images))


def _pair(before: int, after: int) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for channels in (before, after):
        layers += [nn.Conv2d(channels, after, 3, padding=1, bias=False), nn.GroupNorm(_GROUPS, after), nn.SiLU()]
    return layers


def save_classifier(path: Path, network: nn.Module, description: Description) -> None:
    """Write the weights and the description."""
    write_network(path, KIND, network, description.model_dump(mode="json"))


def load_classifier(path: Path, options: Options) -> tuple[Classifier, tuple[str, ...]]:
    """Read the network in evaluation mode, and its classes; it must have been trained with these `options`."""
    try:
        description = Description.model_validate_json(json.dumps(read_description(path, KIND)))
    except ValidationError as error:
        raise KinoflowError(f"{path}: a classifier of another version of this project; train it again") from error
    if description.options != options:
        raise KinoflowError(f"{path}: trained with {description.options}, not {options}; train it again")
    network = Classifier(description)
    try:
        load_model(network, str(path))
    except RuntimeError as error:
        raise KinoflowError(f"{path}: the weights do not fit their description; train it again; {error}") from error
    return network.eval(), description.classes


@dataclass(frozen=True)
class ClassifierObjective:
    """The cross-entropy of the classes of images, [B]; training images are seen in random views."""

    data: ImageData

    def __call__(self, network: nn.Module, rows: Tensor, generator: torch.Generator) -> Tensor:
        split, numbers, device = _SPLITS[int(rows[0, 0])], rows[:, 1], generator.device
        images, labels = self.data.images[split][numbers], self.data.labels[split][numbers]
        views = 0 * numbers
        if split == "train":
            views = torch.randint(self.data.views, (len(rows),), generator=generator, device=device).cpu()
        seen = images.new_empty(len(rows), *self.data.grid)
        for number in views.unique().tolist():
            chosen = views == number
            seen[chosen] = view(images[chosen], self.data.crop, self.data.augmentation, number)
        seen = to_bytes(seen, self.data.levels)
        return functional.cross_entropy(network(seen.to(device)), labels.to(device), reduction="none")


def training_of(options: Options) -> Training:
    """Return the training settings of the network."""
    given = options.model_dump(exclude={"width", "features"})
    return Training(**given, warmup=min(100, options.steps // 10), ema=0.99)


@torch.no_grad()
def accuracy(network: nn.Module, data: ImageData, device: torch.device) -> dict[str, float]:
    """Return the share of test images that are classified correctly, in percent, with a 95 % interval."""
    network.eval()
    right, total = 0, 0
    for images, labels in data.parts("test"):
        for part, classes in zip(images.split(_BATCH), labels.split(_BATCH), strict=True):
            told = network(to_bytes(part, data.levels).to(device)).argmax(dim=-1).cpu()
            right, total = right + int((told == classes).sum()), total + len(part)
    return rate("test_accuracy", right, total)


def rows_of(data: ImageData, split: str) -> Tensor:
    """Return the rows of a split: (split, number) of each image."""
    numbers = torch.arange(len(data.images[split]))
    return torch.stack([torch.full_like(numbers, _SPLITS.index(split)), numbers], dim=1)
