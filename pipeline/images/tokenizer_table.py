"""The table of a tokenizer: how much of its codebook is used, and how close rebuilt images are to the originals."""

from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor

from pipeline.flow.vocabulary import NEVER_DATA
from pipeline.images.extractor import FeatureExtractor
from pipeline.images.frechet import ImageReference, Statistics, frechet_distance, statistics_of
from pipeline.images.imagedata import ImageData, to_bytes
from pipeline.images.tokenizer import SavedTokenizer, reconstruct
from pipeline.report.formats import Row, as_csv, markdown_table, write_numbers
from pipeline.report.tables import OURS, PAPER
from pipeline.store.atomic import write_text
from pipeline.tokens.token_data import TokenData

PAPERS = {
    "run": "VQVAE of the paper",
    "origin": PAPER,
    "features": "Inception v3",
    "paper_codes": 16384,
    "paper_rfid": 2.20,
}
CONDITIONS = ["run", "origin", "images", "features"]
_BEST = 100.0  # decibels of a perfect reconstruction


def row_of(
    data: ImageData,
    codes: TokenData,
    tokenizer: SavedTokenizer,
    reference: ImageReference,
    extractor: FeatureExtractor,
    batch: int,
) -> Row:
    """Return how much of the codebook is used, and how close the rebuilt test images are to the originals.

    `rfid` is the Fréchet distance from the rebuilt images to the test images. `frechet_distance` is that from the
    rebuilt images to the training images, as for samples. `held_out_frechet_distance` is that from the test images to
    the training images.
    """
    live = live_codes(codes)

    def statistics(parts: Iterable[Tensor]) -> Statistics:
        batches = (images for part in parts for images in part.split(batch))
        return statistics_of(extractor.features(to_bytes(images, data.levels)) for images in batches)

    after = statistics(reconstruct(tokenizer, part, live) for part, _ in data.parts("test"))
    before = statistics(part for part, _ in data.parts("test"))
    return {
        "origin": OURS,
        "features": reference.features,
        **tokenizer_report(tokenizer, codes, data),
        "rfid": frechet_distance(after, before),
        "frechet_distance": frechet_distance(after, reference.statistics),
        "held_out_frechet_distance": frechet_distance(before, reference.statistics),
    }


def write_tokenizer_table(row: Row, csv: Path, markdown: Path, numbers: Path) -> None:
    """Write the row of a tokenizer, and the paper's in columns of its own: its images and features are others."""
    metrics = [key for key in row if key not in CONDITIONS]
    further = [key for key in PAPERS if key not in CONDITIONS]
    write_text(csv, as_csv([row, PAPERS], [*CONDITIONS, *metrics, *further]))
    theirs = markdown_table([PAPERS], [], CONDITIONS, further)
    write_text(markdown, f"{markdown_table([row], [], CONDITIONS, metrics)}\nNot to be compared:\n\n{theirs}")
    write_numbers(numbers, {row["run"]: {key: row[key] for key in metrics}})


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
        **{key: codebook[key] for key in ("dead", "duplicates", "perplexity")},
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
