"""Files to images of one size."""

from typing import Any

from pipeline.stages.chosen import data_modules, data_needs, without_threads
from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Output


def settings(job: Job) -> dict[str, Any]:
    """Return what images depend on."""
    return {"seed": job.config.seed, "images": without_threads(job.block.data.options["images"])}


@stage(
    settings=settings,
    chosen=lambda job: data_modules(job)[1:],
    needs=data_needs,
    resources="preparation_resources",
    when=lambda job: job.is_images,
)
def prepare_images(job: Job, *, output: Output) -> None:
    """Prepare the images of an experiment.

    Reads files of the cache, or the user's own. Writes squares of one size with their classes.

    Args:
        output: images to write (.safetensors)
    """
    from pipeline.images.dataset import image_source
    from pipeline.store.provenance import write_provenance

    options = job.data.options
    source = image_source(options)
    images = source.read(job.config.seed, job.cache)
    images.save(output)
    inputs = [*(job.cache / name for name in source.files), *source.inputs]
    write_provenance([output], {"images": options.images.model_dump()}, job.config.seed, inputs)
    for split, part in images.images.items():
        print(f"{split}: {len(part)} images of {part.shape[1]} x {part.shape[2]} x {part.shape[3]}")
