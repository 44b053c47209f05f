import sys
from dataclasses import asdict

from pipeline.commands.given import Given
from pipeline.stages.parameters import OptionalOutput, Texts


def preflight(given: Given, *, experiment: Texts = (), cluster: bool = False, output: OptionalOutput = None) -> None:
    """List everything that a run needs but does not have.

    Checks files, disk space, permissions, GPUs and packages. Fetches nothing. The workflow does the same before its
    first job.

    Args:
        experiment: only these experiments (default: all)
        cluster: jobs run on other machines, so do not look for GPUs here
        output: problems and remarks to write (.json)
    """
    from pipeline.inspect.preflight.check import preflight
    from pipeline.store.atomic import write_json

    found = preflight(given.only(experiment), local=not cluster)
    if output is not None:
        write_json(output, asdict(found))
    sys.stdout.write(found.remarks_text())
    found.raise_problems(str(given.file))
    print(f"{given.file}: nothing is missing")
