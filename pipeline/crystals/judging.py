"""Relaxed crystals judged by other energy models than the one that relaxed them, without a new relaxation."""

import math
from collections.abc import Sequence
from pathlib import Path

from pipeline.crystals.energy_model import EnergyModel
from pipeline.crystals.static_energies import static_energies
from pipeline.crystals.table import CRYSTAL_COLUMNS, Row, crystal_of, frame_of, records_of
from pipeline.store.code import code_hash
from pipeline.store.journal import Journal
from pipeline.store.parquet import read_table, write_table
from pipeline.store.provenance import fingerprint, write_provenance

JUDGED_COLUMNS = {"id": "str", "model": "str", "energy_per_atom": "float64", "reason": "str"}


def judge_table(
    judges: Sequence[EnergyModel],
    seed: int,
    *,
    relaxed: Path,
    journal: Path,
    output: Path,
    workers: int,
    seconds: float,
    keep: bool = False,
) -> None:
    """Write the energy of each relaxed crystal by each judge; the journal's folder has those that are already done.

    There is one row per judge and crystal, with the energy in eV/atom with corrections, or the reason why there is
    none. A relaxation that reached its step limit has a structure, which is judged. The seed is for provenance only.
    The journals are removed at the end, unless the caller will `keep` them until its own work is done.
    """
    rows = records_of(read_table(relaxed, CRYSTAL_COLUMNS))
    known = [(row["id"], crystal) for row in rows if (crystal := crystal_of(row)) is not None]
    table, journals = list[Row](), list[Journal]()
    for judge in judges:
        said = {"judge": judge.fingerprint, "seconds": seconds}
        kept = Journal(journal / judge.name, fingerprint(said, [relaxed], code_hash("pipeline.crystals.judging")))
        journals.append(kept)
        label = f"judging by {judge.name}"
        crystals = [crystal for _, crystal in known]
        energies = static_energies(judge, crystals, workers=workers, seconds=seconds, label=label, finished=kept)
        by_id = {id: energy for (id, _), energy in zip(known, energies, strict=True)}
        for row in rows:
            energy, reason = by_id.get(row["id"], (math.nan, f"no relaxed structure: {row['reason']}"))
            table.append({"id": row["id"], "model": judge.label, "energy_per_atom": energy, "reason": reason})
        print(f"{judge.label}: {sum(math.isfinite(energy) for energy, _ in energies)} of {len(rows)} crystals judged")
    write_table(output, frame_of(table, JUDGED_COLUMNS))
    write_provenance([output], {"judges": [judge.label for judge in judges]}, seed, [relaxed])
    for kept in () if keep else journals:
        kept.remove()
