from pipeline.commands.given import Given
from pipeline.stages.parameters import Output


def jobs(given: Given, *, output: Output) -> None:
    """Write what every job depends on besides files: its settings and a hash of its code.

    Reads the configuration only. DVC compares what is written to know which stages to run again.

    Args:
        output: settings and code by stage, experiment and run to write (.json)
    """
    from pipeline.inspect.jobs import dependencies_of
    from pipeline.store.atomic import write_json

    write_json(output, dependencies_of(given.config))
