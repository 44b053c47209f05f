from collections.abc import Iterator
from typing import Any

from pipeline.stages.declaration import LOSSES, stage
from pipeline.stages.job import Job, Need
from pipeline.stages.parameters import CheckpointFolder, EventFolder, Gpus, History, Images, Metrics, NewWeights, Nodes


def settings(job: Job) -> dict[str, Any]:
    """Return what the tokenizer of an experiment depends on besides its images.

    The averages of the codebook depend on the number of devices.
    """
    tokenizer = job.tokenizer.model_dump(mode="json", exclude={"training": {"resources", "checkpoint_every"}})
    return {"seed": job.config.seed, "codes": job.block.data.options.get("codes"), "tokenizer": tokenizer}


def needs(job: Job) -> Iterator[Need]:
    """Yield the network that compares images during training."""
    yield Need(f"experiments.{job.experiment}.tokenizer.loss.perceptual", tuple(job.tokenizer.loss.files))


@stage(
    settings=settings, needs=needs, resources="tokenizer.training.resources", when=Job.of_codes, plot=lambda job: LOSSES
)
def train_tokenizer(
    job: Job,
    *,
    images: Images,
    checkpoints: CheckpointFolder,
    weights: NewWeights,
    metrics: Metrics,
    history: History,
    events: EventFolder = None,
    gpus: Gpus = 0,
    nodes: Nodes = 1,
) -> None:
    """Train the VQVAE that turns images into codes.

    Reads prepared images. Writes the averaged weights, metrics and history. Resumes from the latest checkpoint.
    """
    import torch

    from pipeline.images.imagedata import ImageData
    from pipeline.images.tokenizer import SavedTokenizer
    from pipeline.images.vqgan import VQGAN, TokenizerObjective, describe, new_vqgan
    from pipeline.store.atomic import write_json
    from pipeline.store.provenance import settings_hash
    from pipeline.store.seeds import derive_seed
    from pipeline.training.checkpoint import Checkpoints
    from pipeline.training.history import TensorBoardLog, write_history
    from pipeline.training.loop import fit
    from pipeline.training.processes import new_fabric, start_processes

    start_processes(gpus, nodes)
    chosen, data = job.tokenizer, ImageData.load(images)
    seed = derive_seed(job.config.seed, job.experiment, "tokenizer")
    description = describe(job.config, job.experiment, data)
    needed = [job.cache / name for name in chosen.loss.files]
    inputs = [images, *needed]

    # Before it begins, the discriminator has no gradients.
    fabric = new_fabric(chosen.training, gpus, "tokenizer.training.resources.gpus", unused=True)
    fabric.launch()
    torch.manual_seed(derive_seed(seed, "weights"))
    network = new_vqgan(chosen, description, needed)  # it must know how many processes train it
    without = ["tokenizer.training.steps"] if chosen.training.can_grow else []
    made_from = train_tokenizer.fingerprint(job, inputs, without)
    made_from = settings_hash({"made_from": made_from, "devices": chosen.training.resources.devices})
    with TensorBoardLog(events) as log:
        fitted = fit(
            fabric,
            network,
            TokenizerObjective(data.levels, data.crop, data.augmentation),
            data.images["train"],
            data.images["validation"],
            chosen.training,
            seed,
            Checkpoints(checkpoints, made_from),
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
        described = {"tokenizer": tokenizer, "codes": description.codes, "devices": fabric.world_size}
        job.record([weights, metrics, history], described, inputs)
