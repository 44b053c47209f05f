from pipeline.stages.declaration import Plot, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Csv, Markdown, Numbers, Scores


def plot(job: Job) -> Plot:
    """Return the distances by the scale of guidance, if that is swept, or else by the number of evaluations."""
    by = "guidance" if any(sweep.guidance for sweep in job.block.sweep) else "NFE"
    return Plot(by, "frechet_distance", f"{job.experiment}: Fréchet distance by {by}", "scatter")


@stage(
    settings=lambda job: {"runs": list(job.block.runs), "paper": job.block.paper},
    when=lambda job: job.is_images,
    plot=plot,
)
def sweeps(job: Job, *, csv: Csv, markdown: Markdown, numbers: Numbers, scores: Scores = ()) -> None:
    """Make the table of an experiment's sweeps.

    Reads scores. Writes the distance of each network by the number of steps and by the scale of guidance.
    """
    from pipeline.images.sweeps import make_sweep_table

    make_sweep_table(job.block.paper, scores=scores, table=csv, markdown=markdown, numbers=numbers)
    job.record([csv, markdown, numbers], {"experiment": job.experiment}, scores)
