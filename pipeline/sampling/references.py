"""Reference samples: what a perfect model and what one that knows nothing of dependence would give."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from pipeline.config import Config
from pipeline.data.tokens import TokenData
from pipeline.flow.errors import KinoflowError
from pipeline.plugins import DATASETS
from pipeline.provenance import write_provenance
from pipeline.sampling.layouts import draw_layouts
from pipeline.sampling.samples import SampleSet
from pipeline.seeds import derive_seed


def held_out(data: TokenData, count: int, generator: torch.Generator) -> Tensor:
    """Return `count` sequences of the test split, or all if it has fewer; the table then says so with its n."""
    return data.test[:count]


def independent_columns(data: TokenData, count: int, generator: torch.Generator) -> Tensor:
    """Return sequences whose positions are drawn from the training split one by one: the dependence is gone.

    Only the kinds of the positions (the number of atoms of a crystal) are those of a training sequence, so that a
    sequence is well-formed.
    """
    if data.vocabulary.kinds == 1:
        rows = torch.randint(len(data.train), (count, data.length), generator=generator)
        return data.train[rows, torch.arange(data.length)]
    kinds, train = draw_layouts(data, count, generator), data.train.long()
    train_kinds, drawn = data.vocabulary.kinds_of(train), torch.empty_like(kinds)
    for place in range(data.length):
        for kind in kinds[:, place].unique():
            here, pool = kinds[:, place] == kind, train[train_kinds[:, place] == kind, place]
            drawn[here, place] = pool[torch.randint(len(pool), (int(here.sum()),), generator=generator)]
    return drawn


def shuffled_columns(data: TokenData, count: int, generator: torch.Generator) -> Tensor:
    """Return the same after a shuffle of the training data that leaves their meaning: no order of atoms to go by."""
    shuffled = DATASETS.load(data.origin["name"]).shuffle(data.train.long(), generator)
    return independent_columns(replace(data, train=shuffled), count, generator)


DRAW: dict[str, Callable[[TokenData, int, torch.Generator], Tensor]] = {
    "data": held_out,
    "independent": independent_columns,
    "shuffled": shuffled_columns,
}


def draw_reference(
    config: Config, experiment: str, reference: str, *, tokens: Path, output: Path, images: Path | None = None
) -> None:
    """Write a reference set of as many samples as the experiment draws; of codes also `images` as they are."""
    data, count = TokenData.load(tokens), config.experiments[experiment].sampling.count
    generator = torch.Generator().manual_seed(derive_seed(config.seed, experiment, "reference", reference))
    conditions = {"run": reference, "seed": config.seed}
    if reference == "images":
        drawn, conditions["grid"] = held_out_images(images, count)
    else:
        drawn = DRAW[reference](data, count, generator).long()
    labels = data.labels["test"][: len(drawn)] if data.is_labelled and reference in ("data", "images") else None
    SampleSet(drawn, conditions | {"n": len(drawn)}, labels=labels).save(output)
    inputs = [tokens, *([images] if images else [])]
    write_provenance([output], {"reference": reference, "count": count}, config.seed, inputs)


def held_out_images(images: Path | None, count: int) -> tuple[Tensor, list[int]]:
    """Return the first images of the test split, bytes [N, H * W * C], and rows, columns and channels of each."""
    from pipeline.images.imagedata import ImageData, central, to_bytes

    if images is None:
        raise KinoflowError("--reference images: give the prepared images with --images")
    prepared = ImageData.load(images)
    held_out = to_bytes(central(prepared.images["test"][:count], prepared.crop), prepared.levels)
    return held_out.flatten(1).long(), list(prepared.grid)
