"""The stages that prepare an experiment's images, and the tokens that are their pixels."""

from pathlib import Path

from pipeline.config import Config
from pipeline.config.plugins import DATASETS
from pipeline.images.dataset import image_source
from pipeline.images.imagedata import ImageData
from pipeline.store.provenance import write_provenance


def prepare_images(config: Config, experiment: str, output: Path) -> None:
    """Write the images of an experiment's data set, as squares of one size."""
    choice = config.experiments[experiment].data
    options, cache = DATASETS.options(choice.name, choice.options), Path(config.data.cache)
    source = image_source(options)
    images = source.read(config.seed, cache)
    images.save(output)
    inputs = [*(cache / name for name in source.files), *source.inputs]
    write_provenance([output], {"images": options.images.model_dump()}, config.seed, inputs)
    for split, part in images.images.items():
        print(f"{split}: {len(part)} images of {part.shape[1]} x {part.shape[2]} x {part.shape[3]}")


def prepare_pixels(config: Config, experiment: str, *, images: Path, output: Path) -> None:
    """Write the tokens of images as they are."""
    choice = config.experiments[experiment].data
    options = DATASETS.options(choice.name, choice.options)
    DATASETS.load(choice.name).from_images(options, ImageData.load(images)).save(output)
    write_provenance([output], {"data": choice.model_dump()}, config.seed, [images])
