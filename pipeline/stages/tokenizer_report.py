from pipeline.stages.declaration import Plot, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import (
    Classifier,
    Csv,
    Gpus,
    ImageReference,
    Images,
    Markdown,
    Numbers,
    Tokens,
    TrainedTokenizer,
)


def plot(job: Job) -> Plot:
    """Return how far the rebuilt images are from the originals."""
    return Plot("rfid", "run", f"{job.experiment}: Fréchet distance of rebuilt images", "bar_horizontal")


@stage(
    settings=Job.scoring_settings,
    chosen=Job.metric_modules,
    needs=Job.metric_needs,
    resources="scoring_resources",
    when=Job.of_codes,
    plot=plot,
)
def tokenizer_report(
    job: Job,
    *,
    images: Images,
    tokens: Tokens,
    tokenizer: TrainedTokenizer,
    image_reference: ImageReference,
    csv: Csv,
    markdown: Markdown,
    numbers: Numbers,
    classifier: Classifier = None,
    gpus: Gpus = 0,
) -> None:
    """Say how good a tokenizer is.

    Reads images, codes and the tokenizer. Writes a table: how much of the codebook is used, and how close the rebuilt
    test images are to the originals.
    """
    import torch

    from pipeline.images.feature_choice import ChosenFeatures, comparison_options
    from pipeline.images.frechet import ImageReference
    from pipeline.images.imagedata import ImageData
    from pipeline.images.tokenizer import SavedTokenizer
    from pipeline.images.tokenizer_table import row_of, write_tokenizer_table
    from pipeline.networks.devices import check_gpus
    from pipeline.tokens.token_data import TokenData

    check_gpus(gpus, "scoring_resources.gpus")
    device = torch.device("cuda" if gpus else "cpu")
    options = comparison_options(job.config, job.experiment)
    features = ChosenFeatures.of(options.features)
    row = row_of(
        ImageData.load(images),
        TokenData.load(tokens),
        SavedTokenizer.load(tokenizer, device),
        ImageReference.load(image_reference),
        features.load(cache=job.cache, classifier=classifier, device=device),
        options.batch,
    )
    write_tokenizer_table({"run": f"{job.experiment} tokenizer"} | row, csv, markdown, numbers)
    inputs = [images, tokens, tokenizer, image_reference, classifier, *job.files_of(features)]
    job.record([csv, markdown, numbers], {"experiment": job.experiment}, inputs)
