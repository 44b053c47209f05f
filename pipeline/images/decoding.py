"""Pictures of samples: tokens are pixels, or codes that a tokenizer decodes."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import NEVER_DATA
from pipeline.images.imagedata import ImageData, central, to_bytes
from pipeline.store.progress import Progress
from pipeline.tokens.token_data import TokenData

if TYPE_CHECKING:
    from pipeline.images.tokenizer import SavedTokenizer

_AT_ONCE = 256  # pictures that are decoded together


@dataclass(frozen=True)
class Decoder:
    """Turns tokens into pictures, as pixels or with the tokenizer that made the codes."""

    grid: tuple[int, int, int]
    levels: int
    tokenizer: "SavedTokenizer | None" = None

    @classmethod
    def of(cls, data: TokenData, tokenizer: Path | None, device: torch.device | str = "cpu") -> "Decoder":
        """Return the decoder of an experiment's tokens; codes need the `tokenizer` that made them."""
        if data.grid is None:
            raise KinoflowError(f"data {data.origin.get('name')!r}: these are no images")
        if (data.embeddings is None) != (tokenizer is None):
            fix = "give the tokenizer's weights with --tokenizer" if tokenizer is None else "leave --tokenizer out"
            raise KinoflowError(f"data {data.origin.get('name')!r}: {fix}")
        levels = int((data.vocabulary.kind_of.values != NEVER_DATA).sum())
        if tokenizer is None:
            return cls(data.grid, levels)
        from pipeline.images.tokenizer import SavedTokenizer  # it needs a library that takes seconds to import

        return cls(data.grid, levels, SavedTokenizer.load(tokenizer, device))

    def pictures(self, tokens: Tensor) -> Tensor:
        """Return tokens [N, D] as pictures, bytes[N, H, W, C]."""
        if self.tokenizer is None:
            return to_bytes(tokens.clamp(max=self.levels - 1).to(torch.uint8).view(-1, *self.grid), self.levels)
        rows, columns, _ = self.grid
        parts = tokens.view(-1, rows, columns).split(_AT_ONCE)
        with Progress("decoding", len(tokens), unit="picture") as progress:
            decoded = []
            for part in parts:
                decoded.append(to_bytes(self.tokenizer.decode(part), self.tokenizer.levels))
                progress.advance(sum(map(len, decoded)))
        return torch.cat(decoded)


def held_out_images(images: Path | None, count: int) -> Tensor:
    """Return the first images of the test split, bytes[N, H, W, C]."""
    if images is None:
        raise KinoflowError("the reference `images` shows prepared images; give them with --images")
    prepared = ImageData.load(images)
    return to_bytes(central(prepared.images["test"][:count], prepared.crop), prepared.levels)
