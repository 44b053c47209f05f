"""Crystals to order: a network fills in what the order leaves open."""

from pathlib import Path
from typing import get_args

import torch

from pipeline.config import Config
from pipeline.crystals import tokens as crystal_tokens
from pipeline.crystals.export import write_crystals
from pipeline.crystals.orders import Order, plan
from pipeline.crystals.templates import batch
from pipeline.errors import KinoflowError
from pipeline.flow.allowed import Allowed
from pipeline.networks.devices import check_gpus
from pipeline.networks.memory import check_count
from pipeline.networks.saved import load_network
from pipeline.sampling.blocks import draw_around
from pipeline.sampling.conditions import conditions_of
from pipeline.sampling.samples import SampleSet
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import TokenData


def generate_crystals(
    config: Config,
    experiment: str,
    run: str,
    order: Order,
    *,
    tokens: Path,
    weights: Path,
    count: int,
    seed: int,
    gpus: int,
    output: Path,
) -> None:
    """Draw `count` crystals to an order, and write them to a folder.

    If the network was trained with one level of noise for all tokens, it sees the given parts at that level.
    """
    if count < 1:
        raise KinoflowError(f"--count {count}: give 1 or more")
    check_gpus(gpus, "sampling.resources.gpus")
    chosen, data = config.experiments[experiment].runs[run], TokenData.load(tokens)
    check_crystals(tokens, data)
    check_count(count, data.length)
    model = load_network(weights, data, chosen.weights or run)
    model.network.to("cuda" if gpus else "cpu")
    planned = plan(order, data, count, torch.Generator().manual_seed(derive_seed(seed, run, "orders")))
    print("".join(f"{note}\n" for note in planned.notes), end="")
    kinds, clamp = batch(planned.templates, count, noised=model.path is not None and model.path.needs_time)
    is_given = bool((clamp.fixed & (kinds != crystal_tokens.PADDING)).any())
    possible = planned.limits.tokens()
    drawn = draw_around(
        model,
        data,
        chosen.sampling,
        kinds,
        clamp if is_given else None,
        derive_seed(seed, run, "crystals"),
        allowed=None if possible is None else Allowed(possible[None], torch.zeros_like(kinds)),
    )
    conditions = conditions_of(model, data, chosen.sampling.model_copy(update={"count": count}), seed) | {"run": run}
    table, extxyz, cifs = (output / f"crystals.{suffix}" for suffix in ("parquet", "extxyz", "zip"))
    made = write_crystals(
        SampleSet(drawn, conditions),
        table,
        extxyz,
        cifs,
        order.record(),
        seed,
        [tokens, weights, *([order.template] if order.template else [])],
        exact=[template.exact.restored for template in planned.templates] if order.template else None,
    )
    print(f"{int((made['reason'] == '').sum())} of {count} are crystals: {table}, {extxyz}, {cifs}")


def check_crystals(path: Path, data: TokenData) -> None:
    """Raise unless data are tokens of crystals, and say how many atoms these may have."""
    atoms, rounding = data.origin.get("max_atoms"), data.origin.get("rounding")
    known = rounding in get_args(crystal_tokens.Rounding)
    if not known or not isinstance(atoms, int) or crystal_tokens.length_of(atoms) != data.length:
        raise KinoflowError(f"{path}: holds no tokens of crystals; give those of an experiment on crystals")
