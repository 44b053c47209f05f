from functools import partial
from typing import Any

from pipeline.config.runs import Precision
from pipeline.stages.declaration import LOSSES, stage
from pipeline.stages.job import Job, RunJob
from pipeline.stages.parameters import CheckpointFolder, EventFolder, Gpus, History, Metrics, NewWeights, Nodes, Tokens

GPUS = "training.resources.gpus"
KEPT = {"seed", "path", "loss", "model", "training"}


def settings(job: Job) -> dict[str, Any]:
    """Return what the weights of a run depend on besides its tokens."""
    without = {"training": {"resources", "checkpoint_every"}}
    return job.run.model_dump(mode="json", include=KEPT, exclude=without)


@stage(
    settings=settings,
    chosen=Job.network_modules,
    resources="runs.{name}.training.resources",
    each=Job.runs,
    when=lambda job: not job.run.weights,
    plot=lambda job: LOSSES,
)
def train(
    job: RunJob,
    *,
    tokens: Tokens,
    checkpoints: CheckpointFolder,
    weights: NewWeights,
    metrics: Metrics,
    history: History,
    events: EventFolder = None,
    gpus: Gpus = 0,
    nodes: Nodes = 1,
) -> None:
    """Train the network of a run.

    Reads tokens. Writes the averaged weights, metrics and history. Resumes from the latest checkpoint.
    """
    import torch

    from pipeline.flow.checks import deferred_checks
    from pipeline.networks.denoiser import Denoiser
    from pipeline.networks.memory import check_training
    from pipeline.networks.objective import objective_of
    from pipeline.networks.saved import Description, is_told_classes, new_network, save_network
    from pipeline.store.atomic import write_json
    from pipeline.store.seeds import derive_seed
    from pipeline.tokens.token_data import TokenData
    from pipeline.training.arithmetic import chosen_compilation, chosen_precision, seconds_of
    from pipeline.training.batches import LabelledRows, PaddedRows, Rows
    from pipeline.training.checkpoint import Checkpoints
    from pipeline.training.history import TensorBoardLog, write_history
    from pipeline.training.loop import fit
    from pipeline.training.processes import new_fabric, start_processes

    start_processes(gpus, nodes)
    run, data = job.run, TokenData.load(tokens)
    seed = derive_seed(run.seed, job.experiment, job.name)
    check_training(run.model, run.training, data, gpus)
    torch.manual_seed(derive_seed(seed, "weights"))
    network = new_network(run.model, data)
    told = is_told_classes(run.model)
    rows: Rows = LabelledRows(data.train, data.labels["train"]) if told else data.train
    ragged = isinstance(network, Denoiser) and network.ragged and not told
    if ragged and run.training.batches == "similar_size":
        rows = PaddedRows(data.train, data.lengths())
    validation = data.validation
    if told:
        validation = LabelledRows(validation, data.labels["validation"])[torch.arange(len(validation))]

    objective = objective_of(run, data, network, conditional=told)
    without = ["training.steps"] if run.training.can_grow else []
    states = Checkpoints(checkpoints, train.fingerprint(job, [tokens], without))

    def seconds(precision: Precision, compiled: bool = False) -> float:
        trial = new_fabric(run.training.model_copy(update={"precision": precision}), gpus, GPUS)
        return seconds_of(trial, network, objective, rows, run.training, compiled)

    precision = chosen_precision(run.training, gpus, states, seconds)
    compiled = chosen_compilation(run.training, gpus, states, partial(seconds, precision))
    chosen = run.training.model_copy(update={"precision": precision, "compile": compiled})
    run = run.model_copy(update={"training": chosen})
    fabric = new_fabric(run.training, gpus, GPUS)
    fabric.launch()
    with TensorBoardLog(events) as log:
        fitted = fit(
            fabric,
            network,
            objective,
            rows,
            validation,
            run.training,
            seed,
            states,
            on_checkpoint=lambda rows: write_history(history, rows),
            on_row=log.write,
            around=deferred_checks,
        )
    if fabric.is_global_zero:
        save_network(weights, fitted.network, Description.of(job.name, run, data, fitted.warning))
        write_history(history, fitted.history)
        last = fitted.history[-1]
        parameters = {"parameters": sum(parameter.numel() for parameter in network.parameters())}
        write_json(metrics, {key: last[key] for key in ("step", "loss", "validation_loss")} | parameters)
        described = run.model_dump(mode="json", exclude={"sampling": True, "training": {"resources"}})
        job.record([weights, metrics, history], described, [tokens], run.seed)
