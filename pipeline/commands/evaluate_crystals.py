from pathlib import Path

from pipeline.commands.generate_crystals import crystal_experiment
from pipeline.commands.given import Given
from pipeline.config.experiments import Relaxation
from pipeline.errors import KinoflowError
from pipeline.stages.parameters import Count, OptionalInput, OutputFolder, Positive, Texts
from pipeline.store.places import Place


def evaluate_crystals(
    given: Given,
    path: Path,
    *,
    output: OutputFolder,
    experiment: str | None = None,
    relax: Count | None = None,
    relax_steps: Positive | None = None,
    weights: str | None = None,
    rows: OptionalInput = None,
    hull: OptionalInput = None,
    known: Texts | None = None,
    workers: Positive | None = None,
) -> None:
    """Evaluate any crystals, such as those of another model.

    Checks validity, coverage, stability after relaxation, uniqueness and novelty. Writes one row per structure, the
    scores, a summary, and CIFs ranked by energy. Goes on where an earlier call stopped.

    Args:
        path: folder or zip of CIFs, .cif, .extxyz, .csv with a cif column, .parquet
        output: folder for the tables, scores and relaxed crystals
        experiment: experiment of the configuration (default: the one on crystals)
        relax: how many structures to relax, starting with the first (default: all)
        relax_steps: most steps for one crystal (default: the configuration's; with weights: 500)
        weights: weights that generated them, by name, folder or hub:user/name: a structure is new if these were not
            trained on it
        rows: reference structures from `prepare` (default: those of the results)
        hull: hull from `hull` (default: that of the results, or a new one)
        known: groups of the catalogue or files with known crystals, besides the training set (default: what is here of
            the Materials Project: mp88k and matbench_dielectric in the cache or mirror, other splits of the rows)
        workers: processes that describe, relax and match (default: the configuration's)
    """
    from pipeline.crystals.evaluate import evaluate

    if weights is not None:
        rows, relax_steps = training_rows(weights, output, rows), relax_steps or Relaxation().steps
    name = crystal_experiment(given, experiment)
    places = {place: place.under(given.results, experiment=name) for place in (Place.ROWS, Place.HULL)}
    found = {place: file if file.is_file() else None for place, file in places.items()}
    evaluate(
        given.config,
        name,
        path=path,
        relaxed=relax,
        rows=rows or found[Place.ROWS],
        hull=hull or found[Place.HULL],
        output=output,
        known=known,
        workers=workers,
        steps=relax_steps,
    )


def training_rows(name: str, output: Path, rows: Path | None) -> Path:
    """Write the training structures of weights beside the results of an evaluation."""
    from pipeline.crystals.training_rows import write_training_rows
    from pipeline.weights.finding import folder_of
    from pipeline.weights.folder import TOKENS, Weights

    if rows is not None:
        raise KinoflowError("--weights, --rows: both name reference structures; give one of them")
    written = output / "training.parquet"
    write_training_rows(Weights.open(folder_of(name)).file(TOKENS), written)
    return written
