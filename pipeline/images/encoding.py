"""Encoding of images with a trained tokenizer: the tokens are codes.

A code that no training image uses is dead: no position may hold it, so no sample has it either. If codes coincide, only
the first is used. Letters in shapes: N images, D = h w codes per image, K codes of F features.
"""

import tempfile
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.flow.chunks import row_chunks
from pipeline.flow.vocabulary import NEVER_DATA, Vocabulary
from pipeline.images.imagedata import ImageData
from pipeline.images.tokenizer import SavedTokenizer
from pipeline.store.progress import Progress
from pipeline.store.tensors import map_file
from pipeline.tokens.token_data import TokenData

# Codes are the same if they are closer than this share of the median distance between neighbours, or than this
# distance. A metric path uses a power of the distance and could not tell them apart.
_NEAR, _ONE_PLACE = 1e-2, 1e-6
_SHOWN = 20  # pairs of equal codes in the record


def encoded(tokenizer: SavedTokenizer, data: ImageData, origin: dict[str, Any], folder: Path) -> TokenData:
    """Return images as codes; those of the training images are mapped from an unnamed file in `folder`."""
    count, codebook = tokenizer.description.codes, tokenizer.codebook
    first = first_of_equals(codebook)
    distinct = first == torch.arange(count)
    with tempfile.TemporaryFile(dir=folder) as file:
        train, used = _encode_to(file, data, tokenizer, distinct)
    live = used > 0
    if (found := int(live.sum())) < 2:
        raise KinoflowError(
            f"the codebook has collapsed to {found} of {count} codes, so that all images are alike: lower "
            "tokenizer.training.learning_rate, raise tokenizer.loss.commitment or tokenizer.training.batch, and train "
            "the tokenizer again"
        )
    validation, test = (
        torch.cat([tokenizer.encode(part, live).flatten(1) for part, _ in data.parts(split)])
        for split in ("validation", "test")
    )
    kinds = torch.where(live, 0, NEVER_DATA)
    return TokenData(
        train=train,
        validation=validation,
        test=test,
        vocabulary=Vocabulary(torch.cat([kinds, torch.tensor([NEVER_DATA])]), mask=count),
        origin=origin,
        record=data.record | {"classes": list(data.classes), "codebook": _record(used, first)},
        embeddings=torch.cat([codebook, torch.zeros(1, codebook.shape[1])]),
        grid=tokenizer.grid,
        labels=data.labels | {"train": data.labels["train"].repeat(data.views)},
        classes=len(data.classes),
    )


def first_of_equals(codebook: Tensor) -> Tensor:
    """Return for each code [K, F] the first code that coincides with it, or nearly so, int64[K]: usually itself."""
    codes, first = codebook.double(), torch.arange(len(codebook))
    nearest = torch.cat([_distances(codes, part).amin(-1) for part in row_chunks(len(codes), len(codes))])
    limit = max(_ONE_PLACE, _NEAR * float(nearest.median()))
    for part in row_chunks(len(codes), len(codes)):
        near = _distances(codes, part) < limit
        before = near.int().argmax(-1)  # the first near code, if there is one
        own = first[part]
        first[part] = torch.where(near.any(-1) & (before < own), before, own)
    return first


def _distances(codes: Tensor, part: slice) -> Tensor:
    """Return the distances of some codes to all others, infinite to themselves, [n, K]."""
    distances = torch.cdist(codes[part], codes, compute_mode="donot_use_mm_for_euclid_dist")
    own = torch.arange(len(codes))[part]
    return distances.scatter(-1, own[:, None], torch.inf)


def perplexity(counts: Tensor) -> float:
    """Return the perplexity of counts [K]: this many equally frequent codes would be as hard to guess."""
    shares = counts.double() / counts.sum()
    return float(torch.exp(-torch.xlogy(shares, shares).sum()))


def _encode_to(file: IO[bytes], data: ImageData, tokenizer: SavedTokenizer, live: Tensor) -> tuple[Tensor, Tensor]:
    """Write the codes of all views of the training images to a file.

    Return them, mapped, [N, D], and how often each code occurs, [K].
    """
    dtype = torch.uint16 if len(live) < 2**16 else torch.int32
    used, size, done = torch.zeros(len(live), dtype=torch.int64), 0, 0
    with Progress("encoding", data.views * len(data.images["train"]), unit="image") as progress:
        for part, _ in data.training_parts():
            codes = tokenizer.encode(part, live).flatten(1)
            used += torch.bincount(codes.flatten(), minlength=len(live))
            size, done = size + file.write(codes.to(dtype).numpy().tobytes()), done + len(part)
            progress.advance(done)
    file.flush()
    return torch.frombuffer(map_file(file.fileno(), size), dtype=dtype).view(done, -1), used


def _record(used: Tensor, first: Tensor) -> dict[str, Any]:
    """Return how the codes are used, as JSON."""
    pairs = [(code, other) for code, other in enumerate(first.tolist()) if code != other]
    live = int((used > 0).sum())
    return {
        "codes": len(used),
        "live": live,
        "dead": len(used) - live - len(pairs),
        "duplicates": len(pairs),
        "pairs": pairs[:_SHOWN],
        "perplexity": perplexity(used),
    }
