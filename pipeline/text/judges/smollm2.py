"""SmolLM2-135M-Instruct (L. Ben Allal et al., 2025) as judge: small, but its 98 MB come from a package registry.

It is a Llama network with its tokenizer in one GGUF file; the quantised weights are turned into 32-bit numbers. The
transformers library needs another package to read such files, and its tokenizer does not split off single digits.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from pipeline.config import Strict
from pipeline.errors import KinoflowError
from pipeline.text.judge import JudgeError, last_states, silence

if TYPE_CHECKING:  # only for types; functions import what they compute with
    import tokenizers
    import torch
    from gguf import GGUFReader
    from torch import Tensor, nn
    from transformers import LlamaConfig

    from pipeline.text.judges.likelihood import Judge
    from pipeline.tokens.token_data import TokenData

FILES = ("smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",)
_LONGEST = 8192  # tokens in its training context
_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_EXPECTED = {"general.architecture": "llama", "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm"}
_TENSOR = re.compile(r"(?:blk\.(?P<block>\d+)\.)?(?P<part>\w+)\.weight")


class Options(Strict):
    """How much of a text it sees at once."""

    window: int = Field(1024, ge=2, le=_LONGEST, description="tokens of a text that are judged together")


def label(options: Options) -> str:
    """Return what the tables call the judge."""
    return "SmolLM2-135M-Instruct (Q4_1)"


def load(options: Options, *, cache: Path, weights: Path | None, data: TokenData | None, device: torch.device) -> Judge:
    """Return the judge from its file in `cache`, with its weights as 32-bit numbers."""
    from pipeline.text.judges.likelihood import Judge
    from pipeline.text.tokenizer import END

    path = cache / FILES[0]
    if not path.is_file():
        raise JudgeError("smollm2", f"{path}: no such file; run `python -m pipeline fetch smollm2 --cache {cache}`")
    network, tokenizer = read_llama(path)
    network.to(device)
    return Judge(
        encode=lambda texts: [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts))],
        next_logits=lambda x: network(x[:, :-1], use_cache=False).logits,
        last_states=lambda x, last: last_states(network, x, last),
        size=tokenizer.get_vocab_size(),
        window=options.window,
        end=(tokenizer.get_vocab()[END],),
        device=device,
        files=(path,),
    )


def read_llama(path: Path) -> tuple[nn.Module, tokenizers.Tokenizer]:
    """Return the network, ready for evaluation, and its tokenizer; raise if the file holds anything else."""
    from gguf import GGUFReader

    try:
        reader = GGUFReader(path)
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        raise KinoflowError(f"{path}: not a complete GGUF file ({error}); fetch it again") from error
    for key, value in _EXPECTED.items():
        if (found := _value(path, reader, key)) != value:
            raise KinoflowError(f"{path}: {key} is {found!r}, but only {value!r} can be read; give another file")
    tokenizer = _tokenizer(path, reader)
    return _network(path, reader, tokenizer.get_vocab_size()), tokenizer


def _network(path: Path, reader: GGUFReader, tokens: int) -> nn.Module:
    import torch
    from gguf import dequantize
    from transformers import LlamaForCausalLM

    config, weights = _config(path, reader, tokens), {}
    heads: dict[str, Any] = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    for tensor in reader.tensors:
        match = _TENSOR.fullmatch(tensor.name)
        if match is None or match["part"] not in _NAMES:
            unknown = f"holds a tensor {tensor.name!r}, which no Llama network has"
            raise KinoflowError(f"{path}: {unknown}; give another file")
        block, part = "" if match["block"] is None else f"model.layers.{match['block']}.", match["part"]
        values = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
        weights[f"{block}{_NAMES[part]}.weight"] = _halves_apart(values, heads[part]) if part in heads else values
    loader: Any = LlamaForCausalLM
    with silence():
        network, report = loader.from_pretrained(
            None, config=config, state_dict=weights, output_loading_info=True, dtype=torch.float32
        )
    if wrong := [name for key in ("missing_keys", "unexpected_keys", "mismatched_keys") for name in report[key]]:
        raise KinoflowError(f"{path}: weights are missing or do not fit: {wrong[0]}; fetch the file again")
    evaluated: nn.Module = network.eval()
    return evaluated


def _tokenizer(path: Path, reader: GGUFReader) -> tokenizers.Tokenizer:
    """Return the tokenizer: byte-pair encoding in which every digit stands alone; no text gives a special token."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {token: number for number, token in enumerate(_value(path, reader, "tokenizer.ggml.tokens"))}
    merges = [tuple(pair.split(" ")) for pair in _value(path, reader, "tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    digits, words = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, words])
    return tokenizer


def _halves_apart(weights: Tensor, heads: int) -> Tensor:
    """Return the rows of a query or key projection in the order of the transformers library.

    Rotary positions rotate pairs of features. GGUF puts a pair side by side, transformers half a head apart.
    """
    return weights.view(heads, -1, 2, weights.shape[1]).transpose(1, 2).reshape(weights.shape)


def _config(path: Path, reader: GGUFReader, tokens: int) -> LlamaConfig:
    from transformers import LlamaConfig

    def setting(key: str) -> Any:
        return _value(path, reader, f"llama.{key}")

    return LlamaConfig(
        vocab_size=tokens,
        hidden_size=setting("embedding_length"),
        intermediate_size=setting("feed_forward_length"),
        num_hidden_layers=setting("block_count"),
        num_attention_heads=setting("attention.head_count"),
        num_key_value_heads=setting("attention.head_count_kv"),
        max_position_embeddings=setting("context_length"),
        rms_norm_eps=setting("attention.layer_norm_rms_epsilon"),
        rope_parameters={"rope_type": "default", "rope_theta": setting("rope.freq_base")},
        tie_word_embeddings=all(tensor.name != "output.weight" for tensor in reader.tensors),
    )


def _value(path: Path, reader: GGUFReader, key: str) -> Any:
    field = reader.get_field(key)
    if field is None:
        raise KinoflowError(f"{path}: has no {key}; give a complete GGUF file of a Llama network")
    return field.contents()
