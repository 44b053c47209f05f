"""Descriptions of the structures of data sets, kept for later runs, experiments and evaluations.

They are in `descriptions` of the data cache, in a folder for each version of the code and the packages, each under a
hash of its crystal. So they are never out of date, and the folder may be removed at any time. Every writer adds a file
of its own.
"""

import hashlib
import importlib.metadata
from pathlib import Path

import pandas as pd

from pipeline.crystals.crystal import key_of
from pipeline.crystals.describe import NOTHING, with_descriptions
from pipeline.crystals.fingerprints import FINGERPRINTS
from pipeline.crystals.table import Row, crystals_of, records_of
from pipeline.store.code import code_hash
from pipeline.store.parquet import read_table, write_table

PACKAGES = ("numpy", "scipy", "pymatgen-core", "matminer", "smact", "moyopy")


class KeptDescriptions:
    """The descriptions that are kept in a data cache."""

    def __init__(self, cache: Path) -> None:
        versions = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
        version = _hash(*map(str.encode, (code_hash("pipeline.crystals.describe"), *versions)))
        self.folder = cache / "descriptions" / version
        self._rows = dict[str, Row]()
        for file in sorted(self.folder.glob("*.parquet")):
            for row in records_of(read_table(file, ["key", *NOTHING])):
                self._rows[row["key"]] = row | {name: row[name].tolist() for name in FINGERPRINTS}

    def missing(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows whose crystals have no description yet."""
        return frame[[key not in self._rows for key in keys_of(frame)]]

    def complete(self, frame: pd.DataFrame, described: pd.DataFrame) -> pd.DataFrame:
        """Return the description of all rows of a frame, and keep those of the missing ones that are just described.

        Those with a reason are not kept: another machine may have more time.
        """
        new = described.assign(key=keys_of(described))
        good = new[new["fingerprint_reason"] == ""]
        if len(good):
            write_table(self.folder / f"{hash_of(good)}.parquet", good[["key", *NOTHING]])
        found = {row["key"]: row for row in records_of(new)}
        rows = [found.get(key) or self._rows[key] for key in keys_of(frame)]
        return with_descriptions(frame, [row.get("reason", "") for row in rows], rows)


def hash_of(frame: pd.DataFrame) -> str:
    """Return a hash of all crystals of a frame, in their order."""
    return _hash(*map(str.encode, keys_of(frame)))


def keys_of(frame: pd.DataFrame) -> list[str]:
    """Return a hash of each crystal of a frame; all rows without a crystal share one."""
    return [_hash(*key_of(crystal)) if crystal is not None else "" for crystal in crystals_of(frame)]


def _hash(*parts: bytes) -> str:
    return hashlib.sha256(b"\n".join(parts)).hexdigest()
