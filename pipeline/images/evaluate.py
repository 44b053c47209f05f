"""Compare any images with the training images of an experiment."""

from pathlib import Path

import torch
from torch import Tensor

from pipeline.config import Config
from pipeline.errors import KinoflowError
from pipeline.images.feature_choice import ChosenFeatures, comparison_options
from pipeline.images.grids import read_pictures
from pipeline.images.imagedata import ImageData
from pipeline.images.metrics.frechet_distance import checked_reference, compared
from pipeline.networks.devices import check_gpus
from pipeline.store.atomic import write_json
from pipeline.store.provenance import write_provenance


def evaluate_images(
    config: Config,
    experiment: str,
    *,
    pictures: Path,
    images: Path,
    image_reference: Path,
    classifier: Path | None,
    gpus: int,
    output: Path,
) -> None:
    """Write and print how far the pictures in a folder or zip file are from the experiment's training images."""
    check_gpus(gpus, "scoring_resources.gpus")
    options, cache = comparison_options(config, experiment), Path(config.data.cache)
    reference = checked_reference(image_reference, classifier, options)
    device = torch.device("cuda" if gpus else "cpu")
    extractor = ChosenFeatures.of(options.features).load(cache=cache, classifier=classifier, device=device)
    given = like(read_pictures(pictures), ImageData.load(images).grid, pictures)
    if len(given) < 2:
        raise KinoflowError(f"{pictures}: holds one picture; a distance needs two")
    metrics = compared(given, None, reference, extractor, options, config.seed)
    conditions = {"n": len(given), "features": reference.features, "reference set": reference.images}
    write_json(output, {"conditions": {"pictures": str(pictures)} | conditions, "metrics": metrics})
    inputs = [pictures, images, image_reference, *([classifier] if classifier else [])]
    write_provenance([output], {"experiment": experiment}, config.seed, inputs)
    for key, value in (conditions | metrics).items():
        print(f"{key.replace('_', ' ')}: {value:.4g}" if isinstance(value, float) else f"{key}: {value}")


def like(pictures: Tensor, grid: tuple[int, int, int], path: Path) -> Tensor:
    """Return pictures uint8[N, H, W, 3] with the channels of the experiment's images; the sizes must match."""
    rows, columns, channels = grid
    if tuple(pictures.shape[1:3]) != (rows, columns):
        sizes = f"pictures of {pictures.shape[1]} x {pictures.shape[2]}, the experiment's are {rows} x {columns}"
        raise KinoflowError(f"{path}: {sizes}; resize them, or choose another --experiment")
    return pictures if channels == 3 else pictures.float().mean(-1, keepdim=True).round().to(torch.uint8)
