from typing import Any

from pipeline.stages.declaration import stage
from pipeline.stages.job import Job, RunJob
from pipeline.stages.parameters import Gpus, JournalFolder, NewSamples, OptionalInput, Shard, Shards, Tokens, Weights


def settings(job: Job) -> dict[str, Any]:
    """Return what the samples of a run depend on besides its weights."""
    without = {"sampling": {"resources", "shards"}}
    return job.run.model_dump(mode="json", include={"seed", "sampling"}, exclude=without)


def modules(job: Job) -> list[str]:
    """Return the modules of the run's network, path and scheme, and of the velocities that it may follow."""
    sampling = job.run.sampling
    velocities = job.searched_velocities if sampling.searched else [sampling.velocity]
    return job.network_modules(*velocities, sampling.scheme)


@stage(
    settings=settings,
    chosen=modules,
    resources="runs.{name}.sampling.resources",
    each=Job.runs,
    count=lambda job: job.run.sampling.shards,
)
def sample(
    job: RunJob,
    *,
    tokens: Tokens,
    weights: Weights,
    output: NewSamples,
    search: OptionalInput = None,
    shard: Shard = 0,
    shards: Shards = 1,
    journal: JournalFolder = None,
    gpus: Gpus = 0,
) -> None:
    """Draw one shard of the samples of a run.

    Reads tokens and weights. Writes samples. They do not depend on the number of shards. Runs with the same network
    start from the same noise.

    Args:
        search: file from `search`, for a run that takes its velocity, step and corrector from there
    """
    from collections import deque

    from pipeline.networks.devices import check_gpus
    from pipeline.networks.memory import check_sampling
    from pipeline.networks.saved import load_network
    from pipeline.sampling.blocks import blocks_of, draw_blocks
    from pipeline.sampling.conditions import conditions_of, found_sampling
    from pipeline.sampling.samples import write_blocks
    from pipeline.store.seeds import derive_seed
    from pipeline.store.tensor_journal import TensorJournal
    from pipeline.tokens.token_data import TokenData

    run, data = job.run, TokenData.load(tokens)
    check_gpus(gpus, "sampling.resources.gpus")
    trained, sampling = run.weights or job.name, found_sampling(run.sampling, search, job.name)
    saved = load_network(weights, data, trained)
    check_sampling(saved.description.model, sampling, data, gpus)
    seed = derive_seed(run.seed, job.experiment, trained, "sampling")
    saved.network.to("cuda" if gpus else "cpu")
    blocks = blocks_of(sampling.count, sampling.block, shard, shards)
    inputs = [tokens, weights, *([search] if search else [])]
    finished = TensorJournal(journal, sample.fingerprint(job, inputs)) if journal else None
    if finished:  # draw all before the file is begun, or a kill would leave a part of it
        deque(draw_blocks(saved, data, sampling, seed, blocks, finished), maxlen=0)
    conditions = conditions_of(saved, data, sampling, run.seed)
    conditions |= {"run": job.name, "weights": run.weights} if run.weights else {}
    shape = sum(len(sampling.numbers(block)) for block in blocks), data.length
    drawn = draw_blocks(saved, data, sampling, seed, blocks, finished, shown=not finished)
    write_blocks(output, drawn, shape, conditions, sampling.frames, saved.is_told_classes)
    described = {"run": job.name, "sampling": sampling.model_dump(mode="json", exclude={"shards", "resources"})}
    job.record([output], described, inputs, run.seed)
    if finished:
        finished.remove()
