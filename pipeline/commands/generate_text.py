from pathlib import Path

from pipeline.commands.given import Given
from pipeline.stages.parameters import Gpus, OutputFolder, Positive, Run, Seed


def generate_text(
    given: Given,
    *,
    run: Run,
    output: OutputFolder,
    experiment: str = "text",
    prefix: str | None = None,
    middle: str | None = None,
    suffix: str | None = None,
    count: Positive = 4,
    steps: Positive | None = None,
    seed: Seed = 0,
    tokens: Path | None = None,
    weights: Path | None = None,
    gpus: Gpus = 0,
) -> None:
    """Generate text, from nothing or around given parts.

    Reads tokens and weights of a finished run. Writes texts. The given parts are kept, token by token.

    Args:
        output: folder to write texts.txt and texts.jsonl to
        experiment: name of the experiment
        prefix: how every text begins
        middle: what every text has in the middle
        suffix: how every text ends
        count: number of texts
        steps: network evaluations (default: those of the run's sampling)
        tokens: tokens from `prepare` (default: those of the scale's results)
        weights: weights from `train` (default: those of the scale's results)
    """
    from pipeline.text.generation import generate_text

    tokens, weights = given.trained(given.job(experiment, run), tokens, weights)
    parts = {"prefix": prefix, "middle": middle, "suffix": suffix}
    generate_text(
        given.config,
        experiment,
        run,
        tokens=tokens,
        weights=weights,
        given={name: text for name, text in parts.items() if text},
        count=count,
        steps=steps,
        seed=seed,
        gpus=gpus,
        output=output,
    )
