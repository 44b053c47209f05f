from pipeline.stages.declaration import Plot, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Csv, Markdown, Numbers, Scores


@stage(
    settings=lambda job: {"seeds": job.block.seed_runs},
    when=lambda job: bool(job.block.seeds),
    plot=lambda job: Plot("value", "run", f"{job.experiment}: means over seeds", "bar_horizontal"),
)
def seeds(job: Job, *, csv: Csv, markdown: Markdown, numbers: Numbers, scores: Scores = ()) -> None:
    """Make the table of an experiment's means over seeds.

    Reads scores. Writes the mean of each run over its seeds, the differences of runs, and whether they are chance.
    """
    from pipeline.report.seeds import make_seed_table

    make_seed_table(job.block.seed_runs, scores=scores, csv=csv, markdown=markdown, numbers=numbers)
    job.record([csv, markdown, numbers], {"experiment": job.experiment}, scores)
