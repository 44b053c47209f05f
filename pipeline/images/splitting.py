"""Which images are in which split; a split that the set lacks is held out of the training images."""

from collections.abc import Mapping

import torch
from torch import Tensor

from pipeline.images.picture import ImageError
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import SPLITS


def rows_of_splits(
    counts: Mapping[str, int],
    held_out: Mapping[str, int],
    most: Mapping[str, int | None],
    seed: int,
    where: str,
) -> dict[str, tuple[str, Tensor]]:
    """Return for each split its source in `counts`, and the numbers of its images there, in random order.

    `held_out` says how many images of `train` go to each split that is not in `counts`. `most` limits the size of each
    split. Because of the random order, the first images are a sample of all.
    """
    held = sum(held_out.values())
    if held >= counts["train"]:
        parts = " and ".join(f"{number:,} for {split}" for split, number in held_out.items())
        raise ImageError(f"{where}: of {counts['train']:,} images to train on, {parts} leave none; hold out fewer")
    orders = {
        source: torch.randperm(count, generator=torch.Generator().manual_seed(derive_seed(seed, "images", source)))
        for source, count in counts.items()
    }
    found: dict[str, tuple[str, Tensor]] = {}
    start = 0
    for split, number in held_out.items():
        found[split] = ("train", orders["train"][start : start + number])
        start += number
    found["train"] = ("train", orders["train"][start:])
    found |= {source: (source, order) for source, order in orders.items() if source != "train"}
    return {split: (found[split][0], found[split][1][: most.get(split)]) for split in SPLITS}


def split_images(
    sets: Mapping[str, tuple[Tensor, Tensor]],
    held_out: Mapping[str, int],
    most: Mapping[str, int | None],
    seed: int,
    where: str,
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the images and classes of each split, from images [N, ...] and classes [N] in memory."""
    rows = rows_of_splits({name: len(labels) for name, (_, labels) in sets.items()}, held_out, most, seed, where)
    images = {split: sets[source][0][numbers] for split, (source, numbers) in rows.items()}
    labels = {split: sets[source][1][numbers].long() for split, (source, numbers) in rows.items()}
    return images, labels
