"""A tiny Llama network with random weights in a GGUF file, its vocabulary the bytes, an end token and few pairs."""

from pathlib import Path

import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFWriter, dequantize, quantize
from transformers import LlamaConfig, LlamaForCausalLM

WIDTH, HIDDEN, BLOCKS, HEADS, KEY_HEADS = 64, 96, 2, 4, 2
TOKENS = 262
PARTS = {
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


def write_gguf(path: Path, *, quantised: bool = False, architecture: str = "llama") -> LlamaForCausalLM:
    """Write the file, and return the network in it, rounded as its weights are if they are `quantised`."""
    network = _random_network()
    weights = dict(network.named_parameters())
    writer = GGUFWriter(path, architecture)
    _add_settings(writer)
    for name, ours in _tensor_names().items():
        values = weights[f"{ours}.weight"].detach()
        if quantised and values.dim() == 2:
            kind = GGMLQuantizationType.Q4_1 if name.startswith("blk") else GGMLQuantizationType.Q8_0
            packed = quantize(_pairs_together(name, values).numpy(), kind)
            writer.add_tensor(f"{name}.weight", packed, raw_dtype=kind)
            # A row has a scale of its own, so that the order of the rows does not change how they are rounded.
            rounded = dequantize(quantize(values.numpy(), kind), kind)
            weights[f"{ours}.weight"].data.copy_(torch.from_numpy(rounded))
        else:
            writer.add_tensor(f"{name}.weight", np.ascontiguousarray(_pairs_together(name, values).numpy()))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return network


def _random_network() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=TOKENS,
        hidden_size=WIDTH,
        intermediate_size=HIDDEN,
        num_hidden_layers=BLOCKS,
        num_attention_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        max_position_embeddings=8192,
        rms_norm_eps=1e-3,
        rope_parameters={"rope_type": "default", "rope_theta": 100.0},
        tie_word_embeddings=True,
        initializer_range=0.3,
    )
    return LlamaForCausalLM(config).eval()


def _add_settings(writer: GGUFWriter) -> None:
    writer.add_block_count(BLOCKS)
    writer.add_context_length(8192)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-3)
    writer.add_rope_freq_base(100.0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    characters = [chr(byte) for byte in visible] + [chr(256 + number) for number in range(256 - len(visible))]
    writer.add_token_list([*characters, "<|endoftext|>", "12", "Ġ1", "cd", "ef", "ab"])
    writer.add_token_merges(["1 2", "Ġ 1", "a b"])


def _tensor_names() -> dict[str, str]:
    blocks = {f"blk.{n}.{part}": f"model.layers.{n}.{ours}" for n in range(BLOCKS) for part, ours in PARTS.items()}
    return {"token_embd": "model.embed_tokens", "output_norm": "model.norm"} | blocks


def _pairs_together(name: str, values: torch.Tensor) -> torch.Tensor:
    """Return the rows of a query or key projection as GGUF has them: row 2 i + h of a head is row i of its half h."""
    heads = {"attn_q": HEADS, "attn_k": KEY_HEADS}.get(name.rpartition(".")[2])
    if heads is None:
        return values
    per_head = len(values) // heads
    order = [
        head * per_head + half * per_head // 2 + i
        for head in range(heads)
        for i in range(per_head // 2)
        for half in (0, 1)
    ]
    return values[order]
