"""Quality of a tokenizer: how much of its codebook is used, and how close reconstructions are to the originals."""

import torch
from torch import Tensor

from pipeline.flow.vocabulary import NEVER_DATA
from pipeline.images.imagedata import ImageData
from pipeline.images.tokenizer import SavedTokenizer, reconstruct
from pipeline.tokens.token_data import TokenData

_BEST = 100.0  # decibels of a perfect reconstruction


def tokenizer_report(tokenizer: SavedTokenizer, tokens: TokenData, data: ImageData) -> dict[str, float]:
    """Return the use of the codebook in training, and the mean closeness of rebuilt test images to the originals.

    `psnr` is in decibels, at most 100; `l1` is the mean absolute difference of pixels as a share of the largest.
    """
    codebook = tokens.record["codebook"]
    signal_to_noise, differences = [], []
    for images, _ in data.parts("test"):
        rebuilt = reconstruct(tokenizer, images, live_codes(tokens))
        signal_to_noise.append(psnr(images, rebuilt, data.levels))
        differences.append((images.double() - rebuilt.double()).abs().flatten(1).mean(1) / (data.levels - 1))
    return {
        "images": len(data.images["test"]),
        "codes": codebook["codes"],
        "live": codebook["live"],
        "live_share": codebook["live"] / codebook["codes"],
        "dead": codebook["dead"],
        "duplicates": codebook["duplicates"],
        "perplexity": codebook["perplexity"],
        "psnr": float(torch.cat(signal_to_noise).mean()),
        "l1": float(torch.cat(differences).mean()),
    }


def live_codes(tokens: TokenData) -> Tensor:
    """Return which codes of the codebook are used, bool[K]."""
    return tokens.vocabulary.kind_of.values[: tokens.vocabulary.mask] != NEVER_DATA


def psnr(images: Tensor, others: Tensor, levels: int) -> Tensor:
    """Return the peak signal-to-noise ratio of images [N, S, S, C] in decibels, [N]: 10 log10(peak^2 / mean square)."""
    noise = (images.double() - others.double()).square().flatten(1).mean(1)
    return (10 * torch.log10((levels - 1) ** 2 / noise)).clamp(max=_BEST)
