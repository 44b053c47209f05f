"""Where each result lies, below `<results>/<scale>`. The workflow, the commands and DVC take the names from here."""

from enum import StrEnum
from pathlib import Path


class Place(StrEnum):
    """The path of a result, with the names of its experiment and of its run or reference to fill in."""

    CONFIG = "config.yaml"
    JOBS = "jobs.json"
    RUN_LOCK = "logs/run.lock"
    PLANNED = "logs/planned.json"
    PAGE = "report/index.html"

    TOKENS = "tokens/{experiment}.safetensors"
    WEIGHTS = "models/{experiment}/{name}.safetensors"
    TRAINED = "models/{experiment}/{name}.json"
    TRAINING_HISTORY = "models/{experiment}/{name}.csv"
    SAMPLED_SHARD = "shards/{experiment}/{name}/{shard}-of-{shards}.safetensors"
    SAMPLES = "samples/{experiment}/{name}.safetensors"
    SCORES = "scores/{experiment}/{name}.json"
    HEADLINE = "headlines/{experiment}/{name}.json"
    TABLE = "tables/{experiment}"  # .csv, .md, .json
    SEEDS_TABLE = "tables/{experiment}_seeds"  # .csv, .md, .json
    FIGURE = "figures/{experiment}.png"

    ROWS = "rows/{experiment}.parquet"
    CRYSTALS = "crystals/{experiment}/{name}"  # .parquet, .extxyz, .zip
    DESCRIBED = "described/{experiment}/{name}.parquet"
    DESCRIBED_TEST = "described_test/{experiment}.parquet"
    RELAXED_SHARD = "shards/{experiment}/{name}/relaxed-{shard}-of-{shards}.parquet"
    RELAXED = "relaxed/{experiment}/{name}.parquet"
    TRAJECTORIES_SHARD = "shards/{experiment}/{name}/trajectories-{shard}-of-{shards}.parquet"
    TRAJECTORIES = "trajectories/{experiment}/{name}.parquet"
    JUDGED = "judged/{experiment}/{name}.parquet"
    HULL = "hull/{experiment}.parquet"
    CALIBRATION_TABLE = "tables/{experiment}_calibration"  # .csv, .md, .json
    PROTOCOLS_TABLE = "tables/{experiment}_protocols"  # .csv, .md, .json
    PREDICTIONS = "predictions/{experiment}/{name}.parquet"
    MATCHES = "matches/{experiment}/{name}.parquet"
    PREDICTION_TABLE = "tables/{experiment}_prediction"  # .csv, .md, .json
    STRUCTURES = "structures/{experiment}/{name}"  # .parquet, .csv

    ORACLE = "oracle/{experiment}.json"
    ORACLE_TABLE = "tables/{experiment}_oracle"  # .csv, .md, .json
    CLAIMS_TABLE = "tables/{experiment}_claims"  # .csv, .md, .json
    CLAIM_FIGURES = "figures/{experiment}_claim_"  # the name of the claim, .png

    TEXTS = "texts/{experiment}/{name}"  # .txt, .jsonl
    JUDGE = "judges/{experiment}.json"

    IMAGES = "images/{experiment}.safetensors"
    TOKENIZER = "tokenizers/{experiment}"  # .safetensors, .json, .csv
    TOKENIZER_TABLE = "tables/{experiment}_tokenizer"  # .csv, .md, .json
    CLASSIFIER = "classifiers/{experiment}"  # .safetensors, .json, .csv
    IMAGE_REFERENCE = "image_references/{experiment}.safetensors"
    PICTURES = "pictures/{experiment}/{name}"  # .safetensors, .png
    SEARCH = "search/{experiment}/{name}.json"
    SWEEPS_TABLE = "tables/{experiment}_sweeps"  # .csv, .md, .json
    PATHS_FIGURE = "figures/{experiment}_path.png"

    def under(self, folder: Path, ending: str = "", **names: str) -> Path:
        """Return the file for the experiment, run or reference given by `names`."""
        return folder / (self.value.format(**names) + ending)
