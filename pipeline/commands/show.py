import sys

from pipeline.commands.given import Given


def show(given: Given, run: str) -> None:
    """Show a run: its settings, the curve of its loss, its figures, and its files.

    Args:
        run: its name, or `<experiment>/<name>` if several experiments have one of that name
    """
    from pipeline.inspect.runs import find_run, text_of_run

    sys.stdout.write(text_of_run(find_run(given.config, given.results, run)))
