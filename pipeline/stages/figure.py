from typing import Any

from pipeline.config.plugins import FIGURES
from pipeline.errors import KinoflowError
from pipeline.stages.declaration import Plot, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Inputs, NewPicture, OptionalInputs, Tokens


def settings(job: Job) -> dict[str, Any]:
    """Return what the figure of an experiment depends on besides samples."""
    figure = job.block.figure.model_dump(mode="json") if job.block.figure else None
    return {"runs": list(job.block.runs), "references": job.block.references, "figure": figure}


@stage(
    settings=settings,
    chosen=lambda job: [FIGURES.module(job.block.figure.name)],
    when=lambda job: job.block.figure is not None,
    plot=lambda job: Plot(),
)
def figure(
    job: Job,
    *,
    samples: Inputs,
    tokens: Tokens,
    output: NewPicture,
    structures: OptionalInputs = (),
    relaxed: OptionalInputs = (),
    scores: OptionalInputs = (),
    pictures: OptionalInputs = (),
) -> None:
    """Draw the figure of an experiment.

    Reads samples and tokens. Writes a picture.

    Args:
        samples: samples of runs and references
        structures: tables from `assess` in the order of the samples, for crystals only
        relaxed: tables from `gather-relaxed` in the order of the samples, for crystals only
        scores: scores in the order of the samples
        pictures: pictures in the order of the samples, for images only
    """
    from pipeline.report.exhibit import Exhibit
    from pipeline.sampling.samples import SampleSet
    from pipeline.store.atomic import read_json, replacing
    from pipeline.store.parquet import read_table
    from pipeline.tokens.token_data import TokenData

    choice = job.block.figure
    if choice is None:
        known = ", ".join(FIGURES.names())
        raise KinoflowError(f"experiments.{job.experiment}.figure: none is set; name one of {known}")
    chosen = FIGURES.chosen(choice)
    plugin, options = chosen.plugin, chosen.options
    further = {"structures": structures, "relaxed": relaxed, "scores": scores, "pictures": pictures}
    for flag, paths in further.items():
        if paths and len(paths) != len(samples):
            raise KinoflowError(f"--{flag}: {len(paths)} files for {len(samples)} of --samples; give one for each")
    exhibits = [
        Exhibit(
            SampleSet.load(path, with_tokens=plugin.TOKENS),
            {flag: read_table(further[flag][number]) for flag in ("structures", "relaxed") if further[flag]},
            read_json(scores[number])["metrics"] if scores else None,
            pictures[number] if pictures else None,
        )
        for number, path in enumerate(samples)
    ]
    drawing = plugin.draw(exhibits, TokenData.load(tokens), options)
    with replacing(output) as temporary:
        drawing.savefig(temporary, format="png", metadata={"Software": None}, dpi=options.dpi)
    inputs = [tokens, *samples, *(path for paths in further.values() for path in paths)]
    job.record([output], {"figure": choice.model_dump()}, inputs)
