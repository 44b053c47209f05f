# Before the first job: is there all that the planned jobs need? It is no rule, since a rule that runs again would hide,
# behind `ancient`, whether the rules after it have to run again, too.
from pipeline.config.loading import write_config
from pipeline.store.one_run import claim
from pipeline.inspect.preflight.check import preflight

# What the rules need of their experiment besides what other rules make; see pipeline/inspect/preflight/needs.py.
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
    try:
        found = preflight(CONFIG, planned_parts(), local=workflow.local_exec)
        print(found.remarks_text(), end="", file=sys.stderr, flush=True)
        found.raise_problems(f"scale {CONFIG.scale}")
    except KinoflowError as error:
        raise WorkflowError(str(error)) from None


def stop_for(jobs, problem, remedy):
    """Stop, naming the rules of the jobs that the profile has a problem with, if there are any."""
    rules = sorted({job.rule.name for job in jobs})
    if rules:
        raise WorkflowError(f"workflow/profiles/slurm/config.yaml: {problem} the jobs of {', '.join(rules)}; {remedy}")


def check_profile():
    """Stop before any job if SLURM would have to guess a partition, or would give GPUs to jobs that ask for none."""
    if workflow.executor_plugin.name != "slurm":
        return
    submitted = [job for job in workflow.dag.needrun_jobs() if not workflow.is_local(job.rule)]
    stop_for(
        [job for job in submitted if job.resources.get("gpu_model") and not job.resources.get("gpu")],
        "gpu_model would add a GPU to",
        "write it below jobs_with_gpus and nowhere else",
    )
    if workflow.executor_settings.partition_config or "SNAKEMAKE_SLURM_PARTITIONS" in os.environ:
        return  # the plugin chooses one for each job
    stop_for(
        [job for job in submitted if not job.resources.get("slurm_partition")],
        "no slurm_partition for",
        "write `slurm_partition: <one of those that sinfo lists>` below default-resources",
    )


def claim_results():
    """Stop if another run is at work: its jobs would read the configuration of this one."""
    try:
        claim(Path(RESULTS), lock=Path(LOGS) / "run.lock")
    except KinoflowError as error:
        raise WorkflowError(str(error)) from None


onstart:
    check_profile()
    check_what_is_planned()
    claim_results()
    write_config(Path(CONFIG_FILE), CONFIG)
