"""What networks for images are told besides the tokens: the grid they form, and the class of the image."""

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary

Grid = tuple[int, int, int]  # rows, columns, channels


def builder(network: Callable[[Any, int, Grid, int], nn.Module]) -> Callable[..., nn.Module]:
    """Return the function `build` of a file with a network for images, from its options, tokens, grid and classes."""

    def build(
        options: Any, vocabulary: Vocabulary, length: int, *, grid: Grid | None = None, classes: int = 0
    ) -> nn.Module:
        """Return the network for images of `length` tokens on a grid."""
        if grid is None:
            raise KinoflowError("model: these tokens are no images; choose another model")
        if math.prod(grid) != length:
            places = " x ".join(map(str, grid))
            raise KinoflowError(f"grid: {places} places, but sequences of {length} tokens; prepare the data again")
        return network(options, vocabulary.size, grid, classes)

    return build


class ClassEmbedding(nn.Module):
    """One embedding per class, and a last one for no class; a network without classes has only the last."""

    def __init__(self, classes: int, width: int) -> None:
        super().__init__()
        self.classes = classes
        self.embedding = nn.Embedding(classes + 1, width)

    def forward(self, labels: Tensor | None, batch: int) -> Tensor:
        """Return the embeddings [B, W] of labels [B]; the label `classes` means no class, None the same for all."""
        if labels is None:
            return self.embedding.weight[-1:].expand(batch, -1)
        if self.classes == 0:
            refuse_labels(labels)
        return self.embedding(labels)


def new_class_embedding(conditional: bool, classes: int, width: int) -> ClassEmbedding:
    """Return the embedding of the classes if the network is conditional, else only that of no class."""
    if conditional and classes == 0:
        raise KinoflowError("model: conditional: the images have no classes; set it to false, or prepare other data")
    return ClassEmbedding(classes if conditional else 0, width)


def refuse_labels(labels: Tensor | None) -> None:
    """Raise if a network that was built without classes is given some."""
    if labels is not None:
        raise KinoflowError(
            f"labels: {len(labels)} given to a network that knows no classes; "
            "give none, or train one with conditional: true"
        )
