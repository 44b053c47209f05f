"""The commands for images: the stages of the workflow, and generation on its own."""

import argparse
from pathlib import Path

from pipeline import commands_images as commands
from pipeline.cli_arguments import (
    config_file,
    count,
    device_counts,
    gpu_count,
    input_file,
    journal_folder,
    of_experiment,
    of_run,
    output_file,
)
from pipeline.cli_crystals import Add


def add_image_commands(add: Add) -> None:
    """Add the commands to a parser by its function `add`."""
    _add_preparation(add)
    _add_comparison(add)
    _add_generation(add)


def _add_preparation(add: Add) -> None:
    stage = add(
        "prepare-images",
        commands.prepare_images,
        "prepare the images of an experiment",
        "Reads files of the cache, or the user's own; writes squares of one size with their classes.",
    )
    of_experiment(stage)
    output_file(stage, "--output", "images to write (.safetensors)")

    stage = add(
        "prepare-pixels",
        commands.prepare_pixels,
        "make tokens of images as they are, a token a pixel",
        "Reads prepared images; writes train, validation and test tokens.",
    )
    of_experiment(stage)
    input_file(stage, "--images", "images from `prepare-images`")
    output_file(stage, "--output", "tokens to write (.safetensors)")

    stage = add(
        "train-tokenizer",
        commands.train_tokenizer,
        "train the VQVAE that makes codes of images",
        "Reads prepared images; writes the averaged weights. Goes on from the latest checkpoint.",
    )
    of_experiment(stage)
    input_file(stage, "--images", "images from `prepare-images`")
    _trained(stage)
    device_counts(stage)
    stage.add_argument("--events", type=Path, help="folder for TensorBoard (default: none is written)")

    stage = add(
        "encode",
        commands.encode,
        "make tokens of images by a trained tokenizer",
        "Reads prepared images; writes the codes of all views, with the codebook.",
    )
    of_experiment(stage)
    input_file(stage, "--images", "images from `prepare-images`")
    input_file(stage, "--tokenizer", "weights from `train-tokenizer`")
    output_file(stage, "--output", "tokens to write (.safetensors)")
    gpu_count(stage)

    stage = add(
        "tokenizer-report",
        commands.tokenizer_report,
        "say how good a tokenizer is",
        "Reads images, codes and the tokenizer; writes a table: use of the codebook, and how like images come back.",
    )
    of_experiment(stage)
    input_file(stage, "--images", "images from `prepare-images`")
    input_file(stage, "--tokens", "tokens from `encode`")
    input_file(stage, "--tokenizer", "weights from `train-tokenizer`")
    _compared(stage)
    output_file(stage, "--csv", "table to write, with all digits")
    output_file(stage, "--markdown", "table to write, rounded")
    output_file(stage, "--numbers", "numbers of our rows to write, to compare versions by (.json)")
    gpu_count(stage)


def _add_comparison(add: Add) -> None:
    stage = add(
        "train-classifier",
        commands.train_classifier,
        "train a classifier whose features images are compared by",
        "Reads prepared images; writes weights. Goes on from the latest checkpoint.",
    )
    of_experiment(stage)
    input_file(stage, "--images", "images from `prepare-images`")
    _trained(stage)
    gpu_count(stage)

    stage = add(
        "image-reference",
        commands.image_reference,
        "describe the images that samples are compared with",
        "Reads prepared images; writes the mean and covariance of their features, and some of these. Goes on from its "
        "journal.",
    )
    of_experiment(stage)
    input_file(stage, "--images", "images from `prepare-images`")
    stage.add_argument("--classifier", type=Path, help="weights from `train-classifier`, if its features are used")
    journal_folder(stage)
    output_file(stage, "--output", "description to write (.safetensors)")
    gpu_count(stage)

    stage = add(
        "pictures",
        commands.pictures,
        "make pictures of samples",
        "Reads samples and tokens, of codes also the tokenizer; writes pictures and a grid of the first of them.",
    )
    of_experiment(stage)
    input_file(stage, "--samples", "samples from `sample`, `gather` or `reference`")
    input_file(stage, "--tokens", "tokens from `prepare-pixels` or `encode`")
    _tokenizer(stage)
    stage.add_argument("--images", type=Path, help="images from `prepare-images`, for the reference `images` only")
    output_file(stage, "--output", "pictures to write (.safetensors)")
    output_file(stage, "--grid", "grid to write (.png)")
    gpu_count(stage)

    stage = add(
        "search",
        commands.search,
        "find the velocity and corrector that suit a run best",
        "Draws samples under each combination; writes their distances and the best. Goes on from its journal.",
    )
    of_run(stage)
    input_file(stage, "--tokens", "tokens from `prepare-pixels` or `encode`")
    input_file(stage, "--weights", "weights from `train`")
    _tokenizer(stage)
    _compared(stage)
    output_file(stage, "--journal", "folder of what is finished, removed at the end")
    output_file(stage, "--output", "distances and what was found, to write (.json)")
    gpu_count(stage)

    stage = add(
        "conditional-path",
        commands.conditional_path,
        "draw images on their way along the paths of an experiment",
        "Reads tokens; writes a picture by which the numbers of a metric path can be chosen, before any training.",
    )
    of_experiment(stage)
    input_file(stage, "--tokens", "tokens from `prepare-pixels` or `encode`")
    _tokenizer(stage)
    output_file(stage, "--output", "picture to write (.png)")

    stage = add(
        "sweeps",
        commands.sweeps,
        "make the table of an experiment's sweeps",
        "Reads scores; writes the distance of each network by the number of steps and by the scale of guidance.",
    )
    of_experiment(stage)
    stage.add_argument("--scores", type=Path, nargs="*", default=[], help="scores from `score`")
    output_file(stage, "--csv", "table to write, with all digits")
    output_file(stage, "--markdown", "table to write, rounded")
    output_file(stage, "--numbers", "numbers of our rows to write, to compare versions by (.json)")


def _add_generation(add: Add) -> None:
    stage = add(
        "generate-images",
        commands.generate_images,
        "generate images, of a class if the network is told classes",
        "Reads tokens and weights of a finished run; writes PNG files and a grid of them.",
    )
    config_file(stage)
    stage.add_argument("--experiment", default="latents", help="name of the experiment (default: %(default)s)")
    stage.add_argument("--run", required=True, help="name of the run in the experiment")
    stage.add_argument("--label", help="class of all images, its name or number (default: each class in turn)")
    stage.add_argument("--count", type=count, default=16, help="number of images (default: %(default)s)")
    stage.add_argument("--steps", type=count, help="network evaluations (default: those of the run's sampling)")
    stage.add_argument("--guidance", type=float, help="scale of guidance (default: that of the run's sampling)")
    stage.add_argument("--seed", type=count, default=0, help="seed (default: %(default)s)")
    stage.add_argument("--tokens", type=Path, help="tokens (default: those of the scale's results)")
    stage.add_argument("--weights", type=Path, help="weights from `train` (default: those of the scale's results)")
    _tokenizer(stage)
    output_file(stage, "--output", "folder to write images.zip and grid.png to")
    gpu_count(stage)

    stage = add(
        "evaluate-images",
        commands.evaluate_images,
        "compare anybody's images with the training images of an experiment",
        "Reads pictures, and what the scale's results have of the experiment; writes and prints the distance.",
    )
    config_file(stage)
    stage.add_argument("pictures", type=Path, help="folder or zip file of pictures of one size")
    stage.add_argument("--experiment", default="latents", help="name of the experiment (default: %(default)s)")
    output_file(stage, "--output", "scores to write (.json)")
    gpu_count(stage)


def _trained(stage: argparse.ArgumentParser) -> None:
    output_file(stage, "--checkpoints", "folder of checkpoints, which are kept")
    output_file(stage, "--weights", "weights to write (.safetensors)")
    output_file(stage, "--metrics", "last losses to write (.json)")
    output_file(stage, "--history", "losses along the training to write (.csv)")


def _tokenizer(stage: argparse.ArgumentParser) -> None:
    stage.add_argument("--tokenizer", type=Path, help="weights from `train-tokenizer`, of codes only")


def _compared(stage: argparse.ArgumentParser) -> None:
    input_file(stage, "--image-reference", "description from `image-reference`")
    stage.add_argument("--classifier", type=Path, help="weights from `train-classifier`, if its features are used")
