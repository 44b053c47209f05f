"""What the commands for images do; the functions of the stages are imported only when needed."""

from argparse import Namespace

from pipeline.commands import check_files, config_of, results_folder, trained_files


def prepare_images(arguments: Namespace) -> None:
    from pipeline.images.prepare import prepare_images

    prepare_images(config_of(arguments), arguments.experiment, arguments.output)


def prepare_pixels(arguments: Namespace) -> None:
    from pipeline.images.prepare import prepare_pixels

    check_files(arguments.images)
    prepare_pixels(config_of(arguments), arguments.experiment, images=arguments.images, output=arguments.output)


def train_tokenizer(arguments: Namespace) -> None:
    from pipeline.images.tokenizer_training import train_tokenizer
    from pipeline.training.processes import start_processes

    check_files(arguments.images)
    start_processes(arguments.gpus, arguments.nodes)
    train_tokenizer(
        config_of(arguments),
        arguments.experiment,
        images=arguments.images,
        checkpoints=arguments.checkpoints,
        gpus=arguments.gpus,
        weights=arguments.weights,
        metrics=arguments.metrics,
        history=arguments.history,
        events=arguments.events,
    )


def encode(arguments: Namespace) -> None:
    from pipeline.images.encoding import encode_images

    check_files(arguments.images, arguments.tokenizer)
    encode_images(
        config_of(arguments),
        arguments.experiment,
        images=arguments.images,
        weights=arguments.tokenizer,
        gpus=arguments.gpus,
        output=arguments.output,
    )


def tokenizer_report(arguments: Namespace) -> None:
    from pipeline.images.tokenizer_table import make_tokenizer_table

    check_files(arguments.images, arguments.tokens, arguments.tokenizer, arguments.image_reference)
    make_tokenizer_table(
        config_of(arguments),
        arguments.experiment,
        images=arguments.images,
        tokens=arguments.tokens,
        tokenizer=arguments.tokenizer,
        image_reference=arguments.image_reference,
        classifier=arguments.classifier,
        gpus=arguments.gpus,
        table=arguments.csv,
        markdown=arguments.markdown,
        numbers=arguments.numbers,
    )


def train_classifier(arguments: Namespace) -> None:
    from pipeline.images.train_classifier import train_classifier

    check_files(arguments.images)
    train_classifier(
        config_of(arguments),
        arguments.experiment,
        images=arguments.images,
        checkpoints=arguments.checkpoints,
        gpus=arguments.gpus,
        weights=arguments.weights,
        metrics=arguments.metrics,
        history=arguments.history,
    )


def image_reference(arguments: Namespace) -> None:
    from pipeline.images.reference import describe_reference

    check_files(arguments.images)
    describe_reference(
        config_of(arguments),
        arguments.experiment,
        images=arguments.images,
        classifier=arguments.classifier,
        gpus=arguments.gpus,
        output=arguments.output,
        journal=arguments.journal,
    )


def pictures(arguments: Namespace) -> None:
    from pipeline.images.decoding import make_pictures

    check_files(arguments.samples, arguments.tokens)
    make_pictures(
        arguments.experiment,
        samples=arguments.samples,
        tokens=arguments.tokens,
        tokenizer=arguments.tokenizer,
        images=arguments.images,
        gpus=arguments.gpus,
        output=arguments.output,
        grid=arguments.grid,
    )


def search(arguments: Namespace) -> None:
    from pipeline.images.search import search

    check_files(arguments.tokens, arguments.weights, arguments.image_reference)
    search(
        config_of(arguments),
        arguments.experiment,
        arguments.run,
        tokens=arguments.tokens,
        weights=arguments.weights,
        tokenizer=arguments.tokenizer,
        image_reference=arguments.image_reference,
        classifier=arguments.classifier,
        journal=arguments.journal,
        gpus=arguments.gpus,
        output=arguments.output,
    )


def conditional_path(arguments: Namespace) -> None:
    from pipeline.images.conditional_path import make_path_figure

    check_files(arguments.tokens)
    make_path_figure(
        config_of(arguments),
        arguments.experiment,
        tokens=arguments.tokens,
        tokenizer=arguments.tokenizer,
        output=arguments.output,
    )


def sweeps(arguments: Namespace) -> None:
    from pipeline.images.sweeps import make_sweep_table

    check_files(*arguments.scores)
    make_sweep_table(
        config_of(arguments),
        arguments.experiment,
        scores=arguments.scores,
        table=arguments.csv,
        markdown=arguments.markdown,
        numbers=arguments.numbers,
    )


def evaluate_images(arguments: Namespace) -> None:
    from pipeline.images.evaluate import evaluate_images

    config = config_of(arguments)
    folder, file = results_folder(config), f"{arguments.experiment}.safetensors"
    images, reference = folder / "images" / file, folder / "image_references" / file
    check_files(images, reference)
    classifier = folder / "classifiers" / file
    evaluate_images(
        config,
        arguments.experiment,
        pictures=arguments.pictures,
        images=images,
        image_reference=reference,
        classifier=classifier if classifier.is_file() else None,
        gpus=arguments.gpus,
        output=arguments.output,
    )


def generate_images(arguments: Namespace) -> None:
    from pipeline.images.generation import generate_images

    config = config_of(arguments)
    tokens, weights = trained_files(arguments, config, arguments.experiment)
    tokenizer = arguments.tokenizer
    if tokenizer is None and config.experiments[arguments.experiment].tokenizer is not None:
        tokenizer = results_folder(config) / "tokenizers" / f"{arguments.experiment}.safetensors"
        check_files(tokenizer)
    generate_images(
        config,
        arguments.experiment,
        arguments.run,
        tokens=tokens,
        weights=weights,
        tokenizer=tokenizer,
        label=arguments.label,
        count=arguments.count,
        steps=arguments.steps,
        guidance=arguments.guidance,
        seed=arguments.seed,
        gpus=arguments.gpus,
        output=arguments.output,
    )
