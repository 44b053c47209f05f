"""Any causal language model of the transformers library as judge, from a local directory or the model hub."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from pipeline.config import Strict
from pipeline.errors import KinoflowError
from pipeline.text.judge import JudgeError, last_states, silence

if TYPE_CHECKING:  # only for types; functions import what they compute with
    import torch

    from pipeline.text.judges.likelihood import Judge
    from pipeline.tokens.token_data import TokenData

_READ = (".safetensors", ".json", ".txt", ".model")  # files of a model and its tokenizer


class Options(Strict):
    """Which model, and how it is used."""

    model: str = Field(
        "openai-community/gpt2-large", min_length=1, description="name on the model hub, or a local directory"
    )
    revision: str | None = Field(None, min_length=1, description="commit or branch on the hub; null: the main one")
    window: int = Field(1024, ge=2, description="tokens of a text that are judged together")
    precision: Literal["float32", "bfloat16"] = Field("float32", description="numbers that it computes with")


def label(options: Options) -> str:
    """Return what the tables call the judge."""
    name = directory.name if (directory := _directory(options)) else options.model
    at = f" at {options.revision}" if options.revision else ""
    return f"{name}{at}" + ("" if options.precision == "float32" else f" ({options.precision})")


def inputs(options: Options) -> list[Path]:
    """Return the files of a local directory."""
    return _readable(_directory(options))


def hub_name(options: Options) -> str | None:
    """Return the name on the model hub, None for a local directory."""
    return options.model if _directory(options) is None else None


def load(options: Options, *, cache: Path, weights: Path | None, data: TokenData | None, device: torch.device) -> Judge:
    """Return the judge from its directory or the hub's cache, or download it; pickled weights are never read."""
    from pipeline.text.judges.likelihood import Judge
    from pipeline.text.tokenizer import END

    network, tokenizer = _pretrained(options)
    longest = getattr(network.config, "max_position_embeddings", None)
    if longest is not None and options.window > longest:
        raise KinoflowError(
            f"scoring.generative_perplexity.judge.window = {options.window}: {options.model} sees at most {longest} "
            "tokens; set it to no more"
        )
    end = tokenizer.get_vocab().get(END, tokenizer.eos_token_id)
    network = network.to(device).eval()
    revision = getattr(network.config, "_commit_hash", None)

    def encode(texts: Any) -> Any:
        return tokenizer(list(texts), add_special_tokens=False)["input_ids"]

    return Judge(
        encode=encode,
        next_logits=lambda x: network(x[:, :-1], use_cache=False).logits,
        last_states=lambda x, last: last_states(network, x, last),
        size=network.config.vocab_size,
        window=options.window,
        end=tuple(encode(["\n\n"])[0]) if end is None else (end,),
        device=device,
        revision=revision,
        files=_files_of(options, revision),
    )


def _pretrained(options: Options) -> tuple[Any, Any]:
    """Return the model and its tokenizer, from this machine if it has them, otherwise from the hub."""
    directory, name = _directory(options), f"{{name: transformers, model: {options.model}}}"
    try:
        return _from_pretrained(options, local=True)
    except Exception as error:  # from several libraries without a common error class
        if directory is not None:
            raise JudgeError(name, f"cannot be read as a causal language model in safetensors: {error}") from error
    if options.model.startswith(("/", ".", "~")):
        raise JudgeError(name, "no such directory")
    print(f"the judge {options.model} is not in the hub's cache; downloading it", file=sys.stderr, flush=True)
    try:
        return _from_pretrained(options, local=False)
    except Exception as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        lacking = "neither a directory nor in the hub's cache, and could not be downloaded"
        raise JudgeError(name, f"{lacking}: {reason}") from error


def _from_pretrained(options: Options, local: bool) -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    loader: Any = AutoModelForCausalLM
    source = str(_directory(options) or options.model)
    common = {"revision": options.revision or "main", "local_files_only": local, "trust_remote_code": False}
    with silence(bars=not local):
        network, report = loader.from_pretrained(
            source, use_safetensors=True, dtype=getattr(torch, options.precision), output_loading_info=True, **common
        )
        tokenizer = AutoTokenizer.from_pretrained(source, **common)
    # The library would fill missing weights with random numbers and go on.
    if missing := sorted(map(str, report["missing_keys"])):
        raise ValueError(f"the weights of {missing[0]} are missing; it is another kind of model")
    tokenizer.model_max_length = sys.maxsize  # or it would warn about every text that is cut into windows
    return network, tokenizer


def _directory(options: Options) -> Path | None:
    path = Path(options.model).expanduser()
    return path if path.is_dir() else None


def _files_of(options: Options, revision: str | None) -> tuple[Path, ...]:
    """Return the files that the model was read from, as far as they are known."""
    from huggingface_hub import try_to_load_from_cache

    folder = _directory(options)
    if folder is None and revision is not None:
        found = try_to_load_from_cache(options.model, "config.json", revision=revision)
        folder = Path(found).parent if isinstance(found, str) else None
    return tuple(_readable(folder))


def _readable(folder: Path | None) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix in _READ) if folder else []
