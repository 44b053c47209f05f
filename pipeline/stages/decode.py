from pipeline.errors import KinoflowError
from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import NewTable, Output, Samples


@stage(each=Job.rows, when=Job.of_crystals)
def decode(job: Job, *, samples: Samples, output: NewTable, extxyz: Output, cifs: Output) -> None:
    """Turn samples into crystals.

    Reads samples. Writes one row per sample, and files for other programs. A sample that is not a crystal
    has a reason in the table and is in no other file. If its tokens are atoms in an impossible cell, the table has the
    atoms too.

    Args:
        extxyz: crystals to write (.extxyz)
        cifs: crystals to write (.zip of CIFs)
    """
    from pipeline.crystals.export import write_crystals
    from pipeline.sampling.samples import SampleSet

    if not job.of_crystals():
        key, name = f"experiments.{job.experiment}.data", job.block.data.name
        raise KinoflowError(f"{key}: {name!r} is not a data set of crystals; nothing to decode")
    described = {"samples": samples.name}
    write_crystals(SampleSet.load(samples), output, extxyz, cifs, described, job.config.seed, [samples])
