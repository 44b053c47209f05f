from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from pipeline.commands.given import Given
from pipeline.errors import KinoflowError, did_you_mean
from pipeline.stages.parameters import Count, Gpus, OptionalInput, Output

Kept = Literal["composition", "lattice", "sites"]


def generate_crystals(
    given: Given,
    *,
    run: str,
    output: Output,
    experiment: str | None = None,
    formula: str | None = None,
    units: Count | None = None,
    template: OptionalInput = None,
    keep: Annotated[tuple[Kept, ...], Parameter(consume_multiple=True, negative=())] = ("composition",),
    count: Count = 32,
    seed: int = 0,
    tokens: Path | None = None,
    weights: Path | None = None,
    gpus: Gpus = 0,
) -> None:
    """Generate crystals from a composition or a template.

    Fixes the composition, or parts of the template. A trained run fills in the rest.

    Args:
        run: name of a trained run with a path
        output: folder for crystals.parquet, crystals.extxyz and crystals.zip
        experiment: experiment of the configuration (default: the one on crystals)
        formula: composition to fix, e.g. LiFePO4
        units: formula units per cell (default: every number that fits, in turn)
        template: structure whose parts are fixed, instead of a formula (.cif, .extxyz)
        keep: parts of the template to fix
        count: crystals to generate
        seed: seed of the draws
        tokens: tokens from `prepare` (default: those of the results)
        weights: weights from `train` (default: those of the results)
    """
    from pipeline.crystals.generation import generate_crystals

    name = crystal_experiment(given, experiment)
    if (formula is None) == (template is None):
        raise KinoflowError("give either --formula or --template")
    tokens, weights = given.trained(given.job(name, run), tokens, weights)
    generate_crystals(
        given.config,
        name,
        run,
        tokens=tokens,
        weights=weights,
        formula=formula,
        units=units,
        template=template,
        keep=keep,
        count=count,
        seed=seed,
        gpus=gpus,
        output=output,
    )


def crystal_experiment(given: Given, name: str | None) -> str:
    """Return the named experiment, or the only one on crystals."""
    known = [key for key, experiment in given.config.experiments.items() if experiment.crystals is not None]
    if name is None and len(known) != 1:
        raise KinoflowError(f"--experiment: {given.file} has {len(known)} on crystals ({', '.join(known)}); name one")
    if name is not None and name not in known:
        raise KinoflowError(f"--experiment {name!r}: not one on crystals in {given.file}; {did_you_mean(name, known)}")
    return name or known[0]
