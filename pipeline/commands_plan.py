"""What the command for the scale sheet does; what it counts with is imported only when needed."""

from argparse import Namespace

from pipeline.config_file import load_config, parse_setting


def plan(arguments: Namespace) -> None:
    from pipeline.atomic import write_json
    from pipeline.plan.estimate import Estimate
    from pipeline.plan.finished import finished_trainings
    from pipeline.plan.gpus import check_utilisation, gpu_named
    from pipeline.plan.measure import measured
    from pipeline.plan.record import record_of
    from pipeline.plan.sheet import sheet_of
    from pipeline.plan.show import shown

    gpu = gpu_named(arguments.gpu)
    check_utilisation(arguments.utilisation)
    config = load_config(arguments.config, map(parse_setting, arguments.set))
    sheet = sheet_of(config)
    found = list(measured(config, sheet)) if arguments.measure else []
    estimate = Estimate(sheet, gpu, arguments.utilisation, found, finished_trainings(config))
    print(shown(estimate), end="")
    if arguments.json:
        write_json(arguments.json, record_of(estimate))
