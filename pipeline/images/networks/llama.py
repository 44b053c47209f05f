"""Llama for images: attention blocks without biases over a grid of tokens, as in LlamaGen (Sun et al. 2024).

Letters in shapes: B images, S tokens per image including the prefix, W features, K tokens of the vocabulary.
"""

from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from pipeline.images.networks.image_condition import Grid
from pipeline.networks.attention import EVERYTHING, Attention, GridRotary, KeyValueCache, Sight
from pipeline.networks.denoiser import Denoiser, chosen
from pipeline.networks.linear import Linear
from pipeline.networks.transformer import TransformerOptions

DEVIATION = 0.02  # of the initial weights; those of the last layer are zero
EPSILON = 1e-5  # of the norms


class LlamaOptions(TransformerOptions):
    """The size of a Llama; by default that of Llama-B, with 111 million parameters at 16384 codes and 1000 classes."""

    width: int = Field(768, ge=4, multiple_of=4, description="features of each token; heads times a multiple of 4")
    depth: int = Field(12, ge=1, le=1000, description="attention blocks")
    heads: int = Field(12, ge=1, description="attention heads of each block")
    dropout: float = Field(0.0, ge=0, lt=1, description="share of features dropped in training")
    multiple: int = Field(256, ge=1, description="hidden features, 8/3 width, are rounded up to a multiple of this")
    conditional: bool = Field(True, description="tell the network the class of the image")

    @model_validator(mode="after")
    def _rows_and_columns_in_pairs(self) -> "LlamaOptions":
        if self.width // self.heads % 4:
            raise ValueError(f"width ({self.width}) must be heads ({self.heads}) times a multiple of 4")
        return self

    @property
    def hidden(self) -> int:
        """Hidden features of a block's perceptron: its three matrices have as many weights as two of 4 x width."""
        return -(-(8 * self.width // 3) // self.multiple) * self.multiple


class GatedPerceptron(nn.Module):
    """A perceptron whose hidden features are gated by others (SwiGLU): W_3 (silu(W_1 x) * W_2 x)."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.first = Linear(width, 2 * hidden, bias=False)  # W_1 and W_2
        self.second = Linear(hidden, width, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        gates, values = self.first(features).chunk(2, dim=-1)
        return self.second(functional.silu(gates) * values)


class LlamaBlock(nn.Module):
    """Attention and a gated perceptron, each added to its input."""

    def __init__(self, options: LlamaOptions) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(options.width, EPSILON)
        self.attention = Attention(options.width, options.heads, bias=False)
        self.perceptron_norm = nn.RMSNorm(options.width, EPSILON)
        self.perceptron = GatedPerceptron(options.width, options.hidden)
        self.dropout = nn.Dropout(options.dropout)

    def forward(
        self,
        features: Tensor,
        sight: Sight = EVERYTHING,
        cache: KeyValueCache | None = None,
        at: Tensor | None = None,
    ) -> Tensor:
        gathered = self.attention(self.attention_norm(features), sight, cache, at)
        features = chosen(features, at) + self.dropout(gathered)
        return features + self.dropout(self.perceptron(self.perceptron_norm(features)))


class Llama(Denoiser):
    """Embeddings, attention blocks that know rows and columns, and K logits; subclasses add the prefix.

    The channels of a pixel count as neighbouring columns.
    """

    def __init__(self, options: LlamaOptions, tokens: int, grid: Grid, prefix: int) -> None:
        super().__init__()
        rows, columns, channels = grid
        self.embedding = nn.Embedding(tokens, options.width)
        self.dropout = nn.Dropout(options.dropout)
        self.rotary = GridRotary(rows, columns * channels, options.width // options.heads, prefix)
        self.blocks = nn.ModuleList(LlamaBlock(options) for _ in range(options.depth))
        self.norm = nn.RMSNorm(options.width, EPSILON)
        self.head = Linear(options.width, tokens, bias=False)

    def initialise(self) -> None:
        """Draw all weights, including those of the prefix; the initial logits are equal."""
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=DEVIATION)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
        nn.init.zeros_(self.head.weight)

    def attend(
        self,
        features: Tensor,
        causal: bool = False,
        before: int = 0,
        caches: list[KeyValueCache] | None = None,
        at: Tensor | None = None,
    ) -> Tensor:
        """Return the features after all blocks, [B, S, W], or [n, W] for the tokens `at`.

        They follow the `before` tokens in the caches.
        """
        sight = Sight(causal=causal, rotation=self.rotary(features.shape[1], before))
        features = self.dropout(features)
        few, last = sight.narrowed(at, features), len(self.blocks) - 1
        for number, block in enumerate(self.blocks):
            cache = None if caches is None else caches[number]
            features = block(features, sight, cache, few if number == last else None)
        return chosen(features, at) if few is None else features

    def logits(self, features: Tensor) -> Tensor:
        """Return the logits [B, S, K] of features [B, S, W] after the blocks."""
        return self.head(self.norm(features))
