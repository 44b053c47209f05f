from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Inputs, NewSamples


@stage(each=Job.runs, when=lambda job: job.run.sampling.shards > 1)
def gather(*, shards: Inputs, output: NewSamples) -> None:
    """Join the shards of a run.

    Reads the samples of all shards. Writes one file. A run of one shard needs no such job.

    Args:
        shards: samples from `sample`, in their order
    """
    from pipeline.sampling.joining import join_samples
    from pipeline.store.provenance import gather_provenance

    join_samples(shards, output)
    gather_provenance(output, shards)
