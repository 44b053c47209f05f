from pathlib import Path

from pipeline.commands.generators import of_run, of_weights
from pipeline.commands.given import Given
from pipeline.stages.parameters import Gpus, OutputFolder, Positive, Seed


def generate_text(
    given: Given,
    *,
    output: OutputFolder,
    weights: str | None = None,
    run: str | None = None,
    experiment: str | None = None,
    prefix: str | None = None,
    middle: str | None = None,
    suffix: str | None = None,
    count: Positive = 4,
    steps: Positive | None = None,
    seed: Seed = 0,
    tokens: Path | None = None,
    gpus: Gpus = 0,
) -> None:
    """Generate text, from nothing or around given parts.

    The given parts are kept, token by token.

    Args:
        output: folder to write texts.txt and texts.jsonl to
        weights: weights that come with the project, by name; a folder of weights; hub:user/name; or, for a run of the
            configuration, a file from `train` (default: that of the results)
        run: trained run of the configuration, without weights that bring their own
        experiment: experiment of the configuration (default: text)
        prefix: how every text begins
        middle: what every text has in the middle
        suffix: how every text ends
        count: number of texts
        steps: network evaluations (default: those of the run's sampling)
        tokens: tokens from `prepare` (default: those of the scale's results)
    """
    from pipeline.text.generation import generate_text

    own = of_weights(given, weights, "generate-text", experiment, run) if weights else None
    found = own or of_run(given, experiment or "text", run, tokens, weights, None)
    parts = {"prefix": prefix, "middle": middle, "suffix": suffix}
    generate_text(
        found.config,
        found.experiment,
        found.run,
        tokens=tokens or found.tokens,
        weights=found.weights,
        given={name: text for name, text in parts.items() if text},
        count=count,
        steps=steps,
        seed=seed,
        gpus=gpus,
        output=output,
    )
