"""How long finished trainings took: the seconds that Snakemake has noted beside the results."""

import csv
from pathlib import Path

from pipeline.config import Config
from pipeline.config.loading import load_config
from pipeline.store.provenance import read_record, sidecar_of


def finished_trainings(config: Config) -> dict[tuple[str, str], float]:
    """Return the seconds of each (experiment, run) that was trained with the same settings as now, in one go."""
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
            same = same and before.experiments[name].data == experiment.data
            if same and file.is_file() and not _was_resumed(folder / "models" / name / f"{run}.safetensors"):
                with file.open(newline="", encoding="utf-8") as stream:
                    found[name, run] = float(next(csv.DictReader(stream, delimiter="\t"))["s"])
    return found


def _was_resumed(weights: Path) -> bool:
    """Return whether a training was stopped and resumed: the seconds then cover only its last part."""
    return sidecar_of(weights).is_file() and bool(read_record(weights).get("resumed"))
