"""An autoregressive run of the same experiment as judge.

It knows nothing but the training data, so its numbers compare only runs of one experiment. It likes its own samples
best: a low number in their row is no merit.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from pipeline.config import Name, Strict
from pipeline.errors import KinoflowError
from pipeline.text.judge import JudgeError

if TYPE_CHECKING:  # only for types; functions import what they compute with
    import torch
    from torch import Tensor

    from pipeline.text.judges.likelihood import Judge
    from pipeline.tokens.token_data import TokenData


class Options(Strict):
    """Which run judges."""

    run: Name = Field(description="an autoregressive run of the experiment")


def label(options: Options) -> str:
    """Return what the tables call the judge."""
    return f"run {options.run}"


def load(options: Options, *, cache: Path, weights: Path | None, data: TokenData | None, device: torch.device) -> Judge:
    """Return the run's network as judge; its window is the length of the sequences that it was trained on."""
    from pipeline.networks.saved import load_network
    from pipeline.text.judges.likelihood import Judge
    from pipeline.text.tokenizer import tokenizer_of

    name = f"{{name: run, run: {options.run}}}"
    if weights is None or data is None or not weights.is_file():
        raise JudgeError(name, f"there are no weights of the run ({weights}); train it, and give them")
    tokenizer, saved = tokenizer_of(data), load_network(weights, data, options.run)
    if saved.path is not None:
        reason = f"has the path {saved.description.path.name!r}" if saved.description.path else "has a path"
        wrong = f"the run {reason} and is not autoregressive; name a run with path: null"
        raise KinoflowError(f"scoring.generative_perplexity.judge = {name}: {wrong}")
    network = saved.network.to(device)
    special = (data.vocabulary.kind_of.values < 0).to(device)

    def next_logits(x: Tensor) -> Tensor:
        logits: Tensor = network(x)[:, 1:]
        return logits.masked_fill(special, float("-inf"))  # special tokens are not text; training leaves them out, too

    return Judge(
        encode=lambda texts: [tokens.tolist() for tokens in tokenizer.encode(texts)],
        next_logits=next_logits,
        size=data.vocabulary.size,
        window=data.length,
        end=(tokenizer.end,),
        device=device,
        files=(weights,),
    )
