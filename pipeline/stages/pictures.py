"""Samples of images to pictures."""

from pipeline.stages.declaration import Count, Input, OptionalInput, Output, stage
from pipeline.stages.job import Job


@stage(resources="scoring_resources", each=Job.rows, when=lambda job: job.is_images)
def pictures(
    job: Job,
    *,
    samples: Input,
    tokens: Input,
    output: Output,
    grid: Output,
    tokenizer: OptionalInput = None,
    images: OptionalInput = None,
    gpus: Count = 0,
) -> None:
    """Make pictures of samples.

    Reads samples and tokens, of codes also the tokenizer. Writes pictures, and a grid of the first of them with the
    same class in each column.

    Args:
        samples: samples from `sample`, `gather` or `reference`
        tokens: tokens from `prepare-pixels` or `encode`
        output: pictures to write (.safetensors)
        grid: grid to write (.png)
        tokenizer: weights from `train-tokenizer`, of codes only
        images: images from `prepare-images`, for the reference `images` only
        gpus: GPUs to use; 0 is the CPU
    """
    from pipeline.images.decoding import Decoder, held_out_images, shown_grid
    from pipeline.images.grids import write_png
    from pipeline.images.pictures import Pictures
    from pipeline.networks.devices import check_gpus
    from pipeline.sampling.samples import SampleSet
    from pipeline.store.provenance import write_provenance
    from pipeline.tokens.token_data import TokenData

    check_gpus(gpus, "scoring_resources.gpus")
    drawn, data = SampleSet.load(samples), TokenData.load(tokens)
    if drawn.conditions["run"] == "images":
        shown = held_out_images(images, len(drawn.tokens))
    else:
        shown = Decoder.of(data, tokenizer, "cuda" if gpus else "cpu").pictures(drawn.tokens)
    Pictures(shown, drawn.conditions, drawn.labels).save(output)
    write_png(grid, shown_grid(shown, drawn.labels, data.classes))
    inputs = [samples, tokens, *(path for path in (tokenizer, images) if path)]
    write_provenance([output, grid], {"experiment": job.experiment}, drawn.conditions["seed"], inputs)
