"""The table of the errors of energy models by chemistry, which `uncertainty` reads."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.config import Crystals
from pipeline.crystals.calibration import USUAL, compare, formation_energies
from pipeline.crystals.chemistry import CHEMISTRIES, chemistry_of
from pipeline.crystals.energy_model import EnergyModel
from pipeline.crystals.reading import read_structures
from pipeline.crystals.table import Row, records_of
from pipeline.errors import KinoflowError
from pipeline.store.atomic import read_json, write_json
from pipeline.store.code import code_hash
from pipeline.store.journal import Journal
from pipeline.store.provenance import file_hash, fingerprint

KEPT = ("n", "mean_absolute_error", "mean_absolute_error_low", "mean_absolute_error_high", "bias")


def measure_models(
    models: Sequence[EnergyModel],
    crystals: Crystals,
    seed: int,
    *,
    path: Path,
    title: str,
    count: int,
    journal: Path,
    output: Path,
) -> None:
    """Add the errors of models on `count` structures with known formation energies, drawn at random, to a table.

    The table says what it was made from: it is part of the package, where no other file stands beside it.
    """
    drawn = draw_rows(path, count, seed)
    actual = np.array([row["formation_energy"] for row in drawn])
    kinds = np.array([chemistry_of(row["numbers"]) for row in drawn])
    table: dict[str, Any] = read_json(output) if output.is_file() else {}
    written, journals = dict(table.get("models", {})), list[Journal]()
    for model in models:
        said = {"model": model.fingerprint, "count": count, "seed": seed, "seconds": crystals.seconds}
        kept = Journal(journal / model.name, fingerprint(said, [path], code_hash("pipeline.crystals.static_energies")))
        journals.append(kept)
        predicted = formation_energies(model, drawn, workers=crystals.workers, seconds=crystals.seconds, finished=kept)
        errors: dict[str, Any] = {}
        for kind in ("all", *CHEMISTRIES):
            among = np.flatnonzero((kinds == kind) | (kind == "all"))
            row = compare("", "", predicted[among], actual[among], seed)
            if row["n"]:
                errors[kind] = {key: row[key] for key in KEPT} | {"quantile": row["absolute_error_of_68"]}
        source = {"structures": title, "sha256": file_hash(path), "drawn": len(drawn), "seed": seed}
        written[model.name] = {"model": model.label, **source, "errors": errors}
        print(f"{model.label}: mean absolute error {errors['all']['mean_absolute_error']:.4f} eV/atom")
    write_json(output, {"quantile": USUAL, "unit": "eV/atom", "models": dict(sorted(written.items()))})
    for kept in journals:
        kept.remove()


def draw_rows(path: Path, count: int, seed: int) -> list[Row]:
    """Return up to `count` structures of a file whose formation energy is known, drawn at random, in their order."""
    frame = read_structures(path)
    known = frame[(frame["reason"] == "") & frame["formation_energy"].notna()]
    if known.empty:
        column = "formation_energy_per_atom (eV/atom)"
        raise KinoflowError(f"{path}: no structure has a known formation energy; give a file with the column {column}")
    places = np.random.default_rng(seed).permutation(len(known))[:count]
    return records_of(known.iloc[np.sort(places)])
