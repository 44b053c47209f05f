# The configuration, and the functions that rules take their files from.
import os
import sys
from functools import cache

sys.path.insert(0, workflow.basedir)

from snakemake.exceptions import WorkflowError

from pipeline import slices
from pipeline.config import REFERENCES
from pipeline.config.loading import load_config, with_types
from pipeline.store.code import constant_of, files_of, modules_named
from pipeline.stages.job_environment import serve_jobs
from pipeline.errors import KinoflowError
from pipeline.config.plugins import DATASETS, FIGURES, METRICS, MODELS, files_needed, inputs_needed

serve_jobs(workflow.basedir)


def load_merged():
    """Return the scale's configuration with the values from the command line over it, or stop before any job."""
    scale = str(config.get("scale", "demo"))
    path = Path(os.path.relpath(workflow.basedir)) / "config" / f"{scale}.yaml"
    try:
        # Jobs on a cluster parse this file again: the choices were checked when the workflow was started.
        return load_config(path, [with_types(config)], choices=workflow.is_main_process)
    except KinoflowError as error:
        raise WorkflowError(str(error)) from None


CONFIG = load_merged()
RESULTS = f"{CONFIG.results}/{CONFIG.scale}"
CONFIG_FILE = f"{RESULTS}/config.yaml"
LOGS = f"{RESULTS}/logs"
BENCHMARKS = f"{RESULTS}/benchmarks"


CRYSTALS = [name for name, experiment in CONFIG.experiments.items() if experiment.crystals]
TEXTS = [
    name for name, chosen in CONFIG.experiments.items() if constant_of(DATASETS.module(chosen.data.name), "TEXT", False)
]
IMAGES = [
    name
    for name, chosen in CONFIG.experiments.items()
    if constant_of(DATASETS.module(chosen.data.name), "IMAGES", False)
]
CODES = [name for name in IMAGES if CONFIG.experiments[name].tokenizer]
RUNS = sorted({run for experiment in CONFIG.experiments.values() for run in experiment.runs})
NONE = "(?!)"  # matches nothing


wildcard_constraints:
    experiment="|".join(CONFIG.experiments),
    crystals="|".join(CRYSTALS) or NONE,
    text="|".join(TEXTS) or NONE,
    images="|".join(IMAGES) or NONE,
    codes="|".join(CODES) or NONE,
    name="|".join([*RUNS, *REFERENCES]),
    run="|".join(RUNS),
    reference="|".join(REFERENCES),
    shard=r"\d+",
    shards=r"\d+",


def final_targets():
    """Return the tables and figures of all experiments, and the samples of text to read."""
    targets = []
    for name, experiment in CONFIG.experiments.items():
        further = {"calibration": CRYSTALS, "tokenizer": CODES, "sweeps": IMAGES}
        tables = [name, *(f"{name}_{table}" for table, having in further.items() if name in having)]
        targets += [f"{RESULTS}/tables/{table}.{suffix}" for table in tables for suffix in ("csv", "md", "json")]
        targets += [f"{RESULTS}/figures/{name}_path.png"] if name in IMAGES else []
        targets += [f"{RESULTS}/figures/{name}.png"] if experiment.figure else []
        targets += [f"{RESULTS}/texts/{name}/{run}.txt" for run in names_of(name)] if name in TEXTS else []
    return targets


def names_of(experiment):
    """Return the runs and references of an experiment."""
    return [*CONFIG.experiments[experiment].runs, *CONFIG.experiments[experiment].references]


def experiment_of(wildcards):
    """Return the name of the experiment, whatever the rule calls it."""
    names = [wildcards.get(key) for key in ("experiment", "crystals", "text", "images", "codes")]
    return next(name for name in names if name)


def samples_of(wildcards):
    return [f"{RESULTS}/samples/{wildcards.experiment}/{name}.safetensors" for name in names_of(wildcards.experiment)]


def scores_of(wildcards):
    experiment = experiment_of(wildcards)
    return [f"{RESULTS}/scores/{experiment}/{name}.json" for name in names_of(experiment)]


def shards_of(wildcards):
    shards = run_of(wildcards).sampling.shards
    folder = f"{RESULTS}/shards/{wildcards.experiment}/{wildcards.run}"
    return [f"{folder}/{shard}-of-{shards}.safetensors" for shard in range(shards)]


def shard_provenance_of(wildcards):
    return [f"{shard}.provenance.json" for shard in shards_of(wildcards)]


def run_of(wildcards):
    return CONFIG.experiments[wildcards.experiment].runs[wildcards.run]


def data_files(wildcards):
    """Return the files that an experiment's data set is made from: fetched ones, and the user's own."""
    choice = CONFIG.experiments[experiment_of(wildcards)].data
    data_set = DATASETS.load(choice.name)
    options = DATASETS.options(choice.name, choice.options)
    fetched = [f"{CONFIG.data.cache}/{name}" for name in files_needed(data_set, options)]
    return fetched + existing(inputs_needed(data_set, options))


def existing(own):
    """Return those of the user's files and folders that are there: preflight reports the others, all at once."""
    return [str(path) for path in own if path.exists()]


def weights_of(wildcards):
    """Return the weights that a run draws its samples with: its own, or those of the run that it names."""
    return f"{RESULTS}/models/{wildcards.experiment}/{run_of(wildcards).weights or wildcards.run}.safetensors"


def metrics_of(experiment):
    """Return the modules and options of an experiment's metrics."""
    scoring = CONFIG.experiments[experiment].scoring
    return [(METRICS.load(name), METRICS.options(name, options)) for name, options in scoring.items()]


def judge_files(wildcards):
    """Return the files that the metrics of an experiment need: fetched ones, and the user's own."""
    metrics = metrics_of(experiment_of(wildcards))
    own = [path for metric, options in metrics for path in inputs_needed(metric, options)]
    return existing(own) + [
        f"{CONFIG.data.cache}/{name}" for metric, options in metrics for name in files_needed(metric, options)
    ]


def metric_files(wildcards):
    """Return the same, and the file that says that the judge is there, if it is no run of the experiment."""
    experiment = experiment_of(wildcards)
    metrics = [(metric, options) for metric, options in metrics_of(experiment) if hasattr(metric, "run_of")]
    outside = any(metric.run_of(options) is None for metric, options in metrics)
    return judge_files(wildcards) + ([f"{RESULTS}/judges/{experiment}.json"] if outside else [])


def judge_weights_of(wildcards):
    """Return the weights of the run that judges the samples of the others, if one does."""
    metrics = [(metric, options) for metric, options in metrics_of(wildcards.experiment) if hasattr(metric, "run_of")]
    runs = [metric.run_of(options) for metric, options in metrics]
    return [f"{RESULTS}/models/{wildcards.experiment}/{run}.safetensors" for run in runs if run]


def judge_flags(wildcards):
    return " ".join(f"--judge-weights {path}" for path in judge_weights_of(wildcards))


def figure_scores(wildcards):
    """Return the scores, if the figure shows them."""
    figure = CONFIG.experiments[wildcards.experiment].figure
    return scores_of(wildcards) if constant_of(FIGURES.module(figure.name), "SCORES", False) else []
