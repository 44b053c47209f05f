"""Small images in three classes, the tokens of their pixels, and networks for them that have not learnt anything."""

from pathlib import Path
from typing import Any

import torch
import yaml
from tiny import TINY, TINY_LATENTS, TINY_PIXELS
from torch import nn

from pipeline.config import Config
from pipeline.config.loading import load_config, merge
from pipeline.images.datasets.pixels import Options, from_images
from pipeline.images.imagedata import Augmentation, ImageData
from pipeline.networks.saved import Description, SavedModel, load_network, new_network, save_network
from pipeline.tokens.token_data import TokenData

CLASSES, LEVELS, SIDE = 3, 5, 4


def image_data(channels: int = 1, augmentation: Augmentation = "none", crop: int = SIDE) -> ImageData:
    """Return random images; those of the test split are 7, in classes that take turns."""
    generator = torch.Generator().manual_seed(0)
    images, labels = {}, {}
    for split, count in (("train", 12), ("validation", 5), ("test", 7)):
        shape = (count, SIDE, SIDE, channels)
        images[split] = torch.randint(LEVELS, shape, generator=generator, dtype=torch.uint8)
        labels[split] = torch.arange(count) % CLASSES
    return ImageData(images, labels, ("cat", "dog", "cow"), LEVELS, crop, augmentation, {"name": "noise"})


def token_data() -> TokenData:
    """Return the tokens of the images' pixels."""
    return from_images(Options.model_validate({"images": "digits"}), image_data())


def image_config(folder: Path, **changes: Any) -> Config:
    """Return a configuration with both experiments on images, after changes to that on pixels."""
    experiments = {"pixels": merge(TINY_PIXELS, changes), "latents": TINY_LATENTS}
    path = folder / "images.yaml"
    path.write_text(yaml.safe_dump(TINY | {"experiments": experiments}, sort_keys=False))
    return load_config(path)


def stirred(network: nn.Module) -> nn.Module:
    """Return the network with random weights, those of norms apart: before training all logits are equal."""
    generator = torch.Generator().manual_seed(0)
    for module in network.modules():
        if not isinstance(module, nn.GroupNorm | nn.RMSNorm):
            for parameter in module.parameters(recurse=False):
                nn.init.normal_(parameter, std=0.3, generator=generator)
    return network


def write_model(config: Config, experiment: str, run: str, data: TokenData, path: Path) -> SavedModel:
    """Write the network of a run with random weights, and return it as it is read again."""
    chosen = config.experiments[experiment].runs[run]
    save_network(path, stirred(new_network(chosen.model, data)), Description.of(run, chosen, data))
    return load_network(path, data, run)
