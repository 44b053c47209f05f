"""Samples to crystals."""

from pipeline.errors import KinoflowError
from pipeline.stages.chosen import of_crystals
from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Output, Samples


@stage(each=Job.rows, when=of_crystals)
def decode(job: Job, *, samples: Samples, output: Output, extxyz: Output, cifs: Output) -> None:
    """Turn samples into crystals.

    Reads samples. Writes one row per sample, and files for other programs. A sample that is not a crystal
    has a reason in the table and is in no other file. If its tokens are atoms in an impossible cell, the table has the
    atoms too.

    Args:
        output: table to write (.parquet)
        extxyz: crystals to write (.extxyz)
        cifs: crystals to write (.zip of CIFs)
    """
    from pipeline.crystals.export import write_crystals
    from pipeline.sampling.samples import SampleSet

    if not of_crystals(job):
        key, name = f"experiments.{job.experiment}.data", job.block.data.name
        raise KinoflowError(f"{key}: {name!r} is not a data set of crystals; nothing to decode")
    described = {"samples": samples.name}
    write_crystals(SampleSet.load(samples), output, extxyz, cifs, described, job.config.seed, [samples])
