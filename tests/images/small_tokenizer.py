"""A small tokenizer of images to be trained, and images for it."""

from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric

from pipeline.config import Config, Tokenizer, Training
from pipeline.images.imagedata import Augmentation, ImageData
from pipeline.images.tokenizer import Description, SavedTokenizer
from pipeline.images.vqgan import VQGAN, TokenizerObjective, new_discriminator
from pipeline.images.vqvae import VQVAE
from pipeline.training.checkpoint import Checkpoints
from pipeline.training.loop import Fitted, fit

NETWORK = {"channels": 8, "multipliers": (1, 2), "blocks": 1, "latent": 8, "code_features": 4}
LOSS = {
    "perceptual": 0.0,
    "adversarial": 0.5,
    "adversarial_from": 3,
    "discriminator_channels": 4,
    "discriminator_layers": 1,
}


def stripes(levels: int = 17, side: int = 8, crop: int = 8, augmentation: Augmentation = "none") -> ImageData:
    """Return images of bright stripes, each in a place of its own."""
    images = torch.zeros(40, side, side, 1, dtype=torch.uint8)
    for number, image in enumerate(images):
        image[number % side, :] = levels - 1 - number % 3
        image[:, number * 3 % side] = levels // 2
    splits = {"train": images[:28], "validation": images[28:34], "test": images[34:]}
    labels = {split: torch.arange(len(part)) % 2 for split, part in splits.items()}
    return ImageData(splits, labels, ("one", "other"), levels, crop, augmentation, {"name": "stripes"})


def settings(**loss: Any) -> Tokenizer:
    """Return a small tokenizer's settings, with changes to its loss."""
    training = {"steps": 8, "batch": 8, "learning_rate": 0.002, "log_every": 1, "validate_every": 4, "ema": 0.5}
    return Tokenizer.model_validate({"network": NETWORK, "loss": LOSS | loss, "training": training})


def network(chosen: Tokenizer, codes: int = 6) -> VQGAN:
    """Return the untrained network of settings, always the same."""
    torch.manual_seed(0)
    return VQGAN(
        VQVAE(chosen.network, codes, 1, chosen.loss.commitment, at_once=128),
        chosen.loss,
        chosen.training.batch,
        discriminator=new_discriminator(chosen.loss, 1, 8),
    )


def train(
    folder: Path, chosen: Tokenizer, objective: Any = None, fabric: Fabric | None = None, **training: Any
) -> Fitted:
    """Train on stripes from the latest checkpoint in a folder on."""
    data = stripes()
    return fit(
        fabric or Fabric(accelerator="cpu", devices=1),
        network(chosen),
        objective or TokenizerObjective(data.levels, data.crop, data.augmentation),
        data.images["train"],
        data.images["validation"],
        Training.model_validate(chosen.training.model_dump() | training),
        seed=3,
        checkpoints=Checkpoints(folder, "a"),
    )


def tokenizer(codebook: torch.Tensor, data: ImageData) -> SavedTokenizer:
    """Return an untrained tokenizer with a given codebook."""
    chosen = settings()
    vqvae = network(chosen, len(codebook)).vqvae.eval()
    vqvae.quantiser.quantise.codebook = codebook
    description = Description(
        experiment="stripes",
        network=chosen.network,
        codes=len(codebook),
        levels=data.levels,
        side=data.crop,
        channels=1,
        seed=0,
    )
    return SavedTokenizer(vqvae, description)


def config(folder: Path, **changes: Any) -> Config:
    """Return a configuration with an experiment on the codes of digits."""
    experiment = {
        "data": {"name": "codes", "images": {"name": "digits"}, "codes": 6},
        "tokenizer": settings().model_dump() | changes,
        "model": {"name": "mlp"},
        "scoring": {},
        "runs": {"mask": {"path": {"name": "mask"}, "loss": "cross_entropy", "model": {"name": "mlp"}}},
    }
    return Config.model_validate(
        {"scale": "tiny", "data": {"cache": str(folder)}, "experiments": {"latents": experiment}}
    )
