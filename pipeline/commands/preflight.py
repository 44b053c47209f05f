"""What a run lacks."""

import sys
from dataclasses import asdict

from pipeline.commands.given import Given
from pipeline.stages.parameters import OptionalOutput


def preflight(given: Given, *, cluster: bool = False, output: OptionalOutput = None) -> None:
    """List all that a run would need and does not have.

    Files, space, rights, GPUs and packages; fetches nothing. The workflow does the same before its first job.

    Args:
        cluster: jobs run elsewhere: GPUs are not looked for here
        output: problems and remarks to write (.json)
    """
    from pipeline.inspect.preflight.check import preflight
    from pipeline.store.atomic import write_json

    found = preflight(given.config, local=not cluster)
    if output is not None:
        write_json(output, asdict(found))
    sys.stdout.write(found.remarks_text())
    found.raise_problems(str(given.file))
    print(f"{given.file}: nothing is missing")
