import sys
from pathlib import Path

from pipeline.stages.parameters import OptionalOutput


def trace(artefact: Path, *, json: OptionalOutput = None) -> None:
    """Show what a table, figure or other artefact was made from.

    Reads the records beside the files, down to the data, and compares each file with its checksum.

    Args:
        artefact: a file made by the workflow
        json: file to write the same to for programs, with the commands
    """
    from pipeline.inspect.trace import as_json, as_text, trace_artefact
    from pipeline.store.atomic import write_json

    traced = trace_artefact(artefact)
    if json is not None:
        write_json(json, as_json(traced))
    sys.stdout.write(as_text(traced))
