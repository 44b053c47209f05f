"""Trained tokenizers of images, in safetensors files with their description.

Letters in shapes: N images of side S and C channels, h = w = S / down rows and columns of codes, K codes.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import ValidationError
from safetensors.torch import load_model
from torch import Tensor
from torch.nn import functional

from pipeline.config import Strict, TokenizerNetwork
from pipeline.errors import KinoflowError
from pipeline.images.vqvae import VQVAE, from_unit, to_unit
from pipeline.store.arrays import read_description
from pipeline.store.tensors import write_network

_KIND = "tokenizer"
_AT_ONCE = 2**22  # pixels that are processed together


class Description(Strict):
    """What a tokenizer is and what it was trained for."""

    experiment: str
    network: TokenizerNetwork
    codes: int
    levels: int
    side: int
    channels: int
    seed: int


@dataclass(frozen=True)
class SavedTokenizer:
    """A trained VQVAE and its description."""

    vqvae: VQVAE
    description: Description

    @classmethod
    def load(cls, path: Path, device: torch.device | str = "cpu") -> "SavedTokenizer":
        """Read a tokenizer, ready for use on a device."""
        try:
            description = Description.model_validate_json(json.dumps(read_description(path, _KIND)))  # lists: tuples
        except ValidationError as error:
            raise KinoflowError(f"{path}: a tokenizer of another version of this project; train it again") from error
        vqvae = VQVAE(description.network, description.codes, description.channels)
        try:
            load_model(vqvae, str(path))
        except RuntimeError as error:
            raise KinoflowError(f"{path}: the weights do not fit their description; train it again; {error}") from error
        return cls(vqvae.eval().to(device), description)

    def save(self, path: Path) -> None:
        write_network(path, _KIND, self.vqvae, self.description.model_dump(mode="json"))

    @property
    def levels(self) -> int:
        """How many values a pixel has."""
        return self.description.levels

    @property
    def grid(self) -> tuple[int, int, int]:
        """Rows, columns and channels of codes."""
        side = self.description.side // self.vqvae.down
        return side, side, 1

    @property
    def codebook(self) -> Tensor:
        """The codes, of length one, float[K, code_features]."""
        return functional.normalize(self.vqvae.quantiser.codebook, dim=-1).cpu()

    @torch.no_grad()
    def encode(self, images: Tensor, live: Tensor | None = None) -> Tensor:
        """Return the codes int64[N, h, w] of images uint8[N, S, S, C], with `live` codes only, bool[K]."""
        expected = self.description.side, self.description.side, self.description.channels
        if (got := tuple(images.shape[1:])) != expected:
            shapes = [" x ".join(map(str, shape)) for shape in (got, expected)]
            raise KinoflowError(
                f"images of {shapes[0]}: the tokenizer was trained for {shapes[1]}; crop them, or train another"
            )
        chosen = None if live is None else live.to(self._device)
        return self._in_parts(images, lambda part: self.vqvae.encode(to_unit(part, self.levels), chosen))

    @torch.no_grad()
    def decode(self, codes: Tensor) -> Tensor:
        """Return codes int64[N, h, w] as images uint8[N, S, S, C] with values 0, ..., levels - 1."""
        if codes.numel() and not 0 <= int(codes.min()) <= int(codes.max()) < self.description.codes:
            found = f"{int(codes.min())} to {int(codes.max())}"
            raise KinoflowError(f"codes: 0 to {self.description.codes - 1} expected, got {found}; a mask is no code")
        return self._in_parts(codes, lambda part: from_unit(self.vqvae.decode(part.long()), self.levels))

    @property
    def _device(self) -> torch.device:
        return self.vqvae.quantiser.codebook.device

    def _in_parts(self, rows: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
        """Change rows, some at a time, and return them on the CPU."""
        at_once = max(1, _AT_ONCE // self.description.side**2)
        return torch.cat([change(part.to(self._device)).cpu() for part in rows.split(at_once)])


def reconstruct(tokenizer: SavedTokenizer, images: Tensor, live: Tensor | None = None) -> Tensor:
    """Return images uint8[N, S, S, C] after encoding them with `live` codes and decoding them."""
    return tokenizer.decode(tokenizer.encode(images, live))
