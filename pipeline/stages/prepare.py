"""Data to tokens."""

from typing import Any

from pipeline.config.contracts import CrystalSetPlugin
from pipeline.stages.chosen import data_modules, data_needs, files_of
from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import OptionalOutput, Output


def settings(job: Job) -> dict[str, Any]:
    """Return what tokens depend on."""
    return {"seed": job.config.seed, "data": job.block.data.model_dump(mode="json")}


@stage(
    settings=settings,
    chosen=data_modules,
    needs=data_needs,
    resources="preparation_resources",
    when=lambda job: not job.is_images,
)
def prepare(job: Job, *, output: Output, rows: OptionalOutput = None) -> None:
    """Prepare the tokens of an experiment.

    Reads files of the cache if the data set needs any. Writes train, validation and test tokens.

    Args:
        output: tokens to write (.safetensors)
        rows: table of a data set's structures to write (.parquet), for crystals only
    """
    from pipeline.store.parquet import write_table
    from pipeline.store.provenance import write_provenance

    data_set, options = job.data.plugin, job.data.options
    written = [output]
    if isinstance(data_set, CrystalSetPlugin):
        structures = data_set.read(options, job.config.seed, job.cache)
        if rows is not None:
            write_table(rows, structures)
            written.append(rows)
        data = data_set.tokens_of(job.block.data.name, structures, options)
    else:
        data = data_set.prepare(options, job.config.seed, job.cache)
    data.save(output)
    write_provenance(written, {"data": job.block.data.model_dump()}, job.config.seed, files_of(job, job.data))
