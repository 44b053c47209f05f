"""What the command for the scale sheet does; what it counts with is imported only when needed."""

from argparse import Namespace

from pipeline.config.loading import load_config, parse_setting


def plan(arguments: Namespace) -> None:
    from pipeline.inspect.plan.estimate import Estimate
    from pipeline.inspect.plan.finished import finished_trainings
    from pipeline.inspect.plan.gpus import check_utilisation, gpu_named
    from pipeline.inspect.plan.measure import measured
    from pipeline.inspect.plan.record import record_of
    from pipeline.inspect.plan.sheet import sheet_of
    from pipeline.inspect.plan.show import shown
    from pipeline.store.atomic import write_json

    gpu = gpu_named(arguments.gpu)
    check_utilisation(arguments.utilisation)
    config = load_config(arguments.config, map(parse_setting, arguments.set))
    sheet = sheet_of(config)
    found = list(measured(config, sheet)) if arguments.measure else []
    estimate = Estimate(sheet, gpu, arguments.utilisation, found, finished_trainings(config))
    print(shown(estimate), end="")
    if arguments.json:
        write_json(arguments.json, record_of(estimate))
