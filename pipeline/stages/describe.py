from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from pipeline.errors import KinoflowError
from pipeline.stages.declaration import ON_CRYSTALS, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Input, JournalFolder, NewTable


def rows_and_test(job: Job) -> Iterator[Job]:
    """Yield a job for each row of the table, and one for the test structures."""
    yield from job.rows()
    yield replace(job, name="test")


@stage(settings=Job.description_settings, each=rows_and_test, **ON_CRYSTALS)
def describe(
    job: Job,
    *,
    crystals: Input,
    output: NewTable,
    split: Literal["train", "validation", "test"] | None = None,
    journal: JournalFolder = None,
) -> None:
    """Describe crystals: validity, density, fingerprints.

    Reads a table of crystals. Writes one row per crystal. Crystals that fail or take too long are recorded with the
    reason. Resumes from its journal. Descriptions of a data set are kept in the data cache for other runs.

    Args:
        crystals: table from `decode`, or of a data set's structures from `prepare`
        split: part of a data set to describe
    """
    from pipeline.crystals.describe import describe_rows
    from pipeline.crystals.kept_descriptions import KeptDescriptions, hash_of
    from pipeline.crystals.table import CRYSTAL_COLUMNS
    from pipeline.store.journal import Journal
    from pipeline.store.parquet import read_table, write_table

    frame = read_table(crystals, [*CRYSTAL_COLUMNS, *(["split"] if split else [])])
    if split:
        frame = frame[(frame["split"] == split) & (frame["reason"] == "")].reset_index(drop=True)
        if frame.empty:
            raise KinoflowError(f"{crystals}: no usable structure in the split {split!r}; prepare more data")
    chosen = job.crystals
    kept = KeptDescriptions(job.cache) if split else None
    missing = kept.missing(frame) if kept else frame
    # Between two attempts, another job may keep more descriptions. The journal counts the missing ones.
    work = f"{describe.fingerprint(replace(job, name=split or ''), [crystals])} {hash_of(missing)}"
    finished = Journal(journal, work) if journal else None
    described = describe_rows(missing, chosen.workers, chosen.seconds, finished)
    write_table(output, kept.complete(frame, described) if kept else described)
    job.record([output], job.description_settings() | {"split": split}, [crystals])
    if finished:
        finished.remove()
