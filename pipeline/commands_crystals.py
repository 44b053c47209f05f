"""What the commands for crystals do: from parsed arguments to functions, which are imported only when needed."""

from argparse import Namespace
from pathlib import Path

from pipeline.commands import check_files, config_of, results_folder, trained_files
from pipeline.config import Config
from pipeline.config.loading import load_config, parse_setting
from pipeline.errors import KinoflowError, did_you_mean


def decode(arguments: Namespace) -> None:
    from pipeline.crystals.decode import decode_samples

    check_files(arguments.samples)
    decode_samples(
        config_of(arguments),
        arguments.experiment,
        samples=arguments.samples,
        table=arguments.output,
        extxyz=arguments.extxyz,
        cifs=arguments.cifs,
    )


def describe(arguments: Namespace) -> None:
    from pipeline.crystals.describe import describe

    check_files(arguments.crystals)
    describe(
        config_of(arguments),
        arguments.experiment,
        crystals=arguments.crystals,
        split=arguments.split,
        output=arguments.output,
        journal=arguments.journal,
    )


def relax(arguments: Namespace) -> None:
    from pipeline.crystals.relaxation import relax_shard

    check_files(arguments.crystals)
    relax_shard(
        config_of(arguments),
        arguments.experiment,
        crystals=arguments.crystals,
        shard=arguments.shard,
        shards=arguments.shards,
        journal=arguments.journal,
        output=arguments.output,
    )


def gather_relaxed(arguments: Namespace) -> None:
    from pipeline.crystals.relaxation import gather_relaxed

    check_files(*arguments.shards)
    gather_relaxed(arguments.shards, arguments.output)


def hull(arguments: Namespace) -> None:
    from pipeline.crystals.hull import build_hull

    check_files(arguments.rows)
    build_hull(config_of(arguments), arguments.experiment, rows=arguments.rows, output=arguments.output)


def calibrate(arguments: Namespace) -> None:
    from pipeline.crystals.calibration import calibrate

    check_files(arguments.rows, arguments.hull)
    calibrate(
        config_of(arguments),
        arguments.experiment,
        rows=arguments.rows,
        hull=arguments.hull,
        csv=arguments.csv,
        markdown=arguments.markdown,
        numbers=arguments.numbers,
    )


def assess(arguments: Namespace) -> None:
    from pipeline.crystals.assess import assess

    check_files(arguments.described, arguments.relaxed, arguments.hull, arguments.rows)
    assess(
        config_of(arguments),
        arguments.experiment,
        described=arguments.described,
        relaxed=arguments.relaxed,
        hull=arguments.hull,
        rows=arguments.rows,
        output=arguments.output,
        csv=arguments.csv,
    )


def generate_crystals(arguments: Namespace) -> None:
    from pipeline.crystals.generation import generate_crystals

    config, experiment = _crystal_experiment(arguments)
    if (arguments.formula is None) == (arguments.template is None):
        raise KinoflowError("give either --formula or --template")
    tokens, weights = trained_files(arguments, config, experiment)
    check_files(*([arguments.template] if arguments.template else []))
    generate_crystals(
        config,
        experiment,
        arguments.run,
        tokens=tokens,
        weights=weights,
        formula=arguments.formula,
        units=arguments.units,
        template=arguments.template,
        keep=tuple(arguments.keep),
        count=arguments.count,
        seed=arguments.seed,
        gpus=arguments.gpus,
        output=arguments.output,
    )


def evaluate_crystals(arguments: Namespace) -> None:
    from pipeline.crystals.evaluate import evaluate

    config, experiment = _crystal_experiment(arguments)
    folder = results_folder(config)
    evaluate(
        config,
        experiment,
        path=arguments.path,
        relaxed=arguments.relax,
        rows=_given_or_known(arguments.rows, folder / "rows" / f"{experiment}.parquet"),
        hull=_given_or_known(arguments.hull, folder / "hull" / f"{experiment}.parquet"),
        output=arguments.output,
    )


def dft_inputs(arguments: Namespace) -> None:
    from pipeline.crystals.dft import write_dft_inputs

    check_files(arguments.structures, arguments.relaxed)
    write_dft_inputs(arguments.structures, arguments.relaxed, arguments.output, arguments.threshold)


def dft_collect(arguments: Namespace) -> None:
    from pipeline.crystals.dft import collect_dft

    check_files(arguments.structures, arguments.hull)
    collect_dft(arguments.results, arguments.structures, arguments.hull, arguments.output)


def _crystal_experiment(arguments: Namespace) -> tuple[Config, str]:
    """Return the configuration and the experiment that is asked for, or its only one on crystals."""
    config = load_config(arguments.config, map(parse_setting, arguments.set))
    known = [name for name, experiment in config.experiments.items() if experiment.crystals is not None]
    if arguments.experiment is None and len(known) != 1:
        raise KinoflowError(
            f"--experiment: {arguments.config} has {len(known)} on crystals ({', '.join(known)}); name one"
        )
    if arguments.experiment is not None and arguments.experiment not in known:
        hint = did_you_mean(arguments.experiment, known)
        raise KinoflowError(f"--experiment {arguments.experiment!r}: not one on crystals in {arguments.config}; {hint}")
    return config, arguments.experiment or known[0]


def _given_or_known(given: Path | None, known: Path) -> Path | None:
    """Return the file that is given, which must exist, or the one of the results if there is one."""
    if given is not None:
        check_files(given)
        return given
    return known if known.is_file() else None
