"""Scores to the table of an experiment's sweeps."""

from typing import Any

from pipeline.stages.declaration import Plot, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Csv, Markdown, Numbers, OptionalInputs


def settings(job: Job) -> dict[str, Any]:
    """Return what the table of an experiment's sweeps depends on besides scores."""
    return {"runs": list(job.block.runs), "paper": job.block.paper}


def plot(job: Job) -> Plot:
    """Return the distances by the scale of guidance, if that is swept, or else by the number of evaluations."""
    by = "guidance" if any(sweep.guidance for sweep in job.block.sweep) else "NFE"
    return Plot(by, "frechet_distance", f"{job.experiment}: Fréchet distance by {by}", "scatter")


@stage(settings=settings, when=lambda job: job.is_images, plot=plot)
def sweeps(job: Job, *, csv: Csv, markdown: Markdown, numbers: Numbers, scores: OptionalInputs = ()) -> None:
    """Make the table of an experiment's sweeps.

    Reads scores. Writes the distance of each network by the number of steps and by the scale of guidance.

    Args:
        scores: scores from `score`
    """
    from pipeline.images.sweeps import make_sweep_table
    from pipeline.store.provenance import write_provenance

    make_sweep_table(job.block.paper, scores=scores, table=csv, markdown=markdown, numbers=numbers)
    write_provenance([csv, markdown, numbers], {"experiment": job.experiment}, job.config.seed, scores)
