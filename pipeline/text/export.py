"""Samples of text: one text file to read, and one line of JSON per sample for other programs."""

import json
from collections.abc import Sequence
from pathlib import Path

from pipeline.sampling.samples import SampleSet
from pipeline.store.atomic import write_text
from pipeline.text.tokenizer import tokenizer_of
from pipeline.tokens.token_data import TokenData

RULE = "-" * 100


def write_samples(drawn: SampleSet, data: TokenData, text: Path, lines: Path) -> list[str]:
    """Write samples in both forms and return their texts."""
    texts = tokenizer_of(data).decode(drawn.tokens)
    write_text(text, as_text(texts, str(drawn.conditions["run"])))
    rows = zip(texts, drawn.tokens.tolist(), strict=True)
    records = ({"number": number, "text": words, "tokens": row} for number, (words, row) in enumerate(rows))
    write_text(lines, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    return texts


def as_text(texts: Sequence[str], run: str) -> str:
    """Return the texts one after the other, each under its number."""
    return "".join(f"{RULE}\n{run}, sample {number}\n{RULE}\n{text}\n\n" for number, text in enumerate(texts))
