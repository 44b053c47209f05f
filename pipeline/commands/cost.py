import sys

from pipeline.commands.given import Given
from pipeline.stages.parameters import OptionalOutput


def cost(given: Given, *, output: OptionalOutput = None) -> None:
    """Show what results have cost: core-minutes by rule and experiment.

    Reads what Snakemake measured while the jobs ran.

    Args:
        output: table to write (.csv), one row per rule, experiment and run, with time and memory
    """
    from pipeline.inspect.cost import costs_of, csv_of, text_of
    from pipeline.store.atomic import write_text

    costs = costs_of(given.results / "benchmarks", list(given.config.experiments))
    if output is not None:
        write_text(output, csv_of(costs))
    sys.stdout.write(text_of(costs))
