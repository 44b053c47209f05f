from pipeline.errors import KinoflowError
from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Classifier, Gpus, Images, JournalFolder, Output


@stage(
    settings=lambda job: {"seed": job.config.seed} | job.comparison("features", "compared"),
    chosen=Job.metric_modules,
    needs=Job.metric_needs,
    resources="scoring_resources",
    when=lambda job: job.is_images,
)
def image_reference(
    job: Job,
    *,
    images: Images,
    output: Output,
    classifier: Classifier = None,
    journal: JournalFolder = None,
    gpus: Gpus = 0,
) -> None:
    """Describe the images that samples are compared with.

    Reads prepared images. Writes the mean and covariance of the features of all views of the training images, and the
    features of a random subset. Resumes from its journal.

    Args:
        output: description to write (.safetensors)
    """
    import torch

    from pipeline.images.feature_choice import ChosenFeatures, comparison_options
    from pipeline.images.frechet import KIND, ImageReference, described, name_of
    from pipeline.images.imagedata import ImageData
    from pipeline.networks.devices import check_gpus
    from pipeline.store.provenance import known_hash, settings_hash
    from pipeline.store.seeds import derive_seed
    from pipeline.store.tensor_journal import TensorJournal

    options, data = comparison_options(job.config, job.experiment), ImageData.load(images)
    check_gpus(gpus, "scoring_resources.gpus")
    chosen = ChosenFeatures.of(options.features)
    device = torch.device("cuda" if gpus else "cpu")
    extractor = chosen.load(cache=job.cache, classifier=classifier, device=device)
    seed = derive_seed(job.config.seed, job.experiment, KIND)
    inputs = [images, *([classifier] if classifier else []), *chosen.inputs]
    inputs += [job.cache / name for name in chosen.files]
    finished = None
    if journal:  # what is kept ends with a whole batch
        made_from = {"made_from": image_reference.fingerprint(job, inputs), "batch": options.batch}
        finished = TensorJournal(journal, settings_hash(made_from))
    statistics, neighbours = described(data, extractor, options.compared, options.batch, seed, finished)
    if not bool(statistics.scatter.diagonal().any()):
        raise KinoflowError(f"{images}: the features {chosen.label!r} of all images are the same; choose others")
    weights = known_hash(classifier) if chosen.trained and classifier is not None else None
    ImageReference(statistics, neighbours, chosen.label, name_of(data), data.classes, weights).save(output)
    said = {"features": options.features.model_dump(), "compared": options.compared}
    job.record([output], said, inputs)
    if finished:
        finished.remove()
