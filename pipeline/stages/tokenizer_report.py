"""Images, codes and tokenizer to a table of how good the tokenizer is."""

from pipeline.stages.chosen import metric_modules, metric_needs, of_codes, scoring_settings
from pipeline.stages.declaration import Plot, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Classifier, Csv, Gpus, Images, Input, Markdown, Numbers, Tokens


def plot(job: Job) -> Plot:
    """Return how far the rebuilt images are from the originals."""
    return Plot("rfid", "run", f"{job.experiment}: Fréchet distance of rebuilt images", "bar_horizontal")


@stage(
    settings=scoring_settings,
    chosen=metric_modules,
    needs=metric_needs,
    resources="scoring_resources",
    when=of_codes,
    plot=plot,
)
def tokenizer_report(
    job: Job,
    *,
    images: Images,
    tokens: Tokens,
    tokenizer: Input,
    image_reference: Input,
    csv: Csv,
    markdown: Markdown,
    numbers: Numbers,
    classifier: Classifier = None,
    gpus: Gpus = 0,
) -> None:
    """Say how good a tokenizer is.

    Reads images, codes and the tokenizer. Writes a table: how much of the codebook is used, and how close the rebuilt
    test images are to the originals.

    Args:
        tokenizer: weights from `train-tokenizer`
        image_reference: description from `image-reference`
    """
    import torch

    from pipeline.images.feature_choice import ChosenFeatures, comparison_options
    from pipeline.images.frechet import ImageReference
    from pipeline.images.imagedata import ImageData
    from pipeline.images.tokenizer import SavedTokenizer
    from pipeline.images.tokenizer_table import row_of, write_tokenizer_table
    from pipeline.networks.devices import check_gpus
    from pipeline.store.provenance import write_provenance
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
    inputs = [images, tokens, tokenizer, image_reference, *([classifier] if classifier else [])]
    inputs += [*(job.cache / name for name in features.files), *features.inputs]
    write_provenance([csv, markdown, numbers], {"experiment": job.experiment}, job.config.seed, inputs)
