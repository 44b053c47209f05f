import sys

from pipeline.commands.given import Given


def compare(given: Given, first: str, second: str) -> None:
    """Compare two runs: the settings in which they differ, and their figures side by side.

    Args:
        first: name of a run, or `<experiment>/<name>`
        second: name of the other
    """
    from pipeline.inspect.runs import find_run, text_of_comparison

    found = [find_run(given.config, given.results, name) for name in (first, second)]
    sys.stdout.write(text_of_comparison(*found))
