from pathlib import Path
from typing import Any

from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Csv, Markdown, Numbers, Output
from pipeline.store.code import modules_named


def settings(job: Job) -> dict[str, Any]:
    """Return what the errors of samplers depend on."""
    bench = job.oracle.model_dump(mode="json", exclude={"resources", "few", "many"})
    return {"seed": job.config.seed, "data": job.block.data.model_dump(mode="json"), "oracle": bench}


def modules(job: Job) -> list[str]:
    """Return the modules of the data set, and of all paths, velocities and schemes."""
    bench = job.oracle
    chosen = [choice for block in bench.rows for choice in (*block.velocity, *block.scheme)]
    return job.data.modules + modules_named(*bench.paths.values(), *chosen)


@stage(settings=settings, chosen=modules, resources="oracle.resources", when=lambda job: job.block.oracle is not None)
def oracle(job: Job, *, journal: Path, output: Output, csv: Csv, markdown: Markdown, numbers: Numbers) -> None:
    """Measure samplers with the exact posterior.

    Writes their errors against the known distribution, of each distribution and as a table. Resumes from its journal.

    Args:
        journal: folder of finished rows, removed at the end
        output: errors of each distribution to write (.json)
    """
    from pipeline.known.bench.measure import measure
    from pipeline.known.bench.table import make_table
    from pipeline.store.atomic import write_json
    from pipeline.store.journal import Journal
    from pipeline.store.seeds import derive_seed

    chosen, seed = job.oracle, derive_seed(job.config.seed, job.experiment, "oracle")
    finished = Journal(journal, oracle.fingerprint(job, []))
    measured = measure(job.block.data, chosen, seed, finished, f"experiments.{job.experiment}.data")
    write_json(output, measured)
    make_table(measured, chosen, table=csv, markdown=markdown, numbers=numbers)
    job.record([output, csv, markdown, numbers], settings(job), [])
    finished.remove()
