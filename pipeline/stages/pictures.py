from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Gpus, OptionalInput, Output, Samples, Tokenizer, Tokens


@stage(resources="scoring_resources", each=Job.rows, when=lambda job: job.is_images)
def pictures(
    job: Job,
    *,
    samples: Samples,
    tokens: Tokens,
    output: Output,
    grid: Output,
    tokenizer: Tokenizer = None,
    images: OptionalInput = None,
    gpus: Gpus = 0,
) -> None:
    """Turn samples into pictures.

    Reads samples and tokens, and for codes also the tokenizer. Writes pictures, and a grid of the first of them with
    the same class in each column.

    Args:
        output: pictures to write (.safetensors)
        grid: grid to write (.png)
        images: images from `prepare-images`, for the reference `images` only
    """
    from pipeline.images.decoding import Decoder, held_out_images
    from pipeline.images.grids import shown_grid, write_png
    from pipeline.images.pictures import Pictures
    from pipeline.networks.devices import check_gpus
    from pipeline.sampling.samples import SampleSet
    from pipeline.tokens.token_data import TokenData

    check_gpus(gpus, "scoring_resources.gpus")
    drawn, data = SampleSet.load(samples), TokenData.load(tokens)
    if drawn.conditions["run"] == "images":
        shown = held_out_images(images, len(drawn.tokens))
    else:
        shown = Decoder.of(data, tokenizer, "cuda" if gpus else "cpu").pictures(drawn.tokens)
    Pictures(shown, drawn.conditions, drawn.labels).save(output)
    write_png(grid, shown_grid(shown, drawn.labels, data.classes))
    inputs = [samples, tokens, tokenizer, images]
    job.record([output, grid], {"experiment": job.experiment}, inputs, drawn.conditions["seed"])
