from pipeline.errors import KinoflowError
from pipeline.stages.declaration import LOSSES, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import CheckpointFolder, Gpus, History, Images, Metrics, NewWeights


@stage(
    settings=lambda job: {"seed": job.config.seed} | job.comparison("features"),
    resources="scoring_resources",
    when=lambda job: job.is_images and job.trains_classifier(),
    plot=lambda job: LOSSES,
)
def train_classifier(
    job: Job,
    *,
    images: Images,
    checkpoints: CheckpointFolder,
    weights: NewWeights,
    metrics: Metrics,
    history: History,
    gpus: Gpus = 0,
) -> None:
    """Train a classifier whose features are used to compare images.

    Reads prepared images. Writes weights, metrics and history. Resumes from the latest checkpoint.
    """
    import torch

    from pipeline.images.classifier import (
        Classifier,
        ClassifierObjective,
        Description,
        accuracy,
        rows_of,
        save_classifier,
        training_of,
    )
    from pipeline.images.feature_choice import ChosenFeatures, comparison_options
    from pipeline.images.imagedata import ImageData
    from pipeline.store.atomic import write_json
    from pipeline.store.seeds import derive_seed
    from pipeline.training.checkpoint import Checkpoints
    from pipeline.training.history import write_history
    from pipeline.training.loop import fit
    from pipeline.training.processes import new_fabric

    chosen, data = ChosenFeatures.of(comparison_options(job.config, job.experiment).features), ImageData.load(images)
    if not chosen.trained:
        raise KinoflowError(
            f"scoring.frechet_distance.features = {chosen.name}: is not trained here; choose classifier"
        )
    if len(data.classes) < 2:
        raise KinoflowError(f"{images}: {len(data.classes)} classes, a classifier needs two; choose other features")
    options = chosen.options
    description = Description(options=options, side=data.crop, channels=data.grid[2], classes=data.classes)
    training, seed = training_of(options), derive_seed(job.config.seed, job.experiment, "classifier")
    torch.manual_seed(derive_seed(seed, "weights"))
    network = Classifier(description)

    fabric = new_fabric(training, gpus, "scoring_resources.gpus")
    fabric.launch()
    fitted = fit(
        fabric,
        network,
        ClassifierObjective(data),
        rows_of(data, "train"),
        rows_of(data, "validation"),
        training,
        seed,
        Checkpoints(checkpoints, train_classifier.fingerprint(job, [images])),
        on_checkpoint=lambda rows: write_history(history, rows),
    )
    if fabric.is_global_zero:
        save_classifier(weights, fitted.network, description)
        write_history(history, fitted.history)
        last = {key: fitted.history[-1][key] for key in ("step", "loss", "validation_loss")}
        parameters = {"parameters": sum(parameter.numel() for parameter in network.parameters())}
        write_json(metrics, last | parameters | accuracy(fitted.network, data, fabric.device))
        job.record([weights, metrics, history], {"classifier": options.model_dump(mode="json")}, [images])
