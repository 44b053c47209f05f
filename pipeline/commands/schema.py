import sys

from pipeline.stages.parameters import OptionalOutput


def schema(*, output: OptionalOutput = None) -> None:
    """Write the JSON schema of the configuration.

    It is made from the code.

    Args:
        output: file to write (default: standard output)
    """
    from pipeline.config.schema import schema_text
    from pipeline.store.atomic import write_text

    if output is None:
        sys.stdout.write(schema_text())
    else:
        write_text(output, schema_text())
