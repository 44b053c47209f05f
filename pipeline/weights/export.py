"""Writes a trained run to a folder of weights, which is also the content of a repository on the Hugging Face Hub."""

import math
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pipeline.config import Config, Experiment, PathChoice
from pipeline.config.combinations import problems_of_combinations
from pipeline.config.loading import write_config
from pipeline.config.plugins import DATASETS
from pipeline.errors import KinoflowError
from pipeline.flow.paths import PATHS
from pipeline.flow.vocabulary import NEVER_DATA
from pipeline.networks.saved import load_network
from pipeline.store.atomic import read_json, replacing, write_json, write_text
from pipeline.store.provenance import code_version, file_hash, read_record, sidecar_of
from pipeline.store.tensors import write_network
from pipeline.tokens.token_data import TokenData
from pipeline.weights.card import card
from pipeline.weights.folder import CARD, CONFIG, FORMAT, INDEX, NETWORK, TOKENIZER, TOKENS, Index

MOST = 65504.0  # the largest number of 16 bits


@dataclass(frozen=True)
class About:
    """What only people know about weights, for the model card."""

    data: str
    licence: str
    limits: str


def alone(block: Experiment, run: str) -> Experiment:
    """Return an experiment with one of its runs, and without metrics that need another one, such as a judge."""
    only = block.model_copy(update={"runs": {run: block.runs[run]}, "seeds": (), "sweep": (), "search": None})
    said = problems_of_combinations(only, (), complete=True)
    needy = {problem.key[1] for problem in said if problem.key[:1] == ("scoring",)}
    return only.model_copy(update={"scoring": {name: one for name, one in block.scoring.items() if name not in needy}})


def export(
    config: Config,
    experiment: str,
    run: str,
    about: About,
    *,
    tokens: Path,
    weights: Path,
    tokenizer: Path | None,
    scores: Path | None,
    output: Path,
) -> None:
    """Write a run's network in numbers of 16 bits, all that generation needs, an index and a model card.

    `scores` is a file of scores, for the card.
    """
    data = TokenData.load(tokens)
    model = load_network(weights, data, run)
    _check_range(weights, model.network.state_dict())
    network = model.network.half()
    write_network(output / NETWORK, "weights", network, model.description.model_dump(mode="json"))
    without_data(data, model.description.path).save(output / TOKENS)
    block = config.experiments[experiment]
    only = alone(block, run)
    folders = {"results": "results", "data": type(config.data)()}
    write_config(output / CONFIG, config.model_copy(update={"experiments": {experiment: only}, **folders}))
    names = [NETWORK, TOKENS, CONFIG]
    if tokenizer is not None:
        with replacing(output / TOKENIZER) as temporary:
            shutil.copyfile(tokenizer, temporary)
        names.append(TOKENIZER)
    record = {
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "code": read_record(weights)["code"] if sidecar_of(weights).is_file() else code_version(),
        "scores": read_json(scores) if scores else None,
        "data": about.data,
        "licence": about.licence,
        "limits": about.limits,
    }
    index = Index(
        format=FORMAT,
        experiment=experiment,
        run=run,
        vocabulary=data.vocabulary_hash,
        files={name: file_hash(output / name) for name in names},
        record=record,
    )
    write_json(output / INDEX, index.model_dump(mode="json"))
    write_text(output / CARD, card(output.name, config.experiments[experiment], index))


def without_data(data: TokenData, path: PathChoice | None) -> TokenData:
    """Return what generation on a path needs to know about the data; of crystals, this is the training set.

    It says how many atoms crystals have, which compositions there are, and what is not new. Of other data, there is one
    row without meaning. Distances between tokens are large, and only kept if the path goes by them.
    """
    followed = [] if path is None else path.options.get("paths") or [{"name": path.name}]
    far = any("distances" in PATHS.options(one["name"]) for one in followed)
    rows = data.train if DATASETS.load(data.origin["name"]).CRYSTALS else _meaningless(data)
    few: dict[str, Any] = {"train": rows, "validation": rows[:1].clone(), "test": rows[:1].clone()}
    few |= {"labels": {}, "evaluation": {}, "distances": data.distances if far else None}
    return replace(data, known_counts=data.counts(), **few)


def _meaningless(data: TokenData) -> Tensor:
    """Return one row that repeats the first token that can be data."""
    first = int((data.vocabulary.kind_of.values != NEVER_DATA).nonzero()[0])
    return torch.full((1, data.length), first)


def _check_range(path: Path, tensors: dict[str, Tensor]) -> None:
    for name, values in tensors.items():
        if not (largest := float(values.abs().max())) <= MOST or math.isnan(largest):
            raise KinoflowError(f"{path}: {name} has numbers up to {largest:g}, too large for 16 bits; train it again")
