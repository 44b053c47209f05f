from pathlib import Path

from pipeline.commands.generators import of_run, of_weights
from pipeline.commands.given import Given
from pipeline.stages.parameters import Gpus, OutputFolder, Positive, Seed, Tokenizer


def generate_images(
    given: Given,
    *,
    output: OutputFolder,
    weights: str | None = None,
    run: str | None = None,
    experiment: str | None = None,
    label: str | None = None,
    count: Positive = 16,
    steps: Positive | None = None,
    guidance: float | None = None,
    seed: Seed = 0,
    tokens: Path | None = None,
    tokenizer: Tokenizer = None,
    gpus: Gpus = 0,
) -> None:
    """Generate images, of a class if the network is class-conditional.

    Writes PNG files and a grid of them.

    Args:
        output: folder to write images.zip and grid.png to
        weights: weights that come with the project, by name; a folder of weights; hub:user/name; or, for a run of the
            configuration, a file from `train` (default: that of the results)
        run: trained run of the configuration, without weights that bring their own
        experiment: experiment of the configuration (default: latents)
        label: class of all images, its name or number (default: each class in turn)
        count: number of images
        steps: network evaluations (default: those of the run's sampling)
        guidance: scale of guidance (default: that of the run's sampling)
        tokens: tokens (default: those of the scale's results)
    """
    from pipeline.images.generation import generate_images

    own = of_weights(given, weights, "generate-images", experiment, run) if weights else None
    found = own or of_run(given, experiment or "latents", run, tokens, weights, tokenizer)
    generate_images(
        found.config,
        found.experiment,
        found.run,
        tokens=tokens or found.tokens,
        weights=found.weights,
        tokenizer=tokenizer or found.tokenizer,
        label=label,
        count=count,
        steps=steps,
        guidance=guidance,
        seed=seed,
        gpus=gpus,
        output=output,
    )
