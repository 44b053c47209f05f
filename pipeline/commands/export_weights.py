from pathlib import Path

from pipeline.commands.given import Given
from pipeline.stages.parameters import OptionalInput, OutputFolder, Run, Tokenizer


def export_weights(
    given: Given,
    *,
    experiment: str,
    run: Run,
    data: str,
    licence: str,
    limits: str,
    output: OutputFolder,
    scores: OptionalInput = None,
    tokens: Path | None = None,
    weights: Path | None = None,
    tokenizer: Tokenizer = None,
    hub: str | None = None,
) -> None:
    """Write the weights of a run to a folder that others can use with --weights.

    The folder has the network in numbers of 16 bits, what generation needs besides, checksums, and a model card.

    Args:
        experiment: name of the experiment in the configuration
        data: what it was trained on, and under which licence, for the card
        licence: licence of the weights, such as CC-BY-4.0
        limits: what the network should not be used for, for the card
        output: folder to write; its name is that of the weights
        scores: scores for the card, from `score`, `evaluate-crystals` or `evaluate-images`
        tokens: tokens (default: those of the scale's results)
        weights: weights from `train` (default: those of the scale's results)
        hub: repository on the Hugging Face Hub to upload the folder to, user/name (default: none)
    """
    from pipeline.weights.export import About, export
    from pipeline.weights.finding import publish

    job = given.job(experiment, run)
    tokens, weights = given.trained(job, tokens, weights)
    export(
        given.config,
        experiment,
        job.run.weights or run,
        About(data, licence, limits),
        tokens=tokens,
        weights=weights,
        tokenizer=tokenizer or given.tokenizer(job),
        scores=scores,
        output=output,
    )
    print(f"{output}: use it with --weights {output}")
    if hub is not None:
        print(f"{publish(output, hub)}: use it with --weights hub:{hub}")
