"""Compare any images with the training images of an experiment."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import torch
from torch import Tensor

from pipeline.config import Config
from pipeline.errors import KinoflowError
from pipeline.images.feature_choice import ChosenFeatures, comparison_options
from pipeline.images.imagedata import ImageData
from pipeline.images.metrics.frechet_distance import checked_reference, compared
from pipeline.images.picture import SUFFIXES, ImageError, array_of, files_below, is_picture, read_picture
from pipeline.images.reading import Stack
from pipeline.networks.devices import check_gpus
from pipeline.store.atomic import write_json
from pipeline.store.provenance import write_provenance

LARGEST = 2**26  # bytes of a picture in an archive


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


def read_pictures(path: Path, folder: Path | None = None) -> Tensor:
    """Return the pictures below a folder or in a zip file, sorted by name, uint8[N, H, W, 3]; all must have one size.

    They are mapped from an unnamed file in `folder`, so they need not fit into memory.
    """
    size: tuple[int, int] | None = None
    first = ""
    with Stack(folder) as stack:
        for name, source in _pictures(path):
            try:
                picture, _ = read_picture(source)
            except ImageError as error:
                raise ImageError(f"{name}: {error}; mend or remove it") from error
            size, first = size or picture.size, first or name
            if picture.size != size:
                sizes = f"{picture.width} x {picture.height} pixels, but {first} has {size[0]} x {size[1]}"
                raise ImageError(f"{name}: {sizes}; give pictures of one size")
            stack.add(array_of(picture))
        if size is None:
            raise ImageError(f"{path}: holds no picture ({', '.join(SUFFIXES)}); give another folder or zip file")
        return stack.images()


def _pictures(path: Path) -> Iterator[tuple[str, Path | IO[bytes]]]:
    """Yield the name of each picture, for messages, and its path or content."""
    if path.is_dir():
        yield from ((str(file), file) for file in files_below(path) if is_picture(file.name))
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if is_picture(name.rpartition("/")[2]):
                    try:
                        with archive.open(name) as stream:
                            content = stream.read(LARGEST + 1)
                    except Exception as error:  # damaged, encrypted, or compressed in a way that Python does not know
                        reason = f"cannot be unpacked ({error}); make the archive again"
                        raise ImageError(f"{path}: {name}: {reason}") from error
                    if len(content) > LARGEST:
                        raise ImageError(f"{path}: {name}: larger than {LARGEST // 2**20} MiB; remove it")
                    yield f"{path}: {name}", io.BytesIO(content)
    except (OSError, zipfile.BadZipFile) as error:
        raise ImageError(f"{path}: is no folder and no zip file of pictures ({error}); check the path") from error
