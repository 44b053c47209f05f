"""The stage that trains an experiment's tokenizer: from images to a VQVAE, metrics and the history of the training."""

from pathlib import Path

import torch

from pipeline.config import Config, Tokenizer
from pipeline.config.plugins import DATASETS
from pipeline.errors import KinoflowError
from pipeline.images.discriminator import new_discriminator
from pipeline.images.imagedata import ImageData
from pipeline.images.perceptual import Lpips
from pipeline.images.quantiser import processes
from pipeline.images.tokenizer import Description, SavedTokenizer
from pipeline.images.vqgan import VQGAN, TokenizerObjective
from pipeline.images.vqvae import VQVAE, check_side
from pipeline.store.atomic import write_json
from pipeline.store.fingerprint import fingerprint
from pipeline.store.provenance import write_provenance
from pipeline.store.seeds import derive_seed
from pipeline.training.checkpoint import WITHOUT_EFFECT, Checkpoints
from pipeline.training.history import write_history
from pipeline.training.loop import fit
from pipeline.training.processes import new_fabric
from pipeline.training.tensorboard import TensorBoardLog


def train_tokenizer(
    config: Config,
    experiment: str,
    *,
    images: Path,
    checkpoints: Path,
    gpus: int,
    weights: Path,
    metrics: Path,
    history: Path,
    events: Path | None = None,
    cache: Path | None = None,
) -> None:
    """Train a tokenizer and write its weights (the moving average), its metrics (JSON) and its history (CSV).

    `events` is the folder for TensorBoard, `cache` that of the files that LPIPS needs; None: the configuration's.
    """
    chosen, data = tokenizer_of(config, experiment), ImageData.load(images)
    seed = derive_seed(config.seed, experiment, "tokenizer")
    description = describe(config, experiment, data)
    needed = [(cache or Path(config.data.cache)) / name for name in chosen.loss.files]

    # Before it begins, the discriminator has no gradients.
    fabric = new_fabric(chosen.training, gpus, "tokenizer.training.resources.gpus", unused=True)
    fabric.launch()
    torch.manual_seed(derive_seed(seed, "weights"))
    network = new_vqgan(chosen, description, needed)  # it has to know how many processes train it
    with TensorBoardLog(events) as log:
        fitted = fit(
            fabric,
            network,
            TokenizerObjective(data.levels, data.crop, data.augmentation),
            data.images["train"],
            data.images["validation"],
            chosen.training,
            seed,
            Checkpoints(checkpoints, fingerprint_of(description, chosen, data, [images, *needed])),
            on_checkpoint=lambda rows: write_history(history, rows),
            on_row=log.write,
        )
    if fabric.is_global_zero:
        averaged = fitted.network
        assert isinstance(averaged, VQGAN)
        SavedTokenizer(averaged.vqvae, description).save(weights)
        write_history(history, fitted.history)
        last = fitted.history[-1]
        parameters = {"parameters": sum(parameter.numel() for parameter in averaged.vqvae.parameters())}
        write_json(metrics, {key: last[key] for key in ("step", "loss", "validation_loss")} | parameters)
        tokenizer = chosen.model_dump(mode="json", exclude={"training": {"resources"}})
        settings = {"tokenizer": tokenizer, "codes": description.codes, "devices": fabric.world_size}
        write_provenance([weights, metrics, history], settings, config.seed, [images, *needed])


def tokenizer_of(config: Config, experiment: str) -> Tokenizer:
    """Return how the images of an experiment become codes."""
    if (chosen := config.experiments[experiment].tokenizer) is None:
        raise KinoflowError(f"experiments.{experiment}.tokenizer: there is none; add the block")
    return chosen


def describe(config: Config, experiment: str, data: ImageData) -> Description:
    """Return the description of the tokenizer of an experiment."""
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


def fingerprint_of(description: Description, chosen: Tokenizer, data: ImageData, inputs: list[Path]) -> str:
    """Return a hash of all that decides the weights after a given step: settings, data and code."""
    settings = description.model_dump(mode="json") | chosen.loss.model_dump(mode="json")
    settings |= chosen.training.model_dump(mode="json", exclude=WITHOUT_EFFECT)
    settings |= {"augmentation": data.augmentation, "devices": chosen.training.resources.devices}
    return fingerprint(settings, inputs, "pipeline.images.tokenizer_training")
