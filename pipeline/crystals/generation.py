"""Crystals around what is given: a composition, or the lattice, the elements or the sites of a template."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from pipeline.config import Config
from pipeline.crystals.clamping import Template, batch, from_formula, from_structure
from pipeline.crystals.decode import write_crystals
from pipeline.crystals.reading import read_structures
from pipeline.crystals.table import crystals_of
from pipeline.errors import KinoflowError
from pipeline.networks.devices import check_gpus
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
    *,
    tokens: Path,
    weights: Path,
    formula: str | None,
    units: int | None,
    template: Path | None,
    keep: Collection[str],
    count: int,
    seed: int,
    gpus: int,
    output: Path,
) -> None:
    """Draw `count` crystals around the given parts, and write them to a folder.

    If the network was trained with one level of noise for all tokens, it sees the given parts at that level.
    """
    if count < 1:
        raise KinoflowError(f"--count {count}: give 1 or more")
    check_gpus(gpus, "sampling.resources.gpus")
    chosen, data = config.experiments[experiment].runs[run], TokenData.load(tokens)
    sampling = chosen.sampling
    model = load_network(weights, data, chosen.weights or run)
    model.network.to("cuda" if gpus else "cpu")
    templates = _templates(data, formula, units, template, keep)
    kinds, clamp = batch(templates, count, noised=model.path is not None and model.path.needs_time)
    drawn = draw_around(model, data, sampling, kinds, clamp, derive_seed(seed, run, "crystals"))
    conditions = conditions_of(model, data, sampling.model_copy(update={"count": count}), seed) | {"run": run}
    samples = SampleSet(drawn, conditions)
    table, extxyz, cifs = (output / f"crystals.{suffix}" for suffix in ("parquet", "extxyz", "zip"))
    settings = {"formula": formula, "units": units, "template": template and template.name, "keep": sorted(keep)}
    inputs = [tokens, weights, *([template] if template else [])]
    made = write_crystals(samples, table, extxyz, cifs, settings, seed, inputs)
    print(f"{int((made['reason'] == '').sum())} of {count} are crystals: {table}, {extxyz}, {cifs}")


def _templates(
    data: TokenData, formula: str | None, units: int | None, template: Path | None, keep: Collection[str]
) -> list[Template]:
    max_atoms, rounding = data.origin["max_atoms"], data.origin["rounding"]
    if formula is not None:
        return from_formula(formula, formula_units=units, max_atoms=max_atoms)
    assert template is not None, "one of formula and template is given"
    frame = read_structures(template)
    reason = frame["reason"].iloc[0] if len(frame) == 1 else f"{len(frame)} structures"
    crystal = None if reason else crystals_of(frame)[0]
    if crystal is None:
        raise KinoflowError(f"--template {template}: one crystal expected, but: {reason}")
    return [from_structure(replace(crystal, id=template.stem), keep, rounding=rounding, max_atoms=max_atoms)]
