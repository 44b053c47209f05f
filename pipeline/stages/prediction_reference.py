from typing import Literal

from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import NewTable, Rows, Tokens
from pipeline.stages.predicting import common_seed, common_settings, prediction_of, without_network


@stage(settings=common_settings, each=without_network)
def prediction_reference(
    job: Job, *, reference: Literal["data", "random"], tokens: Tokens, rows: Rows, output: NewTable
) -> None:
    """Predict structures without a network.

    Reads tokens and structures. Writes the test structures as their tokens tell them, or random structures of the right
    composition and density.

    Args:
        reference: which prediction
    """
    from pipeline.crystals import prediction
    from pipeline.store.parquet import write_table
    from pipeline.store.seeds import derive_seed
    from pipeline.tokens.token_data import TokenData

    chosen = prediction_of(job)
    targets = prediction.targets_of(rows, chosen.compositions, common_seed(job), chosen.split)
    if reference == "data":
        made = prediction.tokenised(TokenData.load(tokens), targets)
    else:
        train, seed = prediction.structures_of(rows, "train"), derive_seed(common_seed(job), reference)
        made = prediction.random_structures(targets, train, chosen.samples, seed)
    write_table(output, made)
    job.record([output], {"reference": reference} | common_settings(job), [tokens, rows])
