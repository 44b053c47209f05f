"""Training of the classifier whose features are used to compare images.

A row of the training loop is (split, number) of an image: no image is copied before it is used.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config import Training
from pipeline.images.features.classifier import Options
from pipeline.images.imagedata import ImageData, to_bytes, view
from pipeline.scoring.intervals import rate

_SPLITS = ("train", "validation")
_BATCH = 250  # test images at once


@dataclass(frozen=True)
class ClassifierObjective:
    """The cross-entropy of the classes of images, [B]; training images are seen in random views."""

    data: ImageData

    def __call__(self, network: nn.Module, rows: Tensor, generator: torch.Generator) -> Tensor:
        split, numbers = _SPLITS[int(rows[0, 0])], rows[:, 1].cpu()
        images, labels = self.data.images[split][numbers], self.data.labels[split][numbers]
        views = torch.randint(self.data.views, (len(rows),), generator=generator) if split == "train" else 0 * numbers
        seen = images.new_empty(len(rows), *self.data.grid)
        for number in views.unique().tolist():
            chosen = views == number
            seen[chosen] = view(images[chosen], self.data.crop, self.data.augmentation, number)
        seen = to_bytes(seen, self.data.levels)
        return functional.cross_entropy(network(seen.to(rows.device)), labels.to(rows.device), reduction="none")


def training_of(options: Options) -> Training:
    """Return the training settings of the network."""
    return Training(
        steps=options.steps,
        batch=options.batch,
        learning_rate=options.learning_rate,
        weight_decay=options.weight_decay,
        warmup=min(100, options.steps // 10),
        ema=0.99,
    )


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
