from typing import Any

from pipeline.config.plugins import DATASETS
from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Images, NewTokens


def settings(job: Job) -> dict[str, Any]:
    """Return what the tokens of images depend on besides the images."""
    return {"seed": job.config.seed, "data": job.block.data.model_dump(mode="json") | {"images": job.images}}


@stage(
    settings=settings,
    chosen=lambda job: [DATASETS.module(job.block.data.name)],
    resources="preparation_resources",
    when=lambda job: job.is_images and not job.of_codes(),
)
def prepare_pixels(job: Job, *, images: Images, output: NewTokens) -> None:
    """Turn images into tokens as they are, one per pixel and channel.

    Reads prepared images. Writes train, validation and test tokens.
    """
    from pipeline.images.imagedata import ImageData

    job.data.plugin.from_images(job.data.options, ImageData.load(images)).save(output)
    job.record([output], {"data": job.block.data.model_dump()}, [images])
