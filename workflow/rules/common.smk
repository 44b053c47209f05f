# The configuration, and the functions that rules take their parameters from.
import os
import sys

sys.path.insert(0, workflow.basedir)

from snakemake.exceptions import WorkflowError

from pipeline import slices
from pipeline.config import REFERENCES
from pipeline.config_file import load_config, with_types, write_config
from pipeline.dependencies import constant_of, files_of
from pipeline.environment import serve_jobs
from pipeline.flow.errors import KinoflowError
from pipeline.plugins import DATASETS, FIGURES, METRICS, MODELS

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


# Under the lock of the workflow, so that all jobs of a run read the same values.
onstart:
    write_config(Path(CONFIG_FILE), CONFIG)


CRYSTALS = [name for name, experiment in CONFIG.experiments.items() if experiment.crystals]
RUNS = sorted({run for experiment in CONFIG.experiments.values() for run in experiment.runs})
NONE = "(?!)"  # matches nothing


wildcard_constraints:
    experiment="|".join(CONFIG.experiments),
    crystals="|".join(CRYSTALS) or NONE,
    name="|".join([*RUNS, *REFERENCES]),
    run="|".join(RUNS),
    reference="|".join(REFERENCES),
    shard=r"\d+",
    shards=r"\d+",


def final_targets():
    """Return the tables and figures of all experiments."""
    targets = []
    for name, experiment in CONFIG.experiments.items():
        tables = [name, f"{name}_calibration"] if experiment.crystals else [name]
        targets += [f"{RESULTS}/tables/{table}.{suffix}" for table in tables for suffix in ("csv", "md")]
        targets += [f"{RESULTS}/figures/{name}.png"] if experiment.figure else []
    return targets


def names_of(experiment):
    """Return the runs and references of an experiment."""
    return [*CONFIG.experiments[experiment].runs, *CONFIG.experiments[experiment].references]


def samples_of(wildcards):
    return [f"{RESULTS}/samples/{wildcards.experiment}/{name}.safetensors" for name in names_of(wildcards.experiment)]


def scores_of(wildcards):
    return [f"{RESULTS}/scores/{wildcards.experiment}/{name}.json" for name in names_of(wildcards.experiment)]


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
    choice = CONFIG.experiments[wildcards.experiment].data
    data_set = DATASETS.load(choice.name)
    fetched = [f"{CONFIG.data.cache}/{name}" for name in getattr(data_set, "FILES", ())]
    own = data_set.inputs(DATASETS.options(choice.name, choice.options)) if hasattr(data_set, "inputs") else []
    return [*fetched, *map(str, own)]


# Of crystals only: tables beside the samples.


def relaxed_shards_of(wildcards):
    shards = CONFIG.experiments[wildcards.crystals].crystals.relaxation.shards
    folder = f"{RESULTS}/shards/{wildcards.crystals}/{wildcards.name}"
    return [f"{folder}/relaxed-{shard}-of-{shards}.parquet" for shard in range(shards)]


def relaxed_shard_provenance_of(wildcards):
    return [f"{shard}.provenance.json" for shard in relaxed_shards_of(wildcards)]


def tables_of(stage, experiment):
    """Return the tables that a stage makes of all runs and references, none if they are no crystals."""
    if experiment not in CRYSTALS:
        return []
    return [f"{RESULTS}/{stage}/{experiment}/{name}.parquet" for name in names_of(experiment)]


def structures_of(wildcards):
    return tables_of("structures", wildcards.experiment)


def relaxed_of(wildcards):
    return tables_of("relaxed", wildcards.experiment)


def evidence_of(wildcards):
    """Return the tables by which the crystals of a run or reference are scored."""
    experiment = wildcards.experiment
    if experiment not in CRYSTALS:
        return {}
    name = wildcards.get("run", wildcards.get("reference"))
    return {
        "structures": f"{RESULTS}/structures/{experiment}/{name}.parquet",
        "described": f"{RESULTS}/described/{experiment}/{name}.parquet",
        "test": f"{RESULTS}/described_test/{experiment}.parquet",
    }


def evidence_flags(wildcards):
    return " ".join(f"--{flag} {path}" for flag, path in evidence_of(wildcards).items())


def figure_flags(wildcards):
    flags = {"structures": structures_of(wildcards), "relaxed": relaxed_of(wildcards)}
    return " ".join([word for flag, paths in flags.items() if paths for word in (f"--{flag}", *paths)])


def hull_files(wildcards):
    entries = CONFIG.experiments[wildcards.crystals].crystals.hull
    published = constant_of("pipeline.crystals.hull", "FILES", ())
    return [entries] if entries else [f"{CONFIG.data.cache}/{name}" for name in published]


# What the rules depend on: a part of the configuration ...


def prepare_settings(wildcards):
    return slices.prepare_slice(CONFIG, wildcards.experiment)


def train_settings(wildcards):
    return slices.train_slice(CONFIG, wildcards.experiment, wildcards.run)


def sample_settings(wildcards):
    return slices.sample_slice(CONFIG, wildcards.experiment, wildcards.run)


def describe_settings(wildcards):
    return slices.describe_slice(CONFIG, wildcards.crystals)


def relax_settings(wildcards):
    return slices.relax_slice(CONFIG, wildcards.crystals)


def hull_settings(wildcards):
    return slices.hull_slice(CONFIG, wildcards.crystals)


def calibrate_settings(wildcards):
    return slices.calibrate_slice(CONFIG, wildcards.crystals)


def reference_settings(wildcards):
    return slices.reference_slice(CONFIG, wildcards.experiment)


def score_settings(wildcards):
    return slices.score_slice(CONFIG, wildcards.experiment)


def report_settings(wildcards):
    return slices.report_slice(CONFIG, wildcards.experiment)


# ... and a part of the code.


def code(*modules):
    return [os.path.relpath(file) for file in files_of(*modules)]


def prepare_code(wildcards):
    return code("pipeline.data.prepare", DATASETS.module(CONFIG.experiments[wildcards.experiment].data.name))


def train_code(wildcards):
    return code("pipeline.training.train", MODELS.module(run_of(wildcards).model.name))


def sample_code(wildcards):
    return code("pipeline.sampling.generate", MODELS.module(run_of(wildcards).model.name))


def reference_code(wildcards):
    data_set = DATASETS.module(CONFIG.experiments[wildcards.experiment].data.name)
    return code("pipeline.sampling.references", *([data_set] if wildcards.reference == "shuffled" else []))


def score_code(wildcards):
    metrics = map(METRICS.module, CONFIG.experiments[wildcards.experiment].scoring)
    return code("pipeline.metrics.score", *metrics)


def figure_code(wildcards):
    return code("pipeline.report.figure", FIGURES.module(CONFIG.experiments[wildcards.experiment].figure.name))


# Demands on the machine.


def train_gpus(wildcards):
    return run_of(wildcards).training.resources.gpus


def train_memory(wildcards):
    return run_of(wildcards).training.resources.memory_mb


def train_minutes(wildcards):
    return run_of(wildcards).training.resources.minutes


def relax_memory(wildcards):
    return CONFIG.experiments[wildcards.crystals].crystals.relaxation.resources.memory_mb


def relax_minutes(wildcards):
    return CONFIG.experiments[wildcards.crystals].crystals.relaxation.resources.minutes


def relax_workers(wildcards):
    return CONFIG.experiments[wildcards.crystals].crystals.relaxation.workers


def describe_workers(wildcards):
    return CONFIG.experiments[wildcards.crystals].crystals.workers


def sample_gpus(wildcards):
    return run_of(wildcards).sampling.resources.gpus


def sample_memory(wildcards):
    return run_of(wildcards).sampling.resources.memory_mb


def sample_minutes(wildcards):
    return run_of(wildcards).sampling.resources.minutes
