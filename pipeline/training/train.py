"""The stage that trains one run: from tokens to weights, metrics and the history of the training."""

from pathlib import Path

import torch

from pipeline.config import Config, Training
from pipeline.config.plugins import MODELS
from pipeline.networks.objective import objective_of
from pipeline.networks.saved import Description, is_told_classes, new_network, save_network
from pipeline.store.atomic import write_json
from pipeline.store.code import modules_named
from pipeline.store.fingerprint import fingerprint
from pipeline.store.provenance import write_provenance
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import TokenData
from pipeline.training.batches import LabelledRows
from pipeline.training.checkpoint import WITHOUT_EFFECT, Checkpoints
from pipeline.training.history import write_history
from pipeline.training.loop import fit
from pipeline.training.processes import new_fabric
from pipeline.training.tensorboard import TensorBoardLog


def train_run(
    config: Config,
    experiment: str,
    run: str,
    *,
    tokens: Path,
    checkpoints: Path,
    gpus: int,
    weights: Path,
    metrics: Path,
    history: Path,
    events: Path | None = None,
) -> None:
    """Train a run and write its weights (the moving average), its metrics (JSON) and its history (CSV).

    `events` is the folder of the history for TensorBoard.
    """
    chosen, data = config.experiments[experiment].runs[run], TokenData.load(tokens)
    seed = derive_seed(chosen.seed, experiment, run)
    description = Description.of(run, chosen, data)
    torch.manual_seed(derive_seed(seed, "weights"))
    network = new_network(chosen.model, data)
    told = is_told_classes(chosen.model)
    train = LabelledRows(data.train, data.labels["train"]) if told else data.train
    validation = data.validation
    if told:
        validation = LabelledRows(validation, data.labels["validation"])[torch.arange(len(validation))]

    fabric = new_fabric(chosen.training, gpus, "training.resources.gpus")
    fabric.launch()
    with TensorBoardLog(events) as log:
        fitted = fit(
            fabric,
            network,
            objective_of(chosen, data, conditional=told),
            train,
            validation,
            chosen.training,
            seed,
            Checkpoints(checkpoints, fingerprint_of(description, chosen.training, tokens)),
            on_checkpoint=lambda rows: write_history(history, rows),
            on_row=log.write,
        )
    if fabric.is_global_zero:
        save_network(weights, fitted.network, description)
        write_history(history, fitted.history)
        last = fitted.history[-1]
        parameters = {"parameters": sum(parameter.numel() for parameter in network.parameters())}
        write_json(metrics, {key: last[key] for key in ("step", "loss", "validation_loss")} | parameters)
        settings = chosen.model_dump(mode="json", exclude={"sampling": True, "training": {"resources"}})
        write_provenance([weights, metrics, history], settings, chosen.seed, [tokens])


def fingerprint_of(description: Description, training: Training, tokens: Path) -> str:
    """Return a hash of all that decides the weights after a given step: settings, data and code."""
    settings = description.model_dump(mode="json") | training.model_dump(mode="json", exclude=WITHOUT_EFFECT)
    modules = modules_named(description.path, description.loss)
    return fingerprint(settings, [tokens], "pipeline.training.train", MODELS.module(description.model.name), *modules)
