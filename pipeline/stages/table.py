"""Scores to the table of an experiment."""

from typing import Any

from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Csv, Markdown, Numbers, OptionalInputs


def settings(job: Job) -> dict[str, Any]:
    """Return what the table of an experiment depends on besides scores."""
    return {"runs": list(job.block.runs), "references": job.block.references, "paper": job.block.paper}


@stage(settings=settings)
def table(job: Job, *, csv: Csv, markdown: Markdown, numbers: Numbers, scores: OptionalInputs = ()) -> None:
    """Make the table of an experiment.

    Reads scores. Writes one row a run and reference, beside the paper's. A run without scores is shown as not run.

    Args:
        scores: scores from `score`
    """
    from pipeline.report.tables import make_table
    from pipeline.store.provenance import write_provenance

    names = [*job.block.runs, *job.block.references]
    make_table(names, job.block.paper, scores=scores, table=csv, markdown=markdown, numbers=numbers)
    described = {"experiment": job.experiment, "runs": names}
    write_provenance([csv, markdown, numbers], described, job.config.seed, scores)
