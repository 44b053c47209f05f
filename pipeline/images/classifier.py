"""A small convolutional classifier for images of any size, and its file.

Letters in shapes: B images of H rows, W columns and C channels, F features.
"""

import json
from itertools import pairwise
from pathlib import Path

from pydantic import ValidationError
from safetensors.torch import load_model
from torch import Tensor, nn

from pipeline.config import Strict
from pipeline.errors import KinoflowError
from pipeline.images.features.classifier import Options
from pipeline.store.arrays import read_description
from pipeline.store.tensors import write_network

KIND = "classifier"
_GROUPS = 8  # groups of channels that are normalised together
_SMALLEST = 4  # pixels per side, roughly, after the last halving
_WIDEST = 4  # most channels, as a multiple of those of the first layer


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
        return nn.functional.silu(self.combine(seen.mean(dim=(2, 3))))

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits of the classes for images uint8[B, H, W, C]."""
        logits: Tensor = self.head(self.features(images))
        return logits


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
