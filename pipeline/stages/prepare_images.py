from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Output
from pipeline.store.undeclared import declared_only


@stage(
    settings=lambda job: {"seed": job.config.seed, "images": job.images},
    chosen=lambda job: job.data.modules[1:],
    needs=Job.data_needs,
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

    options = job.data.options
    source = image_source(options)
    with declared_only(f"images {source.name}", job.files_of(source), [job.cache]):
        images = source.read(job.config.seed, job.cache)
    images.save(output)
    job.record([output], {"images": options.images.model_dump()}, job.files_of(source))
    for split, part in images.images.items():
        print(f"{split}: {len(part)} images of {part.shape[1]} x {part.shape[2]} x {part.shape[3]}")
