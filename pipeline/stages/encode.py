from pipeline.errors import KinoflowError
from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Gpus, Images, NewTokens, TrainedTokenizer


@stage(resources="tokenizer.training.resources", one_gpu=True, when=Job.of_codes)
def encode(job: Job, *, images: Images, tokenizer: TrainedTokenizer, output: NewTokens, gpus: Gpus = 0) -> None:
    """Turn images into tokens with a trained tokenizer.

    Reads prepared images. Writes the codes of all views of the training images, and of those held out, with the
    codebook.
    """
    from pipeline.images.encoding import encoded
    from pipeline.images.imagedata import ImageData
    from pipeline.images.tokenizer import SavedTokenizer
    from pipeline.networks.devices import check_gpus

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
    job.record([output], {"data": choice.model_dump()}, [images, tokenizer])
