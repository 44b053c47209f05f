"""Samples of text: one text file to read, and one line of JSON per sample for other programs."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from pipeline.store.atomic import write_text
from pipeline.text.tokenizer import Tokenizer

if TYPE_CHECKING:  # files are written without torch
    from torch import Tensor

RULE = "-" * 100


def write_samples(
    tokenizer: Tokenizer, tokens: "Tensor | NDArray[Any]", run: str, text: Path, lines: Path
) -> list[str]:
    """Write samples [N, D] of a run in both forms and return their texts."""
    texts = tokenizer.decode(tokens)
    write_text(text, as_text(texts, run))
    rows = zip(texts, tokens.tolist(), strict=True)
    records = ({"number": number, "text": words, "tokens": row} for number, (words, row) in enumerate(rows))
    write_text(lines, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    return texts


def as_text(texts: Sequence[str], run: str) -> str:
    """Return the texts one after the other, each under its number."""
    return "".join(f"{RULE}\n{run}, sample {number}\n{RULE}\n{text}\n\n" for number, text in enumerate(texts))
