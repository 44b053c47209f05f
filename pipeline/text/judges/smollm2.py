"""SmolLM2-135M-Instruct (L. Ben Allal et al., 2025) as judge: small, but its 98 MB come from a package registry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from pipeline.config import Strict
from pipeline.text.judges.missing import JudgeError

if TYPE_CHECKING:  # only for types; functions import what they compute with
    import torch

    from pipeline.text.judges.likelihood import Judge
    from pipeline.tokens.token_data import TokenData

FILE = "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_LONGEST = 8192  # tokens in its training context


class Options(Strict):
    """How much of a text it sees at once."""

    window: int = Field(1024, ge=2, le=_LONGEST, description="tokens of a text that are judged together")


def label(options: Options) -> str:
    """Return what the tables call the judge."""
    return "SmolLM2-135M-Instruct (Q4_1)"


def files(options: Options) -> list[str]:
    """Return the catalogue names of its files."""
    return [FILE]


def load(options: Options, *, cache: Path, weights: Path | None, data: TokenData | None, device: torch.device) -> Judge:
    """Return the judge from its file in `cache`, with its weights as 32-bit numbers."""
    from pipeline.text.judges.gguf_llama import read_llama
    from pipeline.text.judges.likelihood import Judge
    from pipeline.text.tokenizer import END

    path = cache / FILE
    if not path.is_file():
        raise JudgeError("smollm2", f"{path}: no such file; run `python -m pipeline fetch smollm2 --cache {cache}`")
    network, tokenizer = read_llama(path)
    network.to(device)
    return Judge(
        encode=lambda texts: [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts))],
        next_logits=lambda x: network(x[:, :-1], use_cache=False).logits,
        size=tokenizer.get_vocab_size(),
        window=options.window,
        end=(tokenizer.get_vocab()[END],),
        device=device,
        files=(path,),
    )
