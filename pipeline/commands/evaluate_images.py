from pathlib import Path

from pipeline.commands.given import Given
from pipeline.errors import KinoflowError
from pipeline.stages.parameters import Gpus, NewScores
from pipeline.store.places import Place


def evaluate_images(
    given: Given, pictures: Path, *, output: NewScores, experiment: str = "latents", gpus: Gpus = 0
) -> None:
    """Compare any images with the training images of an experiment.

    Reads pictures, and the results of the experiment at this scale. Writes and prints the distance.

    Args:
        pictures: folder or zip file of pictures of one size
        experiment: name of the experiment
    """
    from pipeline.images.evaluate import evaluate_images

    given.experiment(experiment)
    images = Place.IMAGES.under(given.results, experiment=experiment)
    reference = Place.IMAGE_REFERENCE.under(given.results, experiment=experiment)
    for path in (images, reference):
        if not path.is_file():
            make = f"snakemake --cores all --config scale={given.config.scale} -- {path}"
            raise KinoflowError(f"{path}: no such file; make it with `{make}`")
    classifier = Place.CLASSIFIER.under(given.results, ".safetensors", experiment=experiment)
    evaluate_images(
        given.config,
        experiment,
        pictures=pictures,
        images=images,
        image_reference=reference,
        classifier=classifier if classifier.is_file() else None,
        gpus=gpus,
        output=output,
    )
