# Before the first job: is there all that the planned jobs need? It is no rule, since a rule that runs again would hide,
# behind `ancient`, whether the rules after it have to run again, too.
from pipeline.config_file import write_config
from pipeline.preflight.check import preflight

# What the rules need of their experiment besides what other rules make; see pipeline/preflight/needs.py.
PARTS = {
    "prepare": "data",
    "prepare_crystals": "data",
    "prepare_images": "data",
    "hull": "hull",
    "train_tokenizer": "tokenizer",
    "encode": "tokenizer",
    "train": "training",
    "sample": "sampling",
    "search": "sampling",
    "judge": "scoring",
    "train_classifier": "scoring",
    "image_reference": "scoring",
    "pictures": "scoring",
    "tokenizer_report": "scoring",
    "score": "scoring",
    "score_reference": "scoring",
}


def planned_parts():
    """Return the parts of experiments that the planned jobs belong to."""
    jobs = [job for job in workflow.dag.needrun_jobs() if job.rule.name in PARTS]
    return {(experiment_of(job.wildcards), PARTS[job.rule.name]) for job in jobs}


def check_what_is_planned():
    """Print the remarks, and stop with a list of all problems if there are any."""
    found = preflight(CONFIG, planned_parts(), local=workflow.local_exec)
    print(found.remarks_text(), end="", file=sys.stderr, flush=True)
    try:
        found.raise_problems(f"scale {CONFIG.scale}")
    except KinoflowError as error:
        raise WorkflowError(str(error)) from None


# Under the lock of the workflow, so that all jobs of a run read the same values.
onstart:
    check_what_is_planned()
    write_config(Path(CONFIG_FILE), CONFIG)
