"""The stage that turns samples into crystals: a table with one row per sample, and files for other programs."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.crystals.export import write_cif_zip, write_extxyz
from pipeline.crystals.table import CRYSTAL_COLUMNS, Row, frame_of, rejected_row, row_of
from pipeline.crystals.tokens import decode
from pipeline.sampling.samples import SampleSet
from pipeline.store.parquet import write_table
from pipeline.store.provenance import write_provenance


def write_crystals(
    samples: SampleSet,
    table: Path,
    extxyz: Path,
    cifs: Path,
    settings: Mapping[str, Any],
    seed: int,
    inputs: Sequence[Path],
) -> pd.DataFrame:
    """Write and return the crystals of samples, with the settings, seed and inputs as their provenance."""
    frame = frame_of(_rows(samples), CRYSTAL_COLUMNS)
    write_table(table, frame)
    write_extxyz(extxyz, frame)
    write_cif_zip(cifs, frame)
    write_provenance([table, extxyz, cifs], settings, seed, inputs)
    return frame


def _rows(drawn: SampleSet) -> list[Row]:
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pymatgen warns about every noble gas
        for number, tokens in enumerate(drawn.tokens.numpy(), start=1):
            id = f"{drawn.conditions['run']}-{number:06d}"
            found = decode(tokens, id)
            crystal, reason = found.crystal, found.reason
            rows.append(rejected_row(id, reason) if crystal is None else row_of(crystal, reason=reason))
    return rows
