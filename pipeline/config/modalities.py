"""The parts of the configuration for one kind of data: crystals, and codes of images."""

from typing import Annotated, Literal

from pydantic import Field

from pipeline.config.base import Resources, Strict
from pipeline.config.runs import Training


class Relaxation(Strict):
    """How crystals are relaxed with CHGNet."""

    count: int = Field(100, ge=0, description="crystals of each run that are relaxed, from the first on")
    steps: int = Field(500, ge=1, description="most steps for one crystal")
    force: float = Field(0.1, gt=0, description="largest force, in eV/A, on an atom of a relaxed crystal")
    seconds: float = Field(600, gt=0, description="most seconds for one crystal")
    workers: int = Field(1, ge=1, description="processes of a job, with one thread each")
    shards: int = Field(1, ge=1, description="jobs the crystals are spread over; does not change the result")
    resources: Resources = Field(Resources(memory_mb=4000), description="what a relaxation job asks of the machine")


class Crystals(Strict):
    """What is done with the samples of an experiment on crystals."""

    relaxation: Relaxation = Field(Relaxation(), description="relaxation with CHGNet")
    workers: int = Field(1, ge=1, description="processes of a job that describes structures")
    resources: Resources = Field(
        Resources(memory_mb=4000, minutes=240), description="what a job that describes structures asks of the machine"
    )
    seconds: float = Field(60, gt=0, description="most seconds for the fingerprints of one structure")
    hull: str | None = Field(
        None, min_length=1, description="computed entries (JSON) for the hull; null: published formation energies"
    )
    calibration: int = Field(200, ge=0, description="test structures on which CHGNet is compared with DFT")


class TokenizerNetwork(Strict):
    """The VQVAE that turns images into codes; each level after the first halves their sides."""

    channels: int = Field(128, ge=1, description="features of a pixel at the first level")
    multipliers: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (1, 1, 2, 2, 4), min_length=1, description="features of each level, as multiples of channels"
    )
    blocks: int = Field(2, ge=1, description="residual blocks of a level")
    latent: int = Field(256, ge=1, description="features of a place before it is quantised")
    code_features: int = Field(8, ge=2, description="features of a code; codes have length one")
    attention: bool = Field(True, description="whether places attend to each other at the last level")
    dropout: float = Field(0.0, ge=0, lt=1, description="share of features dropped in training")

    @property
    def down(self) -> int:
        """How many pixels wide a code is."""
        return int(2 ** (len(self.multipliers) - 1))


class TokenizerLoss(Strict):
    """What the VQVAE is trained for: images like the original, to the pixel, to a network and to a discriminator."""

    pixel: Literal["l1", "l2"] = Field("l2", description="difference of pixels: absolute or squared")
    commitment: float = Field(0.25, ge=0, description="weight of the distance of features from their codes")
    perceptual: float = Field(1.0, ge=0, description="weight of LPIPS; 0: none, and nothing is downloaded")
    perceptual_network: Literal["vgg16", "alexnet"] = Field("vgg16", description="network of LPIPS")
    adversarial: float = Field(0.5, ge=0, description="weight of the discriminator's verdict; 0: no discriminator")
    adversarial_from: int = Field(20000, ge=0, description="optimiser steps before the discriminator begins")
    discriminator_channels: int = Field(64, ge=1, description="features of the discriminator's first layer")
    discriminator_layers: int = Field(3, ge=1, description="layers of the discriminator that halve the sides")

    @property
    def files(self) -> list[str]:
        """The names in the catalogue of the files that it needs."""
        return [f"lpips/{self.perceptual_network}.ckpt"] if self.perceptual else []


class Tokenizer(Strict):
    """How images become codes."""

    network: TokenizerNetwork = Field(TokenizerNetwork(), description="the VQVAE")
    loss: TokenizerLoss = Field(TokenizerLoss(), description="what it is trained for")
    training: Training = Field(Training(), description="how it is trained; a batch is of images")
