"""A judge of text: all bytes are equally likely. Copy to pipeline/text/judges/fair.py, and change it.

In the configuration: `scoring: {generative_perplexity: {judge: {name: fair}}}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from pipeline.config import Strict

if TYPE_CHECKING:
    import torch

    from pipeline.text.judges.likelihood import Judge
    from pipeline.tokens.token_data import TokenData


class Options(Strict):
    """The size of the judge."""

    window: int = Field(1024, ge=2, description="bytes that it sees at once")


def label(options: Options) -> str:
    """Return what the tables call the judge."""
    return "all bytes equally likely"


def load(options: Options, *, cache: Path, weights: Path | None, data: TokenData | None, device: torch.device) -> Judge:
    """Return the judge."""
    import torch

    from pipeline.text.judges.likelihood import Judge

    def next_logits(x: torch.Tensor) -> torch.Tensor:  # [B, D] -> [B, D - 1, 256]
        return torch.zeros(len(x), x.shape[1] - 1, 256, device=x.device)

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [list(text.encode()) for text in texts]

    return Judge(encode, next_logits, 256, options.window, (0,), device)
