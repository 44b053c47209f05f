"""Crystals and files of them that tests of several folders share."""

import numpy as np
import pandas as pd

from pipeline.crystals.crystal import Crystal

SODIUM, CHLORINE, ZINC, SULPHUR = 11, 17, 30, 16


def rock_salt(id: str = "rock salt", side: float = 5.64) -> Crystal:
    """Return the conventional cell of NaCl, 8 atoms."""
    corners = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    numbers = np.array([SODIUM] * 4 + [CHLORINE] * 4)
    return Crystal(id, np.full(3, side), np.full(3, 90.0), numbers, np.concatenate([corners, (corners + 0.5) % 1]))


def wurtzite(gamma: float = 120.0) -> Crystal:
    """Return hexagonal ZnS, 4 atoms, with the given angle of the plane."""
    fractions = np.array([[1 / 3, 2 / 3, 0], [2 / 3, 1 / 3, 0.5], [1 / 3, 2 / 3, 0.375], [2 / 3, 1 / 3, 0.875]])
    numbers = np.array([ZINC, ZINC, SULPHUR, SULPHUR])
    return Crystal("wurtzite", np.array([3.82, 3.82, 6.26]), np.array([90, 90, gamma]), numbers, fractions)


def sites_of(crystal: Crystal) -> list[tuple[float, ...]]:
    """Return the atoms in an order of their own, for comparison."""
    fractions = np.round(crystal.fractions, 6) % 1
    return sorted((int(number), *xyz) for number, xyz in zip(crystal.numbers, fractions.tolist(), strict=True))


def csv_of(texts: list[str], **columns: list[object]) -> str:
    """Return a CSV file with the texts of CIF files."""
    return pd.DataFrame({"cif": texts, **columns}).to_csv()
