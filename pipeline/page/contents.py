"""What the page says about an experiment: rows with their figures, losses, further tables, and samples."""

import csv
import math
from pathlib import Path
from typing import Any

from pipeline.config import REFERENCES, Config, Experiment
from pipeline.errors import KinoflowError
from pipeline.page.paths import paths_of
from pipeline.page.records import files_behind, records_of
from pipeline.page.samples import boards_of, crystals_of, pictures_of, texts_of
from pipeline.report.columns import HIGH, LOW, column_of, error_of, headlines, values_in
from pipeline.report.summary import OF_PAPER, comparable, remarks
from pipeline.report.tables import read_score
from pipeline.store.paper import rows_of_paper
from pipeline.store.places import Place
from pipeline.tokens.token_data import TokenData

NULLS = ("independent", "shuffled")
FURTHER = {
    Place.SEEDS_TABLE: "Means over seeds",
    Place.PROTOCOLS_TABLE: "Stable, unique and novel by several protocols",
    Place.PREDICTION_TABLE: "Structure prediction",
    Place.CALIBRATION_TABLE: "How far the energies can be trusted",
    Place.SWEEPS_TABLE: "By the number of evaluations and by guidance",
    Place.TOKENIZER_TABLE: "The tokenizer",
    Place.ORACLE_TABLE: "Samplers with the exact posterior",
    Place.CLAIMS_TABLE: "Claims about samplers",
}


def contents_of(config: Config, experiment: str, results: Path, target: Path) -> dict[str, Any]:
    """Return all that the page shows of an experiment, from the files that are there; pictures are copied."""
    block = config.experiments[experiment]
    names = [*block.runs, *block.references]
    rows = [row_of(block, experiment, name, results) for name in names]
    files = [file for name in names for file in files_behind(results, experiment, block, name)]
    tokens = Place.TOKENS.under(results, experiment=experiment)
    data = TokenData.load(tokens) if tokens.is_file() else None
    metrics = values_in(key for row in rows for key in row["metrics"])
    scored = [row["conditions"] | row["metrics"] | {"run": row["label"]} for row in rows if row["metrics"]]
    return {
        "name": experiment,
        "data": block.data.subject,
        "rows": rows,
        "columns": {name: _described(name) for name in metrics},
        "headlines": headlines(metrics),
        "remarks": remarks(scored, metrics, [REFERENCES[name] for name in NULLS]),
        "paper": _paper(block),
        "paper_columns": {name: _described(name) for row in _paper(block) for name in row},
        "losses": losses_of(results, experiment, block),
        "tables": tables_of(results, experiment),
        "texts": texts_of(results, experiment, names),
        "pictures": pictures_of(results, experiment, names, target),
        "boards": boards_of(results, experiment, names, data) if data else {},
        "paths": paths_of(block, data) if data else [],
        "crystals": crystals_of(results, experiment, block, names),
        "labels": {name: REFERENCES.get(name, name) for name in names},
        "records": records_of(dict.fromkeys(files), results),
        "missing": [f"{row['label']}: {row['state']}" for row in rows if row["state"] != "scored"],
    }


def row_of(block: Experiment, experiment: str, name: str, results: Path) -> dict[str, Any]:
    """Return a row of the table: its conditions, its figures with intervals, and the files behind them."""
    files = files_behind(results, experiment, block, name)
    said, measured = read_score(files[0]) if files[0].is_file() else ({}, {})
    figures = {}
    for key in values_in(measured):
        low, high, error = measured.get(key + LOW), measured.get(key + HIGH), measured.get(error_of(key, measured))
        figures[key] = {"value": measured[key], "low": low, "high": high, "error": error}
    data = str(said.get("data", block.data.subject))
    beside = comparable(_paper(block), name, said, data) if said else {}
    return {
        "name": name,
        "label": REFERENCES.get(name, name),
        "kind": "run" if name in block.runs else "null" if name in NULLS else "data",
        "conditions": said,
        "metrics": measured,
        "figures": figures,
        "paper": {key.removeprefix(OF_PAPER): value for key, value in beside.items()},
        "state": state_of(results, experiment, block, name),
        "files": [str(file.relative_to(results)) for file in files if file.is_file()],
    }


def state_of(results: Path, experiment: str, block: Experiment, name: str) -> str:
    """Return how far a run or reference has come."""
    run = block.runs.get(name)
    steps = [("scored", Place.SCORES, name), ("sampled, not scored yet", Place.SAMPLES, name)]
    if run is not None:
        steps.append(("trained, not sampled yet", Place.WEIGHTS, run.weights or name))
    for state, place, owner in steps:
        if place.under(results, experiment=experiment, name=owner).is_file():
            return state
    return "not sampled yet" if run is None else "not trained yet"


def losses_of(results: Path, experiment: str, block: Experiment) -> dict[str, dict[str, list[float | None]]]:
    """Return step, loss and validation loss of each run that is or was trained."""
    found = {}
    for name, run in block.runs.items():
        file = Place.TRAINING_HISTORY.under(results, experiment=experiment, name=name)
        if not run.weights and file.is_file():
            rows, keys = rows_in(file), ("step", "loss", "validation_loss")
            try:
                found[name] = {key: [_number(row[key]) for row in rows] for key in keys}
            except (KeyError, ValueError) as error:
                what = f"is no history of a training ({type(error).__name__}: {error})"
                raise KinoflowError(f"{file}: {what}; remove it, or train the run again") from error
    return found


def tables_of(results: Path, experiment: str) -> list[dict[str, Any]]:
    """Return the further tables that are there, as text."""
    found = []
    for place, title in FURTHER.items():
        file = place.under(results, ".csv", experiment=experiment)
        if file.is_file():
            rows = rows_in(file)
            columns = [name for name in (rows[0] if rows else ()) if any(row[name] for row in rows)]
            cells = [[row[name] for name in columns] for row in rows]
            found.append({"title": title, "file": file.name, "columns": columns, "rows": cells})
    return found


def _number(text: str) -> float | None:
    if not text:
        return None  # it was not measured
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text} is not finite")
    return value


def rows_in(file: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV table."""
    try:
        with file.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream, restval=""))
    except (csv.Error, ValueError) as error:
        raise KinoflowError(f"{file}: cannot be read as a CSV table ({error}); make it again") from error
    return [{name: cell for name, cell in row.items() if name is not None} for row in rows]  # None: what is too much


def _paper(block: Experiment) -> list[dict[str, Any]]:
    return rows_of_paper(block.paper) if block.paper else []


def _described(name: str) -> dict[str, Any]:
    column = column_of(name)
    return {"heading": column.heading, "meaning": column.meaning, "better": column.better}
