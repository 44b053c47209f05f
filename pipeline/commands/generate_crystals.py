from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pipeline.commands.generators import of_run, of_weights
from pipeline.commands.given import Given
from pipeline.errors import KinoflowError, did_you_mean
from pipeline.stages.parameters import Gpus, OptionalInput, OutputFolder, Positive, Seed, Texts


def generate_crystals(
    given: Given,
    *,
    output: OutputFolder,
    weights: str | None = None,
    run: str | None = None,
    experiment: str | None = None,
    formula: str | None = None,
    units: Positive | None = None,
    chemical_system: str | None = None,
    elements: Texts = (),
    exclude: Texts = (),
    atoms: str | None = None,
    charge_neutral: Annotated[bool, Parameter(negative=())] = False,
    template: OptionalInput = None,
    keep: Texts = (),
    count: Positive = 32,
    seed: Seed = 0,
    tokens: Path | None = None,
    gpus: Gpus = 0,
) -> None:
    """Generate crystals to order.

    Give a formula, limits on elements and atoms, parts of a template, several of these, or nothing. A trained network
    fills in the rest, and no crystal breaks the order. How many atoms there are follows the training set, within the
    limits.

    Args:
        output: folder for crystals.parquet, crystals.extxyz and crystals.zip
        weights: weights that come with the project, by name; a folder of weights; hub:user/name; or, for a run of the
            configuration, a file from `train` (default: that of the results)
        run: trained run of the configuration, without weights that bring their own; one without a path takes limits on
            elements and atoms only
        experiment: experiment of the configuration (default: the one on crystals)
        formula: composition to fix, e.g. LiFePO4
        units: formula units per cell (default: every number that fits, in turn)
        chemical_system: the only elements that may occur, all or some of them, e.g. Li-P-S
        elements: elements that every crystal contains, each given to one of its atoms; others may occur
        exclude: elements that no crystal contains
        atoms: number of atoms, e.g. 8 or 4-12 (default: any)
        charge_neutral: fix neutral compositions, by the oxidation states of SMACT (2014), where single elements and
            alloys count as neutral; those of the chemical system (each with the weight 1 + its count in the training
            set), or else of the training set
        template: structure whose parts are fixed (.cif, .extxyz)
        keep: parts of the template to fix: composition, lattice, sites; of some atoms, counted from 1, like sites:1-4,7
            (default: composition); the network sees numbers rounded to tokens (0.1 A, 1 degree, 0.01 of a side), but
            the crystals that are written have them exactly
        count: crystals to generate
        tokens: tokens from `prepare` (default: those of the results)
    """
    from pipeline.crystals.generation import generate_crystals
    from pipeline.crystals.orders import Order

    order = Order(
        formula=formula,
        units=units,
        template=template,
        keep=keep,
        chemical_system=chemical_system,
        elements=elements,
        exclude=exclude,
        atoms=atoms,
        charge_neutral=charge_neutral,
    )
    own = of_weights(given, weights, "generate-crystals", experiment, run) if weights else None
    found = own or of_run(given, crystal_experiment(given, experiment), run, tokens, weights, None)
    generate_crystals(
        found.config,
        found.experiment,
        found.run,
        order,
        tokens=tokens or found.tokens,
        weights=found.weights,
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
