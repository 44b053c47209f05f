"""Crystals around what is given: a composition, or the lattice, the elements or the sites of a template.

A template fixes tokens at some positions of a crystal, and says which kind every position has. A sampler keeps the
fixed tokens (:class:`pipeline.flow.sampler.Clamp`). The number of atoms is always given.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from pipeline.config import Config
from pipeline.crystals import tokens as crystal_tokens
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.elements import LAST
from pipeline.crystals.export import write_crystals
from pipeline.crystals.reading import read_structures
from pipeline.crystals.table import crystals_of
from pipeline.errors import KinoflowError
from pipeline.flow.clamp import Clamp
from pipeline.networks.devices import check_gpus
from pipeline.networks.saved import load_network
from pipeline.sampling.blocks import draw_around
from pipeline.sampling.conditions import conditions_of
from pipeline.sampling.samples import SampleSet
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import TokenData

PARTS = {
    "composition": (crystal_tokens.ELEMENT,),
    "lattice": (crystal_tokens.LENGTH, crystal_tokens.ANGLE),
    "sites": (crystal_tokens.FRACTION,),
}


@dataclass(frozen=True, eq=False)
class Template:
    """Tokens [D], given where `fixed` bool[D] is true and masks elsewhere, and the `kinds` [D] of positions."""

    tokens: Tensor
    fixed: Tensor
    kinds: Tensor


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
    model = load_network(weights, data, chosen.weights or run)
    model.network.to("cuda" if gpus else "cpu")
    max_atoms, rounding = data.origin["max_atoms"], data.origin["rounding"]
    if template is None:
        templates = from_formula(formula or "", formula_units=units, max_atoms=max_atoms)
    else:
        templates = [from_structure(_crystal_in(template), keep, rounding=rounding, max_atoms=max_atoms)]
    kinds, clamp = batch(templates, count, noised=model.path is not None and model.path.needs_time)
    drawn = draw_around(model, data, chosen.sampling, kinds, clamp, derive_seed(seed, run, "crystals"))
    conditions = conditions_of(model, data, chosen.sampling.model_copy(update={"count": count}), seed) | {"run": run}
    table, extxyz, cifs = (output / f"crystals.{suffix}" for suffix in ("parquet", "extxyz", "zip"))
    settings = {"formula": formula, "units": units, "template": template and template.name, "keep": sorted(keep)}
    inputs = [tokens, weights, *([template] if template else [])]
    made = write_crystals(SampleSet(drawn, conditions), table, extxyz, cifs, settings, seed, inputs)
    print(f"{int((made['reason'] == '').sum())} of {count} are crystals: {table}, {extxyz}, {cifs}")


def from_formula(formula: str, *, formula_units: int | None = None, max_atoms: int = 20) -> list[Template]:
    """Return templates that fix the elements: so many formula units, or each number of them that fits."""
    unit = _elements_of(formula)
    if formula_units is not None and formula_units < 1:
        raise KinoflowError(f"formula_units: {formula_units}; give 1 or more")
    multiples = range(1, max_atoms // len(unit) + 1) if formula_units is None else [formula_units]
    if not multiples or len(unit) * multiples[-1] > max_atoms:
        count = len(unit) * (formula_units or 1)
        raise KinoflowError(f"formula {formula!r}: {count} atoms, but at most {max_atoms} are possible (max_atoms)")
    templates = []
    for multiple in multiples:
        kinds = crystal_tokens.layout(len(unit) * multiple, max_atoms)
        tokens = torch.full_like(kinds, crystal_tokens.MASK)
        tokens[kinds == crystal_tokens.ELEMENT] = crystal_tokens.FIRST_ELEMENT + torch.tensor(unit * multiple) - 1
        tokens[kinds == crystal_tokens.PADDING] = crystal_tokens.PAD
        templates.append(Template(tokens, tokens != crystal_tokens.MASK, kinds))
    return templates


def from_structure(
    crystal: Crystal, keep: Collection[str], *, rounding: crystal_tokens.Rounding = "nearest", max_atoms: int = 20
) -> Template:
    """Return a template that fixes parts of a crystal: `composition`, `lattice` (its cell), `sites` (coordinates)."""
    unknown = sorted(set(keep) - set(PARTS))
    if unknown or not keep:
        given = f"{unknown[0]!r} is none of them" if unknown else "nothing is given"
        raise KinoflowError(f"keep: one or more of {', '.join(PARTS)} expected, {given}")
    tokens = torch.from_numpy(crystal_tokens.encode(crystal, rounding, max_atoms))
    kinds = crystal_tokens.layout(len(crystal.numbers), max_atoms)
    fixed = torch.isin(kinds, torch.tensor([kept for part in keep for kept in PARTS[part]] + [crystal_tokens.PADDING]))
    return Template(torch.where(fixed, tokens, crystal_tokens.MASK), fixed, kinds)


def batch(templates: Sequence[Template], count: int, *, noised: bool = False) -> tuple[Tensor, Clamp]:
    """Return the kinds [count, D] and the clamp for `count` samples, spread evenly over the templates in order."""
    chosen = [templates[number * len(templates) // count] for number in range(count)]
    kinds, tokens, fixed = (
        torch.stack([getattr(template, part) for template in chosen]) for part in ("kinds", "tokens", "fixed")
    )
    return kinds, Clamp(tokens, fixed, noised)


def _crystal_in(template: Path) -> Crystal:
    frame = read_structures(template)
    reason = frame["reason"].iloc[0] if len(frame) == 1 else f"{len(frame)} structures"
    crystal = None if reason else crystals_of(frame)[0]
    if crystal is None:
        raise KinoflowError(f"--template {template}: one crystal expected, but: {reason}")
    return replace(crystal, id=template.stem)


def _elements_of(formula: str) -> list[int]:
    """Return the Z of every atom of a formula such as NaCl or Ca(OH)2."""
    from pymatgen.core import Composition, DummySpecies

    try:
        composition = Composition(formula, strict=True)
    except (ValueError, TypeError, KeyError) as error:
        raise KinoflowError(f"formula {formula!r}: cannot be read ({error}); write it like Ca(OH)2") from error
    numbers: list[int] = []
    for species, amount in composition.items():
        if isinstance(species, DummySpecies) or species.Z > LAST:
            raise KinoflowError(f"formula {formula!r}: {species} is no element from Z = 1 to {LAST}")
        if not float(amount).is_integer():
            raise KinoflowError(f"formula {formula!r}: {amount} of {species}; give whole numbers of atoms")
        numbers += [species.Z] * int(amount)
    if not numbers:
        raise KinoflowError(f"formula {formula!r}: no atoms; write it like Ca(OH)2")
    return numbers
