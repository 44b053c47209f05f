# The configuration, and what rules read from it and from the declarations of their stages (pipeline/stages).
# Journals and checkpoints are parameters of rules, not output, so that Snakemake keeps them when a job fails and is
# tried again.
import os
import re
import shlex
import sys
from functools import cache
from pathlib import Path

# The folder above the workflow: a clone, with the package in it, or a part of the installed package.
ROOT = Path(str(workflow.current_basedir)).parents[1]
IN_CLONE = (ROOT / "pipeline").is_dir()
if IN_CLONE:
    sys.path.insert(0, str(ROOT))

from snakemake.exceptions import WorkflowError

from pipeline.config import REFERENCES
from pipeline.config.loading import load_config, with_types
from pipeline.errors import KinoflowError
from pipeline.page.version import page_version
from pipeline.stages import load_stages, stage_called
from pipeline.stages.job import Job
from pipeline.store.code import constant_of
from pipeline.store.places import Place

# Jobs use this interpreter and this package, whether or not an environment is activated. A conda environment that
# Snakemake activates for a job still comes first in its search path.
for variable, entry in (("PATH", os.path.dirname(sys.executable)), ("PYTHONPATH", str(ROOT)))[: 1 + IN_CLONE]:
    others = [part for part in os.environ.get(variable, "").split(os.pathsep) if part and part != entry]
    os.environ[variable] = os.pathsep.join([entry, *others])


def load_merged():
    """Return the scale's configuration, overridden by values from the command line, or stop before any job."""
    scale = str(config.get("scale", "demo"))  # of `config` in the working directory, or else beside the workflow
    path = (Path() if Path("config").is_dir() else Path(os.path.relpath(ROOT))) / "config" / f"{scale}.yaml"
    try:
        # Jobs on a cluster parse this file again; the choices were already checked when the workflow started.
        return load_config(path, [with_types(config)], choices=workflow.is_main_process)
    except KinoflowError as error:
        raise WorkflowError(str(error)) from None


CONFIG = load_merged()
STAGES = load_stages()
EXPERIMENTS = {name: Job(CONFIG, name) for name in CONFIG.experiments}
RESULTS = f"{CONFIG.results}/{CONFIG.scale}"
LOGS = f"{RESULTS}/logs"
BENCHMARKS = f"{RESULTS}/benchmarks"
CRYSTALS = [name for name, experiment in CONFIG.experiments.items() if experiment.crystals]
IMAGES = [name for name, job in EXPERIMENTS.items() if job.is_images]
CODES = [name for name, experiment in CONFIG.experiments.items() if experiment.tokenizer]
RUNS = sorted({run for experiment in CONFIG.experiments.values() for run in experiment.runs})


def any_of(names):
    """Return a pattern that matches the names; without names, it matches nothing."""
    return "|".join(names) or "(?!)"


def of_one_job(stage):
    """Return a pattern for the experiment in a path that matches if a stage has one job for the name after it."""
    jobs = [found for experiment in EXPERIMENTS.values() for found in STAGES[stage].jobs(experiment)]
    return any_of(f"{job.experiment}(?=/{job.name}[.])" for job, count in jobs if count == 1)


wildcard_constraints:
    experiment=any_of(CONFIG.experiments),
    name=any_of([*RUNS, *REFERENCES]),
    shard=r"\d+",
    shards=r"\d+",


def at(place, ending="", **names):
    """Return where a result lies, as a pattern; `names` fill in wildcards."""
    pattern = f"{RESULTS}/{place.value}{ending}"
    for wildcard, value in names.items():
        pattern = pattern.replace(f"{{{wildcard}}}", value)
    return pattern


def shown(file, category, caption, label):
    """Return a file that the report shows below a caption."""
    return report(file, category=category, caption=f"../report/{caption}.rst", labels={"experiment": label})


def table_at(place):
    """Return the files of a table; the report shows the CSV file. Its caption and label are called like its place."""
    caption, label = place.name.lower().removesuffix("_table"), Path(place.value).name.replace("_", " ")
    csv = shown(at(place, ".csv"), "Tables", caption, label)
    return {"markdown": at(place, ".md"), "numbers": at(place, ".json"), "csv": csv}


TARGETS = []  # what `snakemake` makes if no target is named


def want(stage, place, *endings):
    """Add the results of all jobs of a stage to the targets."""
    jobs = [job for experiment in EXPERIMENTS.values() for job, _ in STAGES[stage].jobs(experiment)]
    for job in jobs:
        names = {"experiment": job.experiment, "name": job.name}
        TARGETS.extend(at(place, ending, **names) for ending in endings or ("",))


def rows_at(place, ending="", among=None):
    """Return a function that lists one file per run and reference of an experiment, if it is `among` those named."""

    def files(wildcards):
        if among is not None and wildcards.experiment not in among:
            return []
        rows = EXPERIMENTS[wildcards.experiment].rows()
        return [at(place, ending, experiment=row.experiment, name=row.name) for row in rows]

    return files


def shards_at(place, stage, ending=""):
    """Return a function that lists the shards of a run or reference that a stage writes."""

    def files(wildcards):
        shards = STAGES[stage].count(job_of(wildcards))
        return [at(place, ending, **wildcards, shard=str(shard), shards=str(shards)) for shard in range(shards)]

    return files


def optional(place, ending="", when=None):
    """Return a function that gives a file of an experiment if a job needs it, else nothing."""

    def file(wildcards):
        return [at(place, ending, **wildcards)] if when(job_of(wildcards)) else []

    return file


def weights_of(wildcards):
    """Return the weights of a run, its own or those of the run that it names; a reference has none."""
    job = job_of(wildcards)
    return [at(Place.WEIGHTS, experiment=job.experiment, name=job.run.weights or job.name)] if job.is_run else []


def judge_weights_of(wildcards):
    """Return the weights of the run that judges the samples of the others, if there is one."""
    run = job_of(wildcards).judging_run()
    return [at(Place.WEIGHTS, experiment=wildcards.experiment, name=run)] if run else []


def flag(name, files):
    """Return a function that gives a flag with its files for the shell, or nothing if there are no files."""

    def text(wildcards):
        found = files(wildcards)
        return shlex.join([name, *found]) if found else ""

    return text


classifier_of = optional(Place.CLASSIFIER, ".safetensors", when=Job.trains_classifier)
judged_of = optional(Place.JUDGED, when=Job.has_judges)
tokenizer_of = optional(Place.TOKENIZER, ".safetensors", when=Job.of_codes)
search_of = optional(Place.SEARCH, when=lambda job: job.run.sampling.searched)


# What the declaration of a stage says about a job.


def job_of(wildcards):
    return Job(CONFIG, wildcards.experiment, wildcards.get("name", ""))


def declared(name):
    """Return the parameters of a rule: the configuration file, and what its jobs depend on besides their inputs."""

    def part(number):
        return lambda wildcards: settings_and_code(name, wildcards.experiment, wildcards.get("name", ""))[number]

    return {"config": at(Place.CONFIG), "settings": part(0), "code": part(1)}


@cache  # Snakemake asks again for all ready jobs each time it schedules one
def settings_and_code(stage, experiment, name):
    job = Job(CONFIG, experiment, name)
    return STAGES[stage].settings_text(job), f"code of {stage}: {STAGES[stage].code(job)[:16]}"


def files_of(name):
    """Return a function that lists what a stage reads besides results: fetched files, and the user's own.

    Missing files of the user are left out: preflight reports them all at once.
    """

    def files(wildcards):
        needs = list(STAGES[name].needs(job_of(wildcards)))
        fetched = [f"{CONFIG.data.cache}/{file}" for need in needs for file in need.fetched]
        return fetched + [str(path) for need in needs for path in need.own if path.exists()]

    return files


def files_of_metrics(wildcards):
    """Return the same for metrics, and the file that says that the judge is available, if the judge is not a run."""
    outside = job_of(wildcards).judged_from_outside()
    return files_of("score")(wildcards) + ([at(Place.JUDGE, **wildcards)] if outside else [])


def threads_of(name):
    return lambda wildcards: STAGES[name].threads(job_of(wildcards))


def evidence_of(wildcards):
    """Return the files that a run or reference is scored with: tables of crystals, or pictures of images."""
    if wildcards.experiment in IMAGES:
        classifier = classifier_of(wildcards)
        return {
            "pictures": at(Place.PICTURES, ".safetensors", **wildcards),
            "image_reference": at(Place.IMAGE_REFERENCE, **wildcards),
        } | ({"classifier": classifier[0]} if classifier else {})
    if wildcards.experiment not in CRYSTALS:
        return {}
    return {
        "structures": at(Place.STRUCTURES, ".parquet", **wildcards),
        "described": at(Place.DESCRIBED, **wildcards),
        "test": at(Place.DESCRIBED_TEST, **wildcards),
        "hull": at(Place.HULL, **wildcards),
    }


def evidence_flags(wildcards):
    flags = [(f"--{flag.replace('_', '-')}", path) for flag, path in evidence_of(wildcards).items()]
    return shlex.join(word for flag in flags for word in flag)


def prepared_images_of(wildcards):
    """Return the images that the reference `images` shows as they are."""
    return [at(Place.IMAGES, **wildcards)] if wildcards.name == "images" else []


def figure_scores(wildcards):
    """Return the scores, if the figure shows them."""
    drawn_by = STAGES["figure"].chosen(job_of(wildcards))[0]
    return rows_at(Place.SCORES)(wildcards) if constant_of(drawn_by, "SCORES", False) else []


structures_of = rows_at(Place.STRUCTURES, ".parquet", among=CRYSTALS)
relaxed_of = rows_at(Place.RELAXED, among=CRYSTALS)
pictures_of = rows_at(Place.PICTURES, ".safetensors", among=IMAGES)
