from pathlib import Path

from pipeline.commands.given import Given
from pipeline.errors import KinoflowError
from pipeline.stages.parameters import Gpus, OutputFolder, Positive, Run, Seed, Tokenizer
from pipeline.store.places import Place


def generate_images(
    given: Given,
    *,
    run: Run,
    output: OutputFolder,
    experiment: str = "latents",
    label: str | None = None,
    count: Positive = 16,
    steps: Positive | None = None,
    guidance: float | None = None,
    seed: Seed = 0,
    tokens: Path | None = None,
    weights: Path | None = None,
    tokenizer: Tokenizer = None,
    gpus: Gpus = 0,
) -> None:
    """Generate images, of a class if the network is class-conditional.

    Reads tokens and weights of a finished run. Writes PNG files and a grid of them.

    Args:
        output: folder to write images.zip and grid.png to
        experiment: name of the experiment
        label: class of all images, its name or number (default: each class in turn)
        count: number of images
        steps: network evaluations (default: those of the run's sampling)
        guidance: scale of guidance (default: that of the run's sampling)
        tokens: tokens (default: those of the scale's results)
        weights: weights from `train` (default: those of the scale's results)
    """
    from pipeline.images.generation import generate_images

    job = given.job(experiment, run)
    tokens, weights = given.trained(job, tokens, weights)
    if tokenizer is None and job.block.tokenizer is not None:
        tokenizer = Place.TOKENIZER.under(given.results, ".safetensors", experiment=experiment)
        if not tokenizer.is_file():
            raise KinoflowError(f"{tokenizer}: no such file; train the tokenizer, or name another file")
    generate_images(
        given.config,
        experiment,
        run,
        tokens=tokens,
        weights=weights,
        tokenizer=tokenizer,
        label=label,
        count=count,
        steps=steps,
        guidance=guidance,
        seed=seed,
        gpus=gpus,
        output=output,
    )
