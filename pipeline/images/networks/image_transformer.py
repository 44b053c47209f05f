"""A Llama over the tokens of an image that sees all of x_t and, if the options say so, the class and the time."""

import torch
from pydantic import Field
from torch import Tensor

from pipeline.images.networks.image_condition import Grid, builder, new_class_embedding, refuse_labels
from pipeline.images.networks.llama import Llama, LlamaOptions
from pipeline.networks.transformer import TimeEmbedding


class Options(LlamaOptions):
    """The size of the network."""

    time: bool = Field(True, description="tell the network the time; mask paths do not need it")


class ImageTransformer(Llama):
    """Attention among [time, class, tokens of x_t], and K logits at the tokens."""

    answers_at = True

    def __init__(self, options: Options, tokens: int, grid: Grid, classes: int) -> None:
        super().__init__(options, tokens, grid, prefix=int(options.time) + int(options.conditional))
        self.time = TimeEmbedding(options.width) if options.time else None
        self.classes = new_class_embedding(True, classes, options.width) if options.conditional else None
        self.initialise()

    def forward(self, x: Tensor, t: Tensor, labels: Tensor | None = None, at: Tensor | None = None) -> Tensor:
        """Return the logits of p(x1 | x_t, class), [B, D, K], or [n, K] for the tokens `at`."""
        prefix = []
        if self.time is not None:
            prefix.append(self.time(t))
        if self.classes is not None:
            prefix.append(self.classes(labels, len(x)))
        else:
            refuse_labels(labels)
        features = torch.cat([*(token[:, None] for token in prefix), self.embedding(x)], dim=1)
        if at is None:
            return self.logits(self.attend(features)[:, len(prefix) :])
        length = x.shape[1]
        return self.logits(self.attend(features, at=at + (at // length + 1) * len(prefix)))


build = builder(ImageTransformer)
