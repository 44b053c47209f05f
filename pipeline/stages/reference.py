from typing import Literal

from pipeline.config.plugins import DATASETS
from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import NewSamples, Tokens


def modules(job: Job) -> list[str]:
    """Return the data set's module if it shuffles."""
    return [DATASETS.module(job.block.data.name)] if job.name == "shuffled" else []


@stage(
    settings=lambda job: {"seed": job.config.seed, "count": job.block.sampling.count},
    chosen=modules,
    each=Job.references,
)
def reference(
    job: Job, *, reference: Literal["images", "data", "independent", "shuffled"], tokens: Tokens, output: NewSamples
) -> None:
    """Draw reference samples from the data.

    Reads tokens. Writes held-out data, as from a perfect model, or training data with each column shuffled on its own,
    as from a model that ignores all dependence.

    Args:
        reference: which reference
    """
    import torch

    from pipeline.sampling.references import DRAW
    from pipeline.sampling.samples import SampleSet
    from pipeline.store.seeds import derive_seed
    from pipeline.tokens.token_data import TokenData

    data, count, seed = TokenData.load(tokens), job.block.sampling.count, job.config.seed
    generator = torch.Generator().manual_seed(derive_seed(seed, job.experiment, "reference", reference))
    drawn = DRAW[reference](data, count, generator).long()
    labels = data.labels["test"][: len(drawn)] if data.is_labelled and reference in ("data", "images") else None
    SampleSet(drawn, {"run": reference, "n": len(drawn), "seed": seed}, labels=labels).save(output)
    job.record([output], {"reference": reference, "count": count}, [tokens])
