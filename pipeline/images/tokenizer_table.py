"""The stage that makes the table of an experiment's tokenizer."""

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from pipeline.config import Config
from pipeline.images.extractor import FeatureExtractor
from pipeline.images.feature_choice import ChosenFeatures, comparison_options
from pipeline.images.frechet import frechet_distance, statistics_of
from pipeline.images.imagedata import ImageData, to_bytes
from pipeline.images.reference import ImageReference
from pipeline.images.tokenizer import SavedTokenizer, reconstruct
from pipeline.images.tokenizer_report import live_codes, tokenizer_report
from pipeline.networks.devices import check_gpus
from pipeline.report.markdown import Row, markdown_table
from pipeline.report.numbers import write_numbers
from pipeline.report.tables import OURS, PAPER, as_csv
from pipeline.store.atomic import write_text
from pipeline.store.provenance import write_provenance
from pipeline.tokens.token_data import TokenData

PAPERS = {"run": "VQVAE of the paper", "origin": PAPER, "features": "Inception v3", "codes": 16384, "rfid": 2.20}
CONDITIONS = ["run", "origin", "images", "features"]


def make_tokenizer_table(
    config: Config,
    experiment: str,
    *,
    images: Path,
    tokens: Path,
    tokenizer: Path,
    image_reference: Path,
    classifier: Path | None,
    gpus: int,
    table: Path,
    markdown: Path,
    numbers: Path,
) -> None:
    """Write how much of the codebook is used, and how like the test images come back.

    `rfid` is the Fréchet distance of the reconstructions from the test images, `frechet_distance` that from the
    training images, which samples are compared with, and `floor` that of the test images as they are.
    """
    check_gpus(gpus, "scoring_resources.gpus")
    device = torch.device("cuda" if gpus else "cpu")
    data, codes, saved = ImageData.load(images), TokenData.load(tokens), SavedTokenizer.load(tokenizer, device)
    options, reference = comparison_options(config, experiment), ImageReference.load(image_reference)
    features, cache = ChosenFeatures.of(options.features), Path(config.data.cache)
    extractor = features.load(cache=cache, classifier=classifier, device=device)
    live = live_codes(codes)
    rebuilt = (reconstruct(saved, part, live) for part, _ in data.parts("test"))
    after = statistics_of(features_of(extractor, rebuilt, data.levels, options.batch))
    before = statistics_of(features_of(extractor, (part for part, _ in data.parts("test")), data.levels, options.batch))
    row: Row = {"run": f"{experiment} tokenizer", "origin": OURS, "features": reference.features}
    row |= tokenizer_report(saved, codes, data)
    row |= {
        "rfid": frechet_distance(after, before),
        "frechet_distance": frechet_distance(after, reference.statistics),
        "floor": frechet_distance(before, reference.statistics),
    }
    metrics = [key for key in row if key not in CONDITIONS]
    write_text(table, as_csv([row, PAPERS], [*CONDITIONS, *metrics]))
    write_text(markdown, markdown_table([row], [PAPERS], CONDITIONS, metrics))
    write_numbers(numbers, {row["run"]: {key: row[key] for key in metrics}})
    inputs = [images, tokens, tokenizer, image_reference, *([classifier] if classifier else [])]
    inputs += [*(cache / name for name in features.files), *features.inputs]
    write_provenance([table, markdown, numbers], {"experiment": experiment}, config.seed, inputs)


def features_of(extractor: FeatureExtractor, parts: Iterator[Tensor], levels: int, batch: int) -> Iterator[Tensor]:
    """Yield the features [N, F] of images with values 0, ..., levels - 1, a batch at a time."""
    for part in parts:
        for images in part.split(batch):
            yield extractor.features(to_bytes(images, levels))
