"""The training structures of weights as reference rows: what is generated is new if it is none of these."""

from pathlib import Path

from pipeline.crystals.generation import check_crystals
from pipeline.crystals.reading import COLUMNS
from pipeline.crystals.table import frame_of, row_of
from pipeline.crystals.tokens import decode
from pipeline.store.parquet import write_table
from pipeline.tokens.token_data import TokenData


def write_training_rows(tokens: Path, output: Path) -> None:
    """Write the training structures in a file of tokens as rows; their energies are not known."""
    unknown = {"formation_energy": float("nan"), "energy_above_hull": float("nan"), "split": "train"}
    data, rows = TokenData.load(tokens), []
    check_crystals(tokens, data)
    for number, row in enumerate(data.train.numpy(), start=1):
        crystal, _ = decode(row, f"train-{number:06d}")
        if crystal is not None:
            rows.append(row_of(crystal, **unknown))
    write_table(output, frame_of(rows, COLUMNS | {"split": "str"}))
