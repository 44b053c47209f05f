from pipeline.commands.given import Given
from pipeline.stages.parameters import OptionalOutput, Texts


def plan(
    given: Given,
    *,
    experiment: Texts = (),
    gpu: str = "A100",
    utilisation: float = 0.35,
    measure: bool = False,
    json: OptionalOutput = None,
) -> None:
    """Print what a configuration asks for: jobs, parameters, FLOPs, GPU-hours, disk.

    Reads only the configuration. Needs neither data nor a GPU.

    Args:
        experiment: only these experiments (default: all)
        gpu: kind of GPU to compare time limits for
        utilisation: share of the GPU's peak that is reached
        measure: also run a few training steps of each network here
        json: file to write the sheet to, with all digits (default: none)
    """
    from pipeline.inspect.plan.estimate import Estimate, finished_trainings
    from pipeline.inspect.plan.measure import measured
    from pipeline.inspect.plan.sheet import sheet_of
    from pipeline.inspect.plan.show import record_of, shown
    from pipeline.inspect.plan.work import check_utilisation, gpu_named
    from pipeline.store.atomic import write_json

    kind = gpu_named(gpu)
    check_utilisation(utilisation)
    config = given.only(experiment)
    sheet = sheet_of(config)
    found = list(measured(config, sheet)) if measure else []
    estimate = Estimate(sheet, kind, utilisation, found, finished_trainings(config))
    print(shown(estimate), end="")
    if json:
        write_json(json, record_of(estimate))
