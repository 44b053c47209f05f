"""What the commands do: from parsed arguments to the functions of the stages, which are imported only when needed."""

import sys
from argparse import Namespace
from pathlib import Path

from pipeline.config import Config
from pipeline.config.loading import load_config, parse_setting
from pipeline.errors import KinoflowError, did_you_mean


def prepare(arguments: Namespace) -> None:
    from pipeline.tokens.prepare import prepare_data

    prepare_data(config_of(arguments), arguments.experiment, arguments.output, arguments.rows)


def train(arguments: Namespace) -> None:
    from pipeline.training.processes import start_processes
    from pipeline.training.train import train_run

    check_files(arguments.tokens)
    start_processes(arguments.gpus, arguments.nodes)
    train_run(
        config_of(arguments),
        arguments.experiment,
        arguments.run,
        tokens=arguments.tokens,
        checkpoints=arguments.checkpoints,
        gpus=arguments.gpus,
        weights=arguments.weights,
        metrics=arguments.metrics,
        history=arguments.history,
        events=arguments.events,
    )


def sample(arguments: Namespace) -> None:
    from pipeline.sampling.generate import sample_run

    check_files(arguments.tokens, arguments.weights)
    sample_run(
        config_of(arguments),
        arguments.experiment,
        arguments.run,
        tokens=arguments.tokens,
        weights=arguments.weights,
        shard=arguments.shard,
        shards=arguments.shards,
        gpus=arguments.gpus,
        output=arguments.output,
        search=arguments.search,
        journal=arguments.journal,
    )


def gather(arguments: Namespace) -> None:
    from pipeline.sampling.generate import gather_shards

    check_files(*arguments.shards)
    gather_shards(arguments.shards, arguments.output)


def reference(arguments: Namespace) -> None:
    from pipeline.sampling.references import draw_reference

    check_files(arguments.tokens)
    draw_reference(
        config_of(arguments),
        arguments.experiment,
        arguments.reference,
        tokens=arguments.tokens,
        output=arguments.output,
    )


def score(arguments: Namespace) -> None:
    from pipeline.scoring.score import score_samples

    evidence = [arguments.structures, arguments.described, arguments.test]
    if any(evidence) and not all(evidence):
        raise KinoflowError("--structures, --described and --test: of crystals, give all three")
    of_images = [arguments.pictures, arguments.image_reference, arguments.classifier]
    given = [arguments.weights, arguments.judge_weights, *evidence, *of_images]
    check_files(arguments.samples, arguments.tokens, *(path for path in given if path))
    score_samples(
        config_of(arguments),
        arguments.experiment,
        samples=arguments.samples,
        tokens=arguments.tokens,
        weights=arguments.weights,
        evidence=evidence if arguments.structures else None,
        judge_weights=arguments.judge_weights,
        pictures=arguments.pictures,
        image_reference=arguments.image_reference,
        classifier=arguments.classifier,
        gpus=arguments.gpus,
        output=arguments.output,
        journal=arguments.journal,
    )


def table(arguments: Namespace) -> None:
    from pipeline.report.tables import make_table

    check_files(*arguments.scores)
    make_table(
        config_of(arguments),
        arguments.experiment,
        scores=arguments.scores,
        table=arguments.csv,
        markdown=arguments.markdown,
        numbers=arguments.numbers,
    )


def figure(arguments: Namespace) -> None:
    from pipeline.report.figure import make_figure

    tables = [*arguments.structures, *arguments.relaxed, *arguments.scores, *arguments.pictures]
    check_files(arguments.tokens, *arguments.samples, *tables)
    make_figure(
        config_of(arguments),
        arguments.experiment,
        samples=arguments.samples,
        structures=arguments.structures,
        relaxed=arguments.relaxed,
        scores=arguments.scores,
        pictures=arguments.pictures,
        tokens=arguments.tokens,
        output=arguments.output,
    )


def fetch(arguments: Namespace) -> None:
    from pipeline.fetch.fetching import fetch_by_name, list_resources

    settings = load_config(arguments.config, map(parse_setting, arguments.set), choices=False).data
    cache = arguments.cache or Path(settings.cache)
    mirror = arguments.mirror or (Path(settings.mirror) if settings.mirror else None)
    for name in arguments.names:
        order = tuple(arguments.order or settings.order)
        for path in fetch_by_name(name, cache, order, mirror, checksums=settings.checksums):
            print(path)
    if not arguments.names:
        for row in list_resources(cache):
            cached = "cached" if row["cached"] == "yes" else ""
            print(f"{row['name']:<48} {row['size']:>10}  {cached:<6}  {row['sources']:<16}  {row['origin']}")


def check(arguments: Namespace) -> None:
    import yaml

    config = load_config(arguments.config, map(parse_setting, arguments.set))
    yaml.safe_dump(config.model_dump(mode="json"), sys.stdout, sort_keys=False)


def schema(arguments: Namespace) -> None:
    from pipeline.config.schema import schema_text
    from pipeline.store.atomic import write_text

    if arguments.output is None:
        sys.stdout.write(schema_text())
    else:
        write_text(arguments.output, schema_text())


def config_of(arguments: Namespace) -> Config:
    """Return the configuration, in which the experiment and the run that are asked for exist."""
    config = load_config(arguments.config, map(parse_setting, arguments.set))
    experiments = list(config.experiments)
    if arguments.experiment not in experiments:
        hint = did_you_mean(arguments.experiment, experiments)
        raise KinoflowError(f"--experiment {arguments.experiment!r}: not in {arguments.config}; {hint}")
    runs = list(config.experiments[arguments.experiment].runs)
    if hasattr(arguments, "run") and arguments.run not in runs:
        raise KinoflowError(f"--run {arguments.run!r}: not in {arguments.config}; {did_you_mean(arguments.run, runs)}")
    return config


def check_files(*paths: Path) -> None:
    for path in paths:
        if not path.is_file():
            raise KinoflowError(f"{path}: no such file; make it with the command that writes it (see --help)")


def results_folder(config: Config) -> Path:
    """Return the folder of a scale's results."""
    return Path(config.results) / config.scale


def trained_files(arguments: Namespace, config: Config, experiment: str) -> tuple[Path, Path]:
    """Return the tokens and the weights of a finished run: those that were named, or those of the scale's results."""
    runs, folder = config.experiments[experiment].runs, results_folder(config)
    if arguments.run not in runs:
        raise KinoflowError(
            f"--run {arguments.run!r}: not in {arguments.config}; {did_you_mean(arguments.run, list(runs))}"
        )
    run = runs[arguments.run].weights or arguments.run
    tokens = arguments.tokens or folder / "tokens" / f"{experiment}.safetensors"
    weights = arguments.weights or folder / "models" / experiment / f"{run}.safetensors"
    for path in (tokens, weights):
        if not path.is_file():
            train = (
                f"snakemake --cores all --config scale={config.scale} -- {folder}/models/{experiment}/{run}.safetensors"
            )
            raise KinoflowError(f"{path}: no such file; train the run with `{train}`, or name another file")
    return tokens, weights
