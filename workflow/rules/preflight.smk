# Before the first job: is there all that the planned jobs need? It is no rule, since a rule that runs again would hide,
# behind `ancient`, whether the rules after it have to run again, too.
from pipeline.config_file import write_config
from pipeline.one_run import claim
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


def check_partitions():
    """Stop before any job if SLURM would have to guess a partition."""
    if workflow.executor_plugin.name != "slurm":
        return
    if workflow.executor_settings.partition_config or "SNAKEMAKE_SLURM_PARTITIONS" in os.environ:
        return  # the plugin chooses one for each job
    submitted = [known for known in workflow.rules if not workflow.is_local(known)]
    lacking = [known.name for known in submitted if "slurm_partition" not in known.resources]
    if lacking:
        raise WorkflowError(
            f"workflow/profiles/slurm/config.yaml: no slurm_partition for the jobs of {', '.join(lacking)}; write "
            "`slurm_partition: <one of those that sinfo lists>` below default-resources"
        )


def claim_results():
    """Stop if another run is at work: its jobs would read the configuration of this one."""
    try:
        claim(Path(RESULTS), lock=Path(LOGS) / "run.lock")
    except KinoflowError as error:
        raise WorkflowError(str(error)) from None


onstart:
    check_partitions()
    check_what_is_planned()
    claim_results()
    write_config(Path(CONFIG_FILE), CONFIG)
