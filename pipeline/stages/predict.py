from typing import Any

from pipeline.stages.declaration import stage
from pipeline.stages.job import Job, RunJob
from pipeline.stages.parameters import Gpus, JournalFolder, NewTable, Rows, Tokens, Weights
from pipeline.stages.predicting import common_seed, common_settings, prediction_of, runs_that_predict

SAMPLED = {"resources", "shards", "count", "frames"}  # what of the sampling concerns samples only


def settings(job: Job) -> dict[str, Any]:
    """Return what the predictions of a run depend on besides its weights."""
    sampling = prediction_of(job).sampling_of(job.run).model_dump(mode="json", exclude=SAMPLED)
    return {"seed": job.run.seed, "sampling": sampling, "pick": prediction_of(job).pick} | common_settings(job)


@stage(
    settings=settings,
    chosen=lambda job: job.network_modules(job.run.sampling.velocity, job.run.sampling.scheme),
    resources="runs.{name}.sampling.resources",
    each=runs_that_predict,
)
def predict(
    job: RunJob,
    *,
    tokens: Tokens,
    weights: Weights,
    rows: Rows,
    output: NewTable,
    journal: JournalFolder = None,
    gpus: Gpus = 0,
) -> None:
    """Predict structures for the compositions of test (or validation) structures.

    Reads tokens, weights and structures. Writes the predicted structures of each composition. Resumes from its journal.
    """
    from pipeline.crystals import prediction
    from pipeline.networks.devices import check_gpus
    from pipeline.networks.saved import load_network
    from pipeline.store.parquet import write_table
    from pipeline.store.seeds import derive_seed
    from pipeline.store.tensor_journal import TensorJournal
    from pipeline.tokens.token_data import TokenData

    run, data, chosen = job.run, TokenData.load(tokens), prediction_of(job)
    check_gpus(gpus, "sampling.resources.gpus")
    trained, inputs = run.weights or job.name, [tokens, weights, rows]
    model = load_network(weights, data, trained)
    model.network.to("cuda" if gpus else "cpu")
    targets = prediction.targets_of(rows, chosen.compositions, common_seed(job), chosen.split)
    finished = TensorJournal(journal, predict.fingerprint(job, inputs)) if journal else None
    seed, sampling = derive_seed(run.seed, job.experiment, trained, "prediction"), chosen.sampling_of(run)
    given = (model, data, sampling, targets, chosen.samples, seed, finished)
    write_table(output, prediction.predict(*given, pick=chosen.pick))
    job.record([output], settings(job), inputs, run.seed)
    if finished:
        finished.remove()
