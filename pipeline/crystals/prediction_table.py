"""The table of structure prediction: match rates and distances of each run, beside the published ones of its peers."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.config import PREDICTED, Experiment
from pipeline.crystals.prediction_matching import COLUMNS, TOLERANCES
from pipeline.report.formats import as_csv, markdown_table, wrapped, write_numbers
from pipeline.report.tables import OURS
from pipeline.scoring.intervals import mean, rate
from pipeline.store.atomic import write_text
from pipeline.store.parquet import read_table

Row = dict[str, Any]

PEERS = Path(__file__).parent / "reference" / "predictions.json"
PUBLISHED = "published"
PARTS = ("mp20_part",)  # data sets that are only a part of what the peers used
CONDITIONS = ("run", "k", "origin", "data", "n", "NFE", "temperature", "pick", "seed")
RATES = ("match_rate", "match_rate_of_valid")
DISTANCES = ("rmse", "rmse_of_valid")
COVERAGE = ("metre", "crmse")
EACH = "structures_that_match"
INTERVALS = [key + end for key in (*RATES, *DISTANCES, *COVERAGE, EACH) for end in ("", "_low", "_high")]
COUNTS = ("not_crystals", "not_compared")
METRICS = ("match_rate", "rmse", "match_rate_of_valid", "rmse_of_valid", *COVERAGE, EACH, *COUNTS)


def write_prediction_table(
    block: Experiment, seed: int, *, matches: Mapping[str, Path], csv: Path, markdown: Path, numbers: Path
) -> None:
    """Write the rows of `matches` by name, and published rows, in columns of their own, on the same kind of data."""
    ours, theirs = [], peers_of(block.data.name)
    for name, path in matches.items():
        said = {"run": PREDICTED.get(name, name), "origin": OURS, "data": block.data.name} | conditions_of(block, name)
        ours += [said | row for row in rates_of(read_table(path, COLUMNS), seed)]
    apart = [{f"{PUBLISHED}_{key}" if key in METRICS else key: value for key, value in row.items()} for row in theirs]
    labelled = [row | {"label": f"{row['run']}, k = {row['k']}"} for row in [*ours, *apart]]
    further = dict.fromkeys(key for row in apart for key in row if key.startswith(f"{PUBLISHED}_"))
    write_text(csv, as_csv(labelled, ["label", *CONDITIONS, *INTERVALS, *COUNTS, *further, "source"]))
    others = f"\nPublished by others:\n\n{markdown_table(theirs, [], CONDITIONS, METRICS)}" if theirs else ""
    write_text(markdown, f"{markdown_table(ours, [], CONDITIONS, METRICS)}{others}\n{notes(block, theirs)}")
    write_numbers(numbers, {row["label"]: row for row in labelled if row["origin"] == OURS})


def rates_of(matched: pd.DataFrame, seed: int) -> list[Row]:
    """Return a row for the first structure of each composition and, if there are several, one for the best of all.

    Rates are shares of all compositions. Those `of_valid` count a match only if the structure is valid; with one
    structure per composition, the real one must be valid too. DiffCSP and FlowMM count so. The share of all structures
    that match is the match rate of one structure, with less noise than that of the first. METRe and cRMSE also look at
    the structures drawn for other targets of the same reduced composition.
    """
    count, samples = matched["target"].nunique(), int(matched["sample"].max()) + 1
    rows = []
    for k in sorted({1, samples}):
        drawn = matched[matched["sample"] < k]
        chosen = drawn[drawn["own"]]
        valid = chosen[chosen["both_valid" if k == 1 else "valid"]]
        row: Row = {"k": k, "n": count}
        for found, match_rate, distance in zip((chosen, valid), RATES, DISTANCES, strict=True):
            best = found.groupby("target")["distance"].min().dropna()
            row |= rate(match_rate, len(best), count) | mean(distance, best.tolist(), seed)
        nearest = drawn.groupby("target")["distance"].min()
        row |= rate("metre", int(nearest.notna().sum()), count)
        row |= mean("crmse", nearest.fillna(TOLERANCES["stol"]).tolist(), seed)
        if k > 1:
            row |= mean(EACH, (100 * chosen["distance"].notna().groupby(chosen["target"]).mean()).tolist(), seed)
        lost = chosen["reason"].str.match("failed|time limit")
        row["not_compared"] = int(lost.sum())
        row["not_crystals"] = int(((chosen["reason"] != "") & ~lost).sum())
        rows.append(row)
    return rows


def conditions_of(block: Experiment, name: str) -> Row:
    """Return how a run predicts; nothing for predictions without a network."""
    run = block.runs.get(name)
    if run is None or block.crystals is None or block.crystals.prediction is None:
        return {}
    chosen = block.crystals.prediction
    sampling, pick = (
        chosen.sampling_of(run),
        f"likeliest of {chosen.samples}" if chosen.pick == "likeliest" else "first",
    )
    return {"NFE": sampling.steps, "temperature": sampling.temperature, "pick": pick, "seed": run.seed}


def peers_of(data: str) -> list[Row]:
    """Return the published rows on a data set, or on the one that it is a part of; none if nobody has published any."""
    known = json.loads(PEERS.read_text(encoding="utf-8"))
    test = known["tests"].get(data)
    return [row | {"origin": PUBLISHED, "data": test} for row in known["rows"].get(test, ())]


def notes(block: Experiment, theirs: Sequence[Row]) -> str:
    """Return what the numbers mean, how they were made, and who is not there."""
    lines: list[str] = []
    rules = ", ".join(f"{name} {value:g}" for name, value in TOLERANCES.items())
    if block.crystals and block.crystals.prediction:
        lines = [f"Compositions of {block.crystals.prediction.split} structures, drawn at random by the seed."]
    lines += [
        "Networks were trained without any composition given. To predict, the elements are kept fixed while they "
        "sample: k structures for each of n compositions.",
        "pick: which structure counts for k = 1: the first that was drawn, or the one of all that the network finds "
        "likeliest.",
        "match rate: percentage of compositions for which one of the k structures matches the real one by pymatgen's "
        f"StructureMatcher ({rules}), with the 95 % interval of Wilson.",
        "rmse: distance of the best match in units of (V / N)^(1/3), mean over compositions with a match, with the "
        "95 % interval of the bootstrap.",
        "of valid: a match counts only if the structure passes the tests of composition and structure, and for k = 1 "
        "only if the real one does too. DiffCSP and FlowMM count so.",
        "metre: percentage of these compositions' structures that any of the structures drawn for the same reduced "
        "composition matches; crmse: mean distance of the best of them, or 0.5 where none matches. Both as in arXiv "
        "2509.12178.",
        "structures that match: percentage of all structures drawn, with the 95 % interval of the bootstrap over "
        "compositions. It estimates the match rate for k = 1 with less noise than the first structures alone.",
        "not crystals: structures whose cell cannot exist; not compared: pairs for which matching failed or took too "
        "long. Neither counts as a match.",
    ]
    if theirs:
        test, data = theirs[0]["data"], block.data.name
        differs = f", only a part of {test}, in training too: these rows do not rank methods" if data in PARTS else ""
        lines.append(f"published: for all test structures of {test}. Ours are for n of `{data}`{differs}.")
    if without := [name for name, run in block.runs.items() if run.path is None]:
        lines.append(f"Left out: {', '.join(without)} (autoregressive: can only continue given tokens).")
    return "".join(wrapped(f"- {line}", "  ") for line in lines)
