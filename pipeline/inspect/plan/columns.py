"""Tables for a terminal, with aligned columns and short numbers."""

from collections.abc import Sequence

UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
LONGEST = 34  # characters of a cell; more is cut off
WIDTH = 100


def columns(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return the lines of a table; the first `left` columns are aligned to the left, the others to the right."""
    cells = [[_cut(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        aligned = [
            cell.ljust(width) if number < left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(aligned).rstrip())
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def short(value: float | None) -> str:
    """Return a number with three digits, such as 7,810 or 0.0565 or 3.07e+21; None gives "unknown"."""
    if value is None:
        return "unknown"
    if value == 0:
        return "0"
    if 100 <= value < 1e7:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def size(number: int | None) -> str:
    """Return a number of bytes in a suitable unit."""
    if number is None:
        return "unknown"
    value = float(number)
    for unit in UNITS[:-1]:
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} {UNITS[-1]}"


def _cut(cell: str) -> str:
    return cell if len(cell) <= LONGEST else f"{cell[: LONGEST - 1]}…"
