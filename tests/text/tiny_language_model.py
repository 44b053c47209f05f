"""A tiny causal language model in a directory, as the transformers library writes it, with random weights."""

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers

LETTERS = "abcdefgh "
END = "<|endoftext|>"


def letter_tokenizer() -> Tokenizer:
    """Return a tokenizer with a token for each of a few letters, and one for the end of a document."""
    vocabulary = {token: number for number, token in enumerate([*LETTERS, END])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=" "))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return tokenizer


def save_language_model(directory: Path, *, safe: bool = True, **changes: Any) -> Path:
    """Write a GPT-2 of one block that sees 16 tokens, and return its directory."""
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    from pipeline.text.judge import silence

    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(LETTERS) + 1, n_positions=16, n_embd=8, n_layer=1, n_head=2, initializer_range=1.0, **changes
    )
    with silence():
        network = GPT2LMHeadModel(config)
        network.save_pretrained(directory)
        PreTrainedTokenizerFast(tokenizer_object=letter_tokenizer(), eos_token=END).save_pretrained(directory)
    if not safe:
        (directory / "model.safetensors").unlink()
        torch.save(network.state_dict(), directory / "pytorch_model.bin")
    return directory
