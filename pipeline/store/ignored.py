"""What Git ignores in a folder of results."""

from pathlib import Path

from pipeline.store.atomic import write_text

KNOWN = "results"  # .gitignore at the root says the same of it
IGNORED = """\
# Made by the workflow; only the small tables, the scores and headlines are kept.
/*/*
!/*/tables/
!/*/scores/
!/*/headlines/
"""


def keep_from_git(results: Path) -> None:
    """Write a .gitignore to a folder of results under another name, unless it has one."""
    ignored = results / ".gitignore"
    if results != Path(KNOWN) and not ignored.exists():
        write_text(ignored, IGNORED)
