"""The table of an experiment's tokenizer."""

from collections.abc import Iterator
from pathlib import Path

from torch import Tensor

from pipeline.images.extractor import FeatureExtractor
from pipeline.images.frechet import frechet_distance, statistics_of
from pipeline.images.imagedata import ImageData, to_bytes
from pipeline.images.reference import ImageReference
from pipeline.images.tokenizer import SavedTokenizer, reconstruct
from pipeline.images.tokenizer_report import live_codes, tokenizer_report
from pipeline.report.formats import Row, as_csv, markdown_table, write_numbers
from pipeline.report.tables import OURS, PAPER
from pipeline.store.atomic import write_text
from pipeline.tokens.token_data import TokenData

PAPERS = {"run": "VQVAE of the paper", "origin": PAPER, "features": "Inception v3", "codes": 16384, "rfid": 2.20}
CONDITIONS = ["run", "origin", "images", "features"]


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
    rebuilt images to the training images, as for samples. `floor` is that from the test images to the training images.
    """
    live = live_codes(codes)
    rebuilt = (reconstruct(tokenizer, part, live) for part, _ in data.parts("test"))
    after = statistics_of(features_of(extractor, rebuilt, data.levels, batch))
    before = statistics_of(features_of(extractor, (part for part, _ in data.parts("test")), data.levels, batch))
    return {
        "origin": OURS,
        "features": reference.features,
        **tokenizer_report(tokenizer, codes, data),
        "rfid": frechet_distance(after, before),
        "frechet_distance": frechet_distance(after, reference.statistics),
        "floor": frechet_distance(before, reference.statistics),
    }


def write_tokenizer_table(row: Row, csv: Path, markdown: Path, numbers: Path) -> None:
    """Write the row of a tokenizer beside the paper's."""
    metrics = [key for key in row if key not in CONDITIONS]
    write_text(csv, as_csv([row, PAPERS], [*CONDITIONS, *metrics]))
    write_text(markdown, markdown_table([row], [PAPERS], CONDITIONS, metrics))
    write_numbers(numbers, {row["run"]: {key: row[key] for key in metrics}})


def features_of(extractor: FeatureExtractor, parts: Iterator[Tensor], levels: int, batch: int) -> Iterator[Tensor]:
    """Yield the features [N, F] of images with values 0, ..., levels - 1, a batch at a time."""
    for part in parts:
        for images in part.split(batch):
            yield extractor.features(to_bytes(images, levels))
