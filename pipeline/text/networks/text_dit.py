"""A transformer over text that sees all tokens of x_t and, if wanted, the time."""

from pydantic import Field
from torch import Tensor, nn

from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.transformer import TimeEmbedding
from pipeline.text.networks.text_transformer import TextOptions, TextTransformer


class Options(TextOptions):
    """The size of the network."""

    # The paper gives the width, the depth, the heads and the number of parameters (150 million) but not this. 448 gives
    # 149.5 million at the paper's size.
    condition: int = Field(448, ge=1, description="features of the time, which the blocks are told")
    time: bool = Field(True, description="tell the network the time; mask paths do not need it")
    # The paper's network has none. With some, a network on a mask path sooner learns more than the tokens' frequencies.
    neighbours: int = Field(0, ge=0, le=64, description="tokens on each side that a token is told of before attention")


class TextDit(TextTransformer):
    """Embeddings, attention blocks with the time as a condition, and K logits."""

    answers_at = True

    def __init__(self, options: Options, tokens: int, length: int) -> None:
        condition_width = options.condition if options.time else None
        super().__init__(options, condition_width, tokens, length, neighbours=options.neighbours)
        self.time = TimeEmbedding(options.condition) if options.time else None

    def forward(self, x: Tensor, t: Tensor, at: Tensor | None = None) -> Tensor:
        """Return the logits of p(x1 | x_t), [B, D, K], or [n, K] for the tokens `at`."""
        condition = None if self.time is None else self.time(t)
        return self.logits(x, self.blocks.modulations(condition), self.head.modulation(condition), at=at)


def build(options: Options, vocabulary: Vocabulary, length: int) -> nn.Module:
    """Return the network for sequences of at most `length` tokens."""
    return TextDit(options, vocabulary.size, length)
