"""Splits of a corpus that has no splits of its own, or not all: some documents of every group are held out.

Of each group of consecutive documents one is held out for each split that is missing. Which one is drawn from the seed
and the group's number, so that it is known as soon as the document is read, and does not depend on how many are.
"""

import torch

from pipeline.store.seeds import derive_seed


class HeldOut:
    """Says to which split each document belongs, by its number."""

    def __init__(self, share: float, splits: tuple[str, ...], seed: int) -> None:
        self._group, self._splits, self._seed = round(1 / share), splits, seed
        self._drawn: tuple[int, dict[int, str]] = (-1, {})

    @property
    def rule(self) -> str:
        """The rule in words."""
        if not self._splits:
            return "the corpus's own splits"
        return (
            f"of every {self._group} documents in a row, one drawn at random for {' and one for '.join(self._splits)}"
        )

    @property
    def meaning(self) -> list[object]:
        """All that decides where documents go."""
        return [self._group, *self._splits, self._seed]

    def split(self, document: int) -> str:
        """Return `train` or one of the splits that are held out."""
        if self._drawn[0] != document // self._group:
            self._drawn = (document // self._group, self._places(document // self._group))
        return self._drawn[1].get(document % self._group, "train")

    def _places(self, group: int) -> dict[int, str]:
        # Within the first three documents of all, so that a corpus of three has something to train on and to hold out.
        among = self._group if group else min(self._group, 3)
        generator = torch.Generator().manual_seed(derive_seed(self._seed, "held out", group))
        places = torch.randperm(among, generator=generator)[: len(self._splits)].tolist()
        return dict(zip(places, self._splits, strict=True))
