"""Images to the codes of a tokenizer."""

from pipeline.errors import KinoflowError
from pipeline.stages.chosen import of_codes
from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Gpus, Images, Input, Output


@stage(resources="tokenizer.training.resources", one_gpu=True, when=of_codes)
def encode(job: Job, *, images: Images, tokenizer: Input, output: Output, gpus: Gpus = 0) -> None:
    """Turn images into tokens with a trained tokenizer.

    Reads prepared images. Writes the codes of all views of the training images, and of those held out, with the
    codebook.

    Args:
        tokenizer: weights from `train-tokenizer`
        output: tokens to write (.safetensors)
    """
    from pipeline.images.encoding import encoded
    from pipeline.images.imagedata import ImageData
    from pipeline.images.tokenizer import SavedTokenizer
    from pipeline.networks.devices import check_gpus
    from pipeline.store.provenance import write_provenance

    check_gpus(gpus, "tokenizer.training.resources.gpus")
    choice, data = job.block.data, ImageData.load(images)
    options = job.data.options
    saved = SavedTokenizer.load(tokenizer, "cuda" if gpus else "cpu")
    if saved.description.codes != options.codes:
        trained, key = f"{tokenizer}: trained for {saved.description.codes} codes", f"experiments.{job.experiment}.data"
        raise KinoflowError(f"{trained}, but {key}.codes is {options.codes}; train it again")
    output.parent.mkdir(parents=True, exist_ok=True)
    origin = {"name": choice.name} | options.model_dump(mode="json")
    encoded(saved, data, origin, output.parent).save(output)
    write_provenance([output], {"data": choice.model_dump()}, job.config.seed, [images, tokenizer])
