import sys
from pathlib import Path

from pipeline.stages.parameters import OptionalOutput


def evidence(
    *, template: Path = Path("docs/evidence.template.md"), root: Path = Path(), output: OptionalOutput = None
) -> None:
    """Write a page whose numbers are read from tables.

    Args:
        template: page with `{{ cell(table, column, name=value) }}` where a number belongs
        root: folder that the tables' paths start from
        output: file to write, `docs/evidence.md` in the root of the repository (default: standard output)
    """
    from pipeline.report.evidence import page_of
    from pipeline.store.atomic import write_text

    page = page_of(template, root)
    if output is None:
        sys.stdout.write(page)
    else:
        write_text(output, page)
