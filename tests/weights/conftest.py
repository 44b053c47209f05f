"""A small network of salts, exported to a folder of weights."""

from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from tiny import TINY, TINY_MATERIALS, write_salts

from pipeline.config import Config
from pipeline.config.loading import load_config, merge
from pipeline.stages.job import Job, RunJob
from pipeline.stages.prepare import prepare
from pipeline.stages.train import train
from pipeline.store.atomic import write_json
from pipeline.weights.export import About, export

ABOUT = About(data="Salts that were made up for a test.", licence="CC-BY-4.0", limits="It knows cubes only.")


@dataclass(frozen=True)
class Salts:
    """A configuration, what was trained by it, and the folder of weights."""

    file: Path
    config: Config
    tokens: Path
    weights: Path
    exported: Path


@pytest.fixture(scope="session")
def salts(tmp_path_factory: pytest.TempPathFactory) -> Salts:
    folder = tmp_path_factory.mktemp("salts")
    write_salts(folder)
    data = {"path": str(folder / "salts.extxyz")}
    run = {"path": {"name": "mask", "scheduler": "cubic"}, "loss": "cross_entropy"}
    materials = merge({**TINY_MATERIALS, "runs": {"mask_cubic": run}}, {"data": data, "training": {"steps": 60}})
    (folder / "salts.yaml").write_text(yaml.safe_dump(TINY | {"experiments": {"materials": materials}}))
    config = load_config(folder / "salts.yaml")
    prepare(Job(config, "materials"), output=folder / "tokens")
    files = {name: folder / name for name in ("checkpoints", "weights", "metrics", "history")}
    train(RunJob(config, "materials", "mask_cubic"), tokens=folder / "tokens", gpus=0, **files)
    scores = {"conditions": {"n": 9}, "metrics": {"validity": 97.125, "validity_low": 90.0, "validity_high": 99.0}}
    write_json(folder / "scores.json", scores)
    made = Salts(folder / "salts.yaml", config, folder / "tokens", folder / "weights", folder / "our_salts")
    files = {"tokens": made.tokens, "weights": made.weights, "tokenizer": None, "scores": folder / "scores.json"}
    export(config, "materials", "mask_cubic", ABOUT, **files, output=made.exported)
    return made
