from typing import Any

from pipeline.config import REFERENCES
from pipeline.config.plugins import PROTOCOLS
from pipeline.stages.declaration import ON_CRYSTALS, Plot, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Csv, HullPoints, Inputs, Markdown, Numbers, Rows


def settings(job: Job) -> dict[str, Any]:
    """Return what the rates depend on besides the structures."""
    return job.description_settings() | {"rows": [row.name for row in job.rows()]}


def plot(job: Job) -> Plot:
    """Return the rates, a bar a row."""
    return Plot("rate", "run", f"{job.experiment}: stable, unique and novel, in percent", "bar_horizontal")


@stage(
    settings=settings,
    chosen=lambda job: [*map(PROTOCOLS.module, PROTOCOLS.names()), *job.energy_model_modules()[:1]],
    plot=plot,
    **ON_CRYSTALS,
)
def protocols(
    job: Job,
    *,
    structures: Inputs,
    relaxed: Inputs,
    hull: HullPoints,
    rows: Rows,
    csv: Csv,
    markdown: Markdown,
    numbers: Numbers,
) -> None:
    """Count stable, unique and novel crystals by each protocol.

    Reads what is known about the crystals of all runs and references. Writes a row per run, protocol and rate, with the
    five choices behind it.

    Args:
        structures: tables from `assess`, one per run and reference
        relaxed: tables from `relax` or `gather-relaxed`, in the same order
    """
    from pipeline.crystals.energy_model import EnergyModel
    from pipeline.crystals.hull import label_of_hull
    from pipeline.crystals.protocol_table import protocol_rows, write_protocols
    from pipeline.crystals.reference_energies import description_of
    from pipeline.crystals.table import CRYSTAL_COLUMNS, crystals_of
    from pipeline.store.parquet import read_table

    names, chosen = [row.name for row in job.rows()], job.crystals
    model = EnergyModel.of(chosen.energy_model)
    known = read_table(rows, [*CRYSTAL_COLUMNS, "split"])
    train = crystals_of(known[(known["split"] == "train") & (known["reason"] == "")])
    found = {
        REFERENCES.get(name, name): protocol_rows(
            read_table(assessed),
            read_table(after, list(CRYSTAL_COLUMNS)),
            [crystal for crystal in train if crystal is not None],
            hull=description_of(model.name, job.cache) or label_of_hull(hull),
            energy_model=model.label,
            workers=chosen.workers,
            seconds=chosen.seconds,
        )
        for name, assessed, after in zip(names, structures, relaxed, strict=True)
    }
    write_protocols(found, csv, markdown, numbers)
    job.record([csv, markdown, numbers], settings(job), [*structures, *relaxed, hull, rows])
