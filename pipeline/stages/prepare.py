from pipeline.config.contracts import CrystalSetPlugin
from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import NewTokens, OptionalOutput


@stage(
    settings=lambda job: {"seed": job.config.seed, "data": job.block.data.model_dump(mode="json")},
    chosen=lambda job: job.data.modules,
    needs=Job.data_needs,
    resources="preparation_resources",
    when=lambda job: not job.is_images,
)
def prepare(job: Job, *, output: NewTokens, rows: OptionalOutput = None) -> None:
    """Prepare the tokens of an experiment.

    Reads files of the cache if the data set needs any. Writes train, validation and test tokens.

    Args:
        rows: table of a data set's structures to write (.parquet), for crystals only
    """
    data_set, options = job.data.plugin, job.data.options
    written = [output]
    if isinstance(data_set, CrystalSetPlugin):
        structures = data_set.read(options, job.config.seed, job.cache)
        if rows is not None:
            from pipeline.store.parquet import write_table

            write_table(rows, structures)
            written.append(rows)
        data = data_set.tokens_of(job.block.data.name, structures, options)
    else:
        data = data_set.prepare(options, job.config.seed, job.cache)
    data.save(output)
    job.record(written, {"data": job.block.data.model_dump()}, job.files_of(job.data))
