from typing import Any

from pipeline.errors import KinoflowError
from pipeline.stages.declaration import Plot, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Csv, Inputs, Markdown, Numbers
from pipeline.stages.predicting import all_predictions, common_seed, prediction_of, predicts, runs_that_predict


def settings(job: Job) -> dict[str, Any]:
    """Return what the table depends on besides matches: what it says of the runs and of the data."""
    said = {name: {"path": run.path is not None, "seed": run.seed} for name, run in job.block.runs.items()}
    for one in runs_that_predict(job):
        sampling = prediction_of(one).sampling_of(one.run)
        said[one.name] |= sampling.model_dump(mode="json", include={"steps", "temperature"})
    return {
        "seed": job.config.seed,
        "data": job.block.data.name,
        "said": prediction_of(job).model_dump(include={"split", "pick", "samples"}),
        "runs": said,
    }


def plot(job: Job) -> Plot:
    """Return the match rates, a bar a row."""
    return Plot("match_rate", "label", f"{job.experiment}: match rate in percent", "bar_horizontal")


@stage(settings=settings, when=predicts, plot=plot)
def prediction_table(job: Job, *, matches: Inputs, csv: Csv, markdown: Markdown, numbers: Numbers) -> None:
    """Make the table of structure prediction.

    Reads matches. Writes match rates and distances of each run, beside published ones.

    Args:
        matches: tables from `match-predictions`, named for their runs and references
    """
    from pipeline.crystals.prediction_table import write_prediction_table

    named, known = {path.stem: path for path in matches}, [one.name for one in all_predictions(job)]
    if strangers := [str(named[name]) for name in named if name not in known]:
        raise KinoflowError(f"--matches {strangers[0]}: not named for a prediction; there are {', '.join(known)}")
    found = {name: named[name] for name in known if name in named}
    seed = common_seed(job)
    write_prediction_table(job.block, seed, matches=found, csv=csv, markdown=markdown, numbers=numbers)
    job.record([csv, markdown, numbers], settings(job), matches)
