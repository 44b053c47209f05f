"""What the training of an experiment's tokenizer starts from: its settings, its description, and the networks."""

from pathlib import Path

from pipeline.config import Config, Tokenizer
from pipeline.config.plugins import DATASETS
from pipeline.errors import KinoflowError
from pipeline.images.discriminator import new_discriminator
from pipeline.images.imagedata import ImageData
from pipeline.images.perceptual import Lpips
from pipeline.images.quantiser import processes
from pipeline.images.tokenizer import Description
from pipeline.images.vqgan import VQGAN
from pipeline.images.vqvae import VQVAE, check_side


def tokenizer_of(config: Config, experiment: str) -> Tokenizer:
    """Return the settings of an experiment's tokenizer; raise if it has none."""
    if (chosen := config.experiments[experiment].tokenizer) is None:
        raise KinoflowError(f"experiments.{experiment}.tokenizer: there is none; add the block")
    return chosen


def describe(config: Config, experiment: str, data: ImageData) -> Description:
    """Return the description of an experiment's tokenizer."""
    choice, network = config.experiments[experiment].data, tokenizer_of(config, experiment).network
    options = DATASETS.options(choice.name, choice.options)
    if not hasattr(options, "codes"):
        raise KinoflowError(f"experiments.{experiment}.data: {choice.name!r} has no codes; remove the key `tokenizer`")
    check_side(data.crop, network)
    return Description(
        experiment=experiment,
        network=network,
        codes=options.codes,
        levels=data.levels,
        side=data.crop,
        channels=data.grid[-1],
        seed=config.seed,
    )


def new_vqgan(chosen: Tokenizer, description: Description, needed: list[Path]) -> VQGAN:
    """Return an untrained tokenizer and what it is trained with; `needed` are the files of LPIPS, if any."""
    loss, network = chosen.loss, description.network
    images_at_once = chosen.training.batch // chosen.training.parts * processes()
    places = (description.side // network.down) ** 2 * images_at_once
    return VQGAN(
        VQVAE(network, description.codes, description.channels, loss.commitment, places),
        loss,
        chosen.training.batch,
        Lpips.load(needed[0], loss.perceptual_network) if needed else None,
        new_discriminator(loss, description.channels, description.side),
    )
