from pathlib import Path

from pipeline.commands.generate_crystals import crystal_experiment
from pipeline.commands.given import Given
from pipeline.stages.parameters import OptionalOutput, OutputFolder, Positive


def calibrate_models(
    given: Given,
    path: Path,
    *,
    title: str,
    journal: OutputFolder,
    experiment: str | None = None,
    count: Positive = 2000,
    output: OptionalOutput = None,
) -> None:
    """Measure the errors of energy models, from which the uncertainty of energies follows.

    The models are those of an experiment on crystals: its energy model and its judges. Reads structures with known
    formation energies. Writes the errors by model and chemistry, and keeps those of other models in the file. Resumes
    where an earlier call stopped.

    Args:
        path: structures with formation energies, such as a .csv.gz of MP-20
        title: what the structures are, for readers of the file
        journal: folder of finished energies, removed when all are finished
        experiment: experiment of the configuration (default: the one on crystals)
        count: structures to draw
        output: file to write (.json; default: the one that the package reads)
    """
    from pipeline.crystals.energy_model import EnergyModel
    from pipeline.crystals.model_errors import measure_models
    from pipeline.crystals.uncertainty import TABLE

    name = crystal_experiment(given, experiment)
    crystals = given.config.experiments[name].crystals
    assert crystals is not None  # it is an experiment on crystals
    measure_models(
        [EnergyModel.of(choice) for choice in (crystals.energy_model, *crystals.judges)],
        crystals,
        given.config.seed,
        path=path,
        title=title,
        count=count,
        journal=journal,
        output=output or TABLE,
    )
