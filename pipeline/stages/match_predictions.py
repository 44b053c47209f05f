from typing import Any

from pipeline.stages.declaration import ON_CRYSTALS, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Input, JournalFolder, NewTable, Rows
from pipeline.stages.predicting import all_predictions, common_seed, common_settings, prediction_of


def settings(job: Job) -> dict[str, Any]:
    """Return what matches depend on besides the predictions."""
    return common_settings(job) | {"seconds": prediction_of(job).seconds}


@stage(settings=settings, each=all_predictions, **ON_CRYSTALS)
def match_predictions(
    job: Job, *, predictions: Input, rows: Rows, output: NewTable, journal: JournalFolder = None
) -> None:
    """Compare predicted structures with the real ones.

    Reads predictions and structures. Writes the distance of each pair that matches. Pairs that fail or take too long
    are recorded with the reason. Resumes from its journal.

    Args:
        predictions: table from `predict` or `prediction-reference`
    """
    from pipeline.crystals import prediction
    from pipeline.crystals.prediction_matching import match_predictions as matched
    from pipeline.store.journal import Journal
    from pipeline.store.parquet import read_table, write_table

    chosen, inputs = prediction_of(job), [predictions, rows]
    finished = Journal(journal, match_predictions.fingerprint(job, inputs)) if journal else None
    targets = prediction.targets_of(rows, chosen.compositions, common_seed(job), chosen.split)
    table = read_table(predictions, prediction.COLUMNS)
    workers = job.crystals.workers
    write_table(output, matched(table, targets, workers=workers, seconds=chosen.seconds, finished=finished))
    job.record([output], settings(job), inputs)
    if finished:
        finished.remove()
