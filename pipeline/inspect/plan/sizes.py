"""How many rows each split of a data set has, as far as its options or its publication tell."""

from typing import Any

from pipeline.tokens.token_data import SPLITS

Rows = dict[str, int | None]  # by split; None: not known before the data are read

# Rows of sets that are published in splits, and of those that are split here.
PUBLISHED: dict[str, Rows] = {
    "mp20": {"train": 27136, "validation": 9047, "test": 9046},  # of CDVAE, T. Xie et al., 2022
    "cifar10": {"train": 50_000, "test": 10_000},
    "mnist": {"train": 60_000, "test": 10_000},
    "imagenet": {"train": 1_281_167, "test": 50_000},  # of ILSVRC 2012
    "digits": {"train": 1797},
    "matbench_dielectric": {"train": 3811, "validation": 476, "test": 477},  # 4764 in shares of 0.8, 0.1, 0.1
}
CLASSES = {"imagenet": 1000}


def rows_of(name: str, options: Any) -> Rows:
    """Return the most rows of tokens in each split: structures that do not fit are left out later."""
    published = PUBLISHED.get(name, {})
    given: dict[str, Any] = dict(options)
    return {split: _least(published.get(split), given.get(split)) for split in SPLITS}


def images_of(name: str, options: Any) -> Rows:
    """Return the images of a set; a split that was not published is held out of the training images."""
    published, given = PUBLISHED.get(name, {}), dict(options)
    share, train, rows = given.get("held_out"), published.get("train"), dict[str, int | None]()
    for split in ("validation", "test"):
        found = published.get(split)
        if split not in published and train is not None:
            found = max(1, round(share * (published.get("train") or 0))) if share else given.get(split)
            train -= found or 0
        rows[split] = _least(found, given.get(split))
    return {"train": _least(train, given.get("train"))} | rows


def _least(*numbers: int | None) -> int | None:
    known = [number for number in numbers if number is not None]
    return min(known) if known else None
