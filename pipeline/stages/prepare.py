from pathlib import Path
from typing import Any

from pipeline.config.contracts import CrystalSetPlugin
from pipeline.errors import KinoflowError
from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import NewTokens, OptionalOutput
from pipeline.store.atomic import write_text
from pipeline.store.provenance import sidecar_of
from pipeline.store.undeclared import declared_only


@stage(
    settings=lambda job: {"seed": job.config.seed, "data": job.block.data.model_dump(mode="json")},
    chosen=lambda job: job.data.modules,
    needs=Job.data_needs,
    resources="preparation_resources",
    when=lambda job: bool(job.block.runs) and not job.is_images,
)
def prepare(job: Job, *, output: NewTokens, rows: OptionalOutput = None) -> None:
    """Prepare the tokens of an experiment.

    Reads files of the cache if the data set needs any. Writes train, validation and test tokens. Structures that cannot
    be used are listed beside them, with the reasons (.rejected.csv), also if none are left.

    Args:
        rows: table of a data set's structures to write (.parquet), for crystals only
    """
    with declared_only(f"data set {job.data.name}", job.files_of(job.data), [job.cache]):
        written = _prepare(job, output, rows)
    job.record(written, {"data": job.block.data.model_dump()}, job.files_of(job.data))


def _prepare(job: Job, output: Path, rows: Path | None) -> list[Path]:
    """Write the tokens, and for crystals the table and the rejected ones, and return these files."""
    data_set, options = job.data.plugin, job.data.options
    written = [output]
    if isinstance(data_set, CrystalSetPlugin):
        structures = data_set.read(options, job.config.seed, job.cache)
        if listed := _list_rejected(structures, output):
            print(f"all rejected structures: {listed}")
            written.append(listed)
        if rows is not None:
            from pipeline.store.parquet import write_table

            write_table(rows, structures)
            written.append(rows)
        try:
            data = data_set.tokens_of(job.block.data.name, structures, options)
        except KinoflowError as error:
            raise KinoflowError(f"{error}\nall rejected structures: {listed}" if listed else str(error)) from error
    else:
        data = data_set.prepare(options, job.config.seed, job.cache)
    data.save(output)
    return written


def _list_rejected(rows: Any, tokens: Path) -> Path | None:
    """Write the rejected rows beside the tokens and return where; without any, remove an old list and return None.

    The workflow does not know this file, so it does not remove it when the preparation fails.
    """
    path = tokens.with_name(f"{tokens.stem}.rejected.csv")
    rejected = rows.loc[rows["reason"] != "", ["id", "split", "reason"]]
    if rejected.empty:
        for old in (path, sidecar_of(path)):
            old.unlink(missing_ok=True)
        return None
    write_text(path, rejected.to_csv(index=False))
    return path
