"""What the commands for text do; the functions of the stages are imported only when needed."""

from argparse import Namespace

from pipeline.commands import check_files, config_of, trained_files


def texts(arguments: Namespace) -> None:
    from pipeline.text.export import export_texts

    check_files(arguments.samples, arguments.tokens)
    export_texts(samples=arguments.samples, tokens=arguments.tokens, text=arguments.text, lines=arguments.lines)


def judge(arguments: Namespace) -> None:
    from pipeline.text.judge import prepare_judge

    prepare_judge(config_of(arguments), arguments.experiment, arguments.output)


def generate_text(arguments: Namespace) -> None:
    from pipeline.text.generation import generate_text

    config = config_of(arguments)
    tokens, weights = trained_files(arguments, config, arguments.experiment)
    generate_text(
        config,
        arguments.experiment,
        arguments.run,
        tokens=tokens,
        weights=weights,
        given={part: getattr(arguments, part) for part in ("prefix", "middle", "suffix") if getattr(arguments, part)},
        count=arguments.count,
        steps=arguments.steps,
        seed=arguments.seed,
        gpus=arguments.gpus,
        output=arguments.output,
    )
