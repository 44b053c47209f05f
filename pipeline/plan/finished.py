"""How long trainings took that are finished: the seconds that Snakemake has noted beside the results."""

import csv
from pathlib import Path

from pipeline.config import Config
from pipeline.config_file import load_config


def finished_trainings(config: Config) -> dict[tuple[str, str], float]:
    """Return the seconds of each (experiment, run) that was trained under the same settings as now.

    One that was stopped and taken up again has only the seconds of its last part: nobody knows, so it may seem fast.
    """
    folder = Path(config.results) / config.scale
    if not (folder / "config.yaml").is_file():
        return {}
    before = load_config(folder / "config.yaml", choices=False)
    found = {}
    for name, experiment in config.experiments.items():
        for run, chosen in experiment.runs.items():
            file = folder / "benchmarks" / "train" / name / f"{run}.tsv"
            then = before.experiments[name].runs.get(run) if name in before.experiments else None
            same = then is not None and then.training == chosen.training and then.model == chosen.model
            if same and before.experiments[name].data == experiment.data and file.is_file():
                with file.open(newline="", encoding="utf-8") as stream:
                    found[name, run] = float(next(csv.DictReader(stream, delimiter="\t"))["s"])
    return found
