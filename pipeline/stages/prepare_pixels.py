"""Images to tokens, as they are."""

from typing import Any

from pipeline.config.plugins import DATASETS
from pipeline.stages.chosen import without_threads
from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Images, Output


def settings(job: Job) -> dict[str, Any]:
    """Return what the tokens of images depend on besides the images."""
    data = job.block.data.model_dump(mode="json")
    return {"seed": job.config.seed, "data": data | {"images": without_threads(data["images"])}}


@stage(
    settings=settings,
    chosen=lambda job: [DATASETS.module(job.block.data.name)],
    resources="preparation_resources",
    when=lambda job: job.is_images and job.block.tokenizer is None,
)
def prepare_pixels(job: Job, *, images: Images, output: Output) -> None:
    """Turn images into tokens as they are, one per pixel and channel.

    Reads prepared images. Writes train, validation and test tokens.

    Args:
        output: tokens to write (.safetensors)
    """
    from pipeline.images.imagedata import ImageData
    from pipeline.store.provenance import write_provenance

    job.data.plugin.from_images(job.data.options, ImageData.load(images)).save(output)
    write_provenance([output], {"data": job.block.data.model_dump()}, job.config.seed, [images])
