"""Splits for a corpus that lacks some or all of its own: some documents of every group are held out.

In each group of consecutive documents, one is held out for each missing split. It is drawn from the seed and the
group's number, so a document's split is known as soon as it is read, and does not depend on how many there are.
"""

import torch

from pipeline.store.seeds import derive_seed


class HeldOut:
    """Assigns each document to a split, by its number."""

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
        """Return the split of a document: `train`, or one that is held out."""
        if self._drawn[0] != document // self._group:
            self._drawn = (document // self._group, self._places(document // self._group))
        return self._drawn[1].get(document % self._group, "train")

    def _places(self, group: int) -> dict[int, str]:
        # The first group draws among its first three documents, so that a corpus of three documents has all splits.
        among = self._group if group else min(self._group, 3)
        generator = torch.Generator().manual_seed(derive_seed(self._seed, "held out", group))
        places = torch.randperm(among, generator=generator)[: len(self._splits)].tolist()
        return dict(zip(places, self._splits, strict=True))
