"""The structures of a data set that cannot be used: how many for which reason, and the names of the first."""

import pandas as pd

_NAMED = 3  # of each reason


def summary_of(rows: pd.DataFrame) -> list[str]:
    """Return a line for each reason, the most frequent first: how many rows it rejected, and the names of the first.

    Text after a colon is about one structure. Rows that differ only in it are counted together.
    """
    rejected = rows[rows["reason"] != ""]
    names = rejected["id"].groupby(rejected["reason"].str.split(":").str[0], sort=False).agg(list)
    lines = []
    for reason, found in sorted(names.items(), key=lambda item: -len(item[1])):
        more = ", ..." if len(found) > _NAMED else ""
        lines.append(f"{len(found)} x {reason} ({', '.join(found[:_NAMED])}{more})")
    return lines
