from typing import Any

from pipeline.stages.declaration import Plot, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Csv, Markdown, Numbers, Scores


def settings(job: Job) -> dict[str, Any]:
    """Return what the table of an experiment depends on besides scores."""
    return {
        "runs": list(job.block.runs),
        "references": job.block.references,
        "paper": job.block.paper,
        "data": job.block.data.subject,
    }


def plot(job: Job) -> Plot:
    """Return a bar a row: the headline of the experiment."""
    column = job.headline()
    title = f"{job.experiment}: {column.replace('_', ' ')}"
    return Plot(column, "run", title, "bar_horizontal") if column else Plot()


@stage(settings=settings, when=lambda job: bool(job.block.runs), plot=plot)
def table(job: Job, *, csv: Csv, markdown: Markdown, numbers: Numbers, scores: Scores = ()) -> None:
    """Make the table of an experiment.

    Reads scores. Writes one row per run and reference, in full as CSV, and the figures that matter as Markdown. The
    paper's figures have columns of their own. A run without scores is "not run".
    """
    from pipeline.report.tables import make_table

    names = [*job.block.runs, *job.block.references]
    paper, data = job.block.paper, job.block.data.subject
    make_table(names, paper, data=data, scores=scores, table=csv, markdown=markdown, numbers=numbers)
    job.record([csv, markdown, numbers], {"experiment": job.experiment, "runs": names}, scores)
