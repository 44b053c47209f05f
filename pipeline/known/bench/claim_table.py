"""The table of claims: first the verdict on each, then every comparison by path and number of steps."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.known.bench.claims import ALL, CLAIMS, RATIO, Measured, Steps, verdicts
from pipeline.report.formats import Row, as_csv, markdown_table, write_numbers
from pipeline.store.atomic import write_text

CONDITIONS = ("claim", "smaller", "than", "measure", "path", "scheduler", "NFE")
COUNTS = ("comparisons", "distributions")
NOT_PAPER = " (not a claim of the paper)"
ABOUT = (
    "A ratio is the error of the first over that of the second, as geometric means over rows that differ in nothing "
    "else; its 95 % interval is over distributions. Supported: the interval lies below 1. Not supported: above 1. "
    "Where errors come from samples, ratios tend to 1 as errors come near those of the truth's own samples."
)


def make_claim_table(measured: Sequence[Measured], steps: Steps, *, table: Path, markdown: Path, numbers: Path) -> None:
    """Write the verdicts on all claims; the CSV file also has those for each path and number of steps."""
    rows = [row | {"comparison": _comparison(row)} for row in verdicts(measured, steps)]
    summed = [row for row in rows if row["NFE"] == ALL]
    tables = [[row for row in summed if (row["path"] == ALL) == all_paths] for all_paths in (True, False)]
    metrics = [*COUNTS, *RATIO, "verdict"]
    write_text(table, as_csv(rows, ["comparison", *CONDITIONS, *metrics]))
    whole, by_path = (markdown_table(some, [], CONDITIONS, metrics) for some in tables)
    claims = "".join(f"- {claim.name}: {claim.says}{'' if claim.paper else NOT_PAPER}.\n" for claim in CLAIMS)
    write_text(markdown, f"{claims}\n{whole}\n{ABOUT}\n\nBy path:\n\n{by_path}")
    write_numbers(numbers, {row["comparison"]: {key: row[key] for key in RATIO if key in row} for row in tables[0]})


def _comparison(row: Row) -> str:
    return f"{row['claim']}: {row['smaller']} < {row['than']} ({row['measure']})"
