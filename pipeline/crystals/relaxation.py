"""The stages that relax the crystals of a run: one shard, and all shards together."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.config import Relaxation
from pipeline.crystals import relax
from pipeline.crystals.chgnet import load_chgnet
from pipeline.crystals.relax import RELAXED_COLUMNS, lost
from pipeline.crystals.table import CRYSTAL_COLUMNS, Row, crystal_of, frame_of, records_of
from pipeline.crystals.workers import run_tasks_once
from pipeline.store.code import code_hash
from pipeline.store.journal import Journal
from pipeline.store.parquet import read_table, write_table
from pipeline.store.provenance import settings_hash, write_provenance
from pipeline.store.shards import part_of

PACKAGES = ("chgnet", "ase", "torch", "numpy")  # their versions change the last digits, or more


def relax_table(
    settings: Relaxation,
    seed: int,
    *,
    crystals: Path,
    shard: int = 0,
    shards: int = 1,
    journal: Path,
    output: Path,
    load: Callable[[], Any] = load_chgnet,
) -> None:
    """Relax one shard of the first crystals of a table; the journal's folder has those that are already done.

    Each worker gets its calculator from `load`, which must be a module-level function. The seed is for provenance:
    nothing here is random.
    """
    rows = records_of(read_table(crystals, CRYSTAL_COLUMNS)[list(CRYSTAL_COLUMNS)])[: settings.count]
    rows = [rows[position] for position in part_of(len(rows), shard, shards)]
    what = settings.model_dump(mode="json", include={"count", "steps", "force", "seconds"})
    kept = Journal(journal, _fingerprint(what, rows, load))
    usable = [row for row in rows if row["reason"] == ""]
    tasks = run_tasks_once(
        partial(relax.relax, steps=settings.steps, force=settings.force),
        [crystal_of(row) for row in usable],
        finished=kept,
        workers=settings.workers,
        seconds=settings.seconds,
        label="relaxing",
        initialise=load,
    )
    done = {
        usable[number]["id"]: outcome.value or lost(usable[number]["id"], outcome.reason) for number, outcome in tasks
    }
    relaxed = [lost(row["id"], f"not a crystal: {row['reason']}") if row["reason"] else done[row["id"]] for row in rows]
    write_table(output, frame_of(relaxed, RELAXED_COLUMNS))
    write_provenance([output], {"relaxation": what}, seed, [crystals])
    print(summary(relaxed))
    kept.remove()


def summary(rows: Sequence[Row]) -> str:
    """Return how many crystals converged, and how many did not for each kind of reason."""
    reasons = Counter(row["reason"].partition(":")[0] for row in rows if row["reason"])
    counts = [f"{sum(row['reason'] == '' for row in rows)} converged"]
    counts += [f"{count} {reason}" for reason, count in reasons.most_common()]
    return f"relaxed {len(rows)} crystals: {', '.join(counts)}"


def _fingerprint(settings: dict[str, Any], rows: Sequence[Row], load: Callable[[], Any]) -> str:
    """Return a hash of all that the relaxed rows depend on; a journal with another hash is of no use."""
    return settings_hash(
        {
            "settings": settings,
            "calculator": f"{load.__module__}.{load.__qualname__}",
            "code": code_hash("pipeline.crystals.relax", "pipeline.crystals.chgnet"),
            "packages": {name: version(name) for name in PACKAGES},
            "rows": [{name: np.asarray(value).tolist() for name, value in row.items()} for row in rows],
        }
    )
