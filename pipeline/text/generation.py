"""Text around what is given: a beginning, an end, something in the middle, or nothing."""

from pathlib import Path

import torch
from torch import Tensor

from pipeline.config import Config
from pipeline.errors import KinoflowError
from pipeline.flow.clamp import Clamp
from pipeline.networks.devices import check_gpus
from pipeline.networks.memory import check_count
from pipeline.networks.saved import load_network
from pipeline.sampling.blocks import draw_around
from pipeline.sampling.conditions import changed_sampling
from pipeline.store.provenance import write_provenance
from pipeline.store.seeds import derive_seed
from pipeline.text.export import as_text, write_samples
from pipeline.text.tokenizer import Tokenizer, tokenizer_of
from pipeline.tokens.token_data import TokenData


def generate_text(
    config: Config,
    experiment: str,
    run: str,
    *,
    tokens: Path,
    weights: Path,
    given: dict[str, str],
    count: int,
    steps: int | None,
    seed: int,
    gpus: int,
    output: Path,
) -> None:
    """Draw `count` texts around the given parts (`prefix`, `middle`, `suffix`), and write them to a folder.

    If the network was trained with one level of noise for all tokens, it sees the given parts at that level.
    """
    if count < 1:
        raise KinoflowError(f"--count {count}: give 1 or more")
    check_gpus(gpus, "sampling.resources.gpus")
    chosen, data = config.experiments[experiment].runs[run], TokenData.load(tokens)
    check_count(count, data.length)
    if chosen.path is None and steps is not None:
        raise KinoflowError(f"--steps: run {run!r} is autoregressive, with one evaluation per token; leave it out")
    sampling = changed_sampling(chosen.sampling, count=count, steps=steps)
    model = load_network(weights, data, chosen.weights or run)
    model.network.to("cuda" if gpus else "cpu")
    tokenizer = tokenizer_of(data)
    fixed_tokens, fixed = template(tokenizer, data.length, data.vocabulary.mask, given)
    noised = model.path is not None and model.path.needs_time
    clamp = Clamp(fixed_tokens.expand(count, -1), fixed.expand(count, -1), noised)
    kinds = torch.zeros(count, data.length, dtype=torch.int64)
    drawn = draw_around(model, data, sampling, kinds, clamp, derive_seed(seed, run, "text"))
    files = [output / f"texts.{suffix}" for suffix in ("txt", "jsonl")]
    texts = write_samples(tokenizer, drawn, run, *files)
    settings = {"run": run, "given": given, "sampling": sampling.model_dump(mode="json")}
    write_provenance(files, settings, seed, [tokens, weights])
    print(as_text(texts, run), end="")
    print(f"{count} texts: {files[0]}, {files[1]}")


def template(tokenizer: Tokenizer, length: int, mask: int, given: dict[str, str]) -> tuple[Tensor, Tensor]:
    """Return the given tokens [D], with masks elsewhere, and where they are, bool[D]; `middle` is centred."""
    tokens, fixed = torch.full((length,), mask), torch.zeros(length, dtype=torch.bool)
    for part, text in given.items():
        if not text.isprintable() and any(0xD800 <= ord(character) < 0xE000 for character in text):
            raise KinoflowError(f"--{part} {text!r}: is not UTF-8; give it as such")
    parts = {part: torch.from_numpy(tokenizer.encode([text])[0]).long() for part, text in given.items() if text}
    known = sum(len(part) for part in parts.values())
    if known > length:
        sizes = ", ".join(f"--{part} has {len(encoded)}" for part, encoded in parts.items())
        raise KinoflowError(f"what is given is longer than a text of {length} tokens: {sizes}; give less")
    free_from, free_to = len(parts.get("prefix", ())), length - len(parts.get("suffix", ()))
    middle = free_from + (free_to - free_from - len(parts.get("middle", ()))) // 2
    for part, start in (("prefix", 0), ("middle", middle), ("suffix", free_to)):
        if part in parts:
            place = slice(start, start + len(parts[part]))
            tokens[place], fixed[place] = parts[part], True
    return tokens, fixed
