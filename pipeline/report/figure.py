"""The stage that draws an experiment's figure."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pipeline.config import Config
from pipeline.config.plugins import FIGURES
from pipeline.errors import KinoflowError
from pipeline.images.pictures import Pictures
from pipeline.report.exhibit import Exhibit
from pipeline.sampling.samples import SampleSet
from pipeline.store.atomic import read_json, replacing
from pipeline.store.parquet import read_table
from pipeline.store.provenance import write_provenance
from pipeline.tokens.token_data import TokenData


def make_figure(
    config: Config,
    experiment: str,
    *,
    samples: Sequence[Path],
    structures: Sequence[Path] = (),
    relaxed: Sequence[Path] = (),
    scores: Sequence[Path] = (),
    pictures: Sequence[Path] = (),
    tokens: Path,
    output: Path,
) -> None:
    """Write the figure of the samples of an experiment's runs and references; those of crystals have tables, too.

    `scores` are given, in the order of the samples, for a figure that shows them, and of images their `pictures`.
    """
    choice = config.experiments[experiment].figure
    if choice is None:
        raise KinoflowError(f"experiments.{experiment}.figure: none is set; name one of {', '.join(FIGURES.names())}")
    shows_tokens = getattr(FIGURES.load(choice.name), "TOKENS", True)
    exhibits = [Exhibit(SampleSet.load(path, with_tokens=shows_tokens)) for path in samples]
    if structures:
        tables = zip(exhibits, map(read_table, structures), map(read_table, relaxed), strict=True)
        exhibits = [Exhibit(exhibit.samples, known, after) for exhibit, known, after in tables]
    if scores:
        measured = (read_json(path)["metrics"] for path in scores)
        exhibits = [replace(exhibit, scores=found) for exhibit, found in zip(exhibits, measured, strict=True)]
    if pictures:
        shown = map(Pictures.load, pictures)
        exhibits = [replace(exhibit, pictures=found) for exhibit, found in zip(exhibits, shown, strict=True)]
    options = FIGURES.options(choice.name, choice.options)
    drawing = FIGURES.load(choice.name).draw(exhibits, TokenData.load(tokens), options)
    with replacing(output) as temporary:
        drawing.savefig(temporary, format="png", metadata={"Software": None}, dpi=options.dpi)
    inputs = [tokens, *samples, *structures, *relaxed, *scores, *pictures]
    write_provenance([output], {"figure": choice.model_dump()}, config.seed, inputs)
