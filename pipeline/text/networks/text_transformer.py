"""What the networks for text share: sizes, rotary positions, and an embedding that may also be the last layer.

Letters in shapes: B sequences, D tokens of each, W features, K tokens of the vocabulary.
"""

from pydantic import Field, model_validator
from torch import Tensor, nn

from pipeline.networks.attention import KeyValueCache, Rotary, Sight
from pipeline.networks.denoiser import Denoiser
from pipeline.networks.transformer import Blocks, Head, TransformerOptions

# The deviation of the embeddings before training. The gates are closed then, so a tied head sees the embedding of each
# token and predicts that token: its logit is about width x deviation, and the others are near zero. A denoiser should
# begin like this: a data token stays, and all tokens are about equally likely in place of a mask.
EMBEDDING_DEVIATION = 0.02


class TextOptions(TransformerOptions):
    """The size of a transformer over text."""

    width: int = Field(768, ge=2, multiple_of=2, description="features of each token; an even multiple of heads")
    depth: int = Field(12, ge=1, le=1000, description="attention blocks")
    heads: int = Field(12, ge=1, description="attention heads of each block")
    dropout: float = Field(0.02, ge=0, lt=1, description="share of features dropped in training")
    tied: bool = Field(True, description="use the embedding as the weights of the last layer too")

    @model_validator(mode="after")
    def _features_in_pairs(self) -> "TextOptions":
        if self.width // self.heads % 2:
            raise ValueError(f"width ({self.width}) must be an even multiple of heads ({self.heads})")
        return self


class Neighbours(nn.Module):
    """Adds to the features of each token what its neighbours on both sides say; nothing before training."""

    def __init__(self, width: int, neighbours: int) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(width, width, 2 * neighbours + 1, padding=neighbours)
        for weights in self.convolution.parameters():
            nn.init.zeros_(weights)

    def forward(self, features: Tensor) -> Tensor:
        """Return the features [B, D, W] with those of the neighbours."""
        return features + self.convolution(features.transpose(1, 2)).transpose(1, 2)


class TextTransformer(Denoiser):
    """Embeddings, attention blocks with rotary positions, and K logits; the condition is up to the network.

    Linear layers keep PyTorch's initialisation at any depth: gates that start at zero control how much each block adds.
    """

    def __init__(
        self,
        options: TextOptions,
        condition_width: int | None,
        tokens: int,
        length: int,
        deviation: float = EMBEDDING_DEVIATION,
        neighbours: int = 0,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, options.width)
        nn.init.normal_(self.embedding.weight, std=deviation)
        self.neighbours = Neighbours(options.width, neighbours) if neighbours else nn.Identity()
        self.rotary = Rotary(length, options.width // options.heads)
        self.blocks = Blocks(options, condition_width)
        self.head = Head(options.width, condition_width, tokens, self.embedding if options.tied else None)

    def logits(
        self,
        x: Tensor,
        modulations: list[Tensor],
        head_modulation: Tensor,
        causal: bool = False,
        before: int = 0,
        caches: list[KeyValueCache] | None = None,
        at: Tensor | None = None,
    ) -> Tensor:
        """Return the logits [B, D, K] at tokens x [B, D]; the caches know the `before` tokens that precede them.

        Given the numbers `at` [n] of some tokens, return those of these only, [n, K].
        """
        sight = Sight(causal=causal, rotation=self.rotary(x.shape[1], before))
        features = self.blocks(self.neighbours(self.embedding(x)), modulations, sight, caches, at)
        logits: Tensor = self.head(features, head_modulation, None if at is None else at // x.shape[1])
        return logits
