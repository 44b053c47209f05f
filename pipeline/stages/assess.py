from typing import Any

from pipeline.stages.declaration import ON_CRYSTALS, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import HullPoints, Input, NewTable, OptionalInput, Output, Rows


def settings(job: Job) -> dict[str, Any]:
    """Return what the assessment depends on besides the results of earlier stages: tables of reference energies."""
    from pipeline.crystals.reference_energies import table_of
    from pipeline.store.provenance import file_hash

    tables = {name: table_of(name, job.cache) for name in job.energy_model_names()}
    hashes = {name: None if path is None else file_hash(path) for name, path in tables.items()}
    return job.description_settings() | {"reference_energies": hashes}


@stage(settings=settings, each=Job.rows, **ON_CRYSTALS)
def assess(
    job: Job,
    *,
    described: Input,
    relaxed: Input,
    hull: HullPoints,
    rows: Rows,
    output: NewTable,
    csv: Output,
    judged: OptionalInput = None,
) -> None:
    """Put together all that is known about each crystal.

    Reads the results of earlier stages. Writes energies above the hulls, verdicts, stability, uniqueness and novelty.

    Args:
        described: table from `describe`
        relaxed: table from `gather-relaxed`
        csv: the same as a readable table (.csv)
        judged: table from `judge-energies`
    """
    from pipeline.crystals.assess import DESCRIBED, RELAXED, assess_rows, write_csv
    from pipeline.crystals.energy_model import EnergyModel
    from pipeline.crystals.hull import Hull
    from pipeline.crystals.hulls import hulls_of
    from pipeline.crystals.table import CRYSTAL_COLUMNS, crystals_of
    from pipeline.store.parquet import read_table, write_table

    chosen = job.crystals
    model, judges = EnergyModel.of(chosen.energy_model), [EnergyModel.of(judge) for judge in chosen.judges]
    known = read_table(rows, [*CRYSTAL_COLUMNS, "split"])
    train = crystals_of(known[(known["split"] == "train") & (known["reason"] == "")])
    frame = assess_rows(
        read_table(described, [*CRYSTAL_COLUMNS, "atoms", "elements", "density", "space_group", *DESCRIBED]),
        read_table(relaxed, RELAXED),
        hulls_of(model, judges, published=Hull.load(hull), judged=judged, cache=job.cache),
        [crystal for crystal in train if crystal is not None],
        workers=chosen.workers,
        seconds=chosen.seconds,
    )
    write_table(output, frame)
    write_csv(csv, frame)
    job.record([output, csv], settings(job), [described, relaxed, hull, rows, judged])
