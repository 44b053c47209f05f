# Before the first job: check that all that the planned jobs need is there. This is not a rule: the other rules would
# need it as an `ancient` input, and that would hide whether they have to run again.
from snakemake.logging import logger

from pipeline.config.loading import write_config
from pipeline.inspect.benchmarks import seconds_of
from snakemake_logger_plugin_kinoflow.console import Plan, Planned
from pipeline.inspect.live import write_planned
from pipeline.inspect.preflight.check import preflight
from pipeline.store.ignored import keep_from_git
from pipeline.store.locks import check_unclaimed, claim


def planned():
    """Return the planned jobs with their stages."""
    jobs = [(stage_called(job.rule.shellcmd, STAGES), job) for job in workflow.dag.needrun_jobs()]
    return [(stage, job_of(job.wildcards)) for stage, job in jobs if stage is not None]


def check_what_is_planned():
    """Print the remarks, and stop with a list of all problems if there are any."""
    try:
        found = preflight(CONFIG, planned(), local=workflow.local_exec)
        print(found.remarks_text(), end="", file=sys.stderr, flush=True)
        found.raise_problems(f"scale {CONFIG.scale}")
    except KinoflowError as error:
        raise WorkflowError(str(error)) from None


def stop_for(jobs, problem, remedy):
    """Stop if there are jobs that the profile has a problem with, and name their rules."""
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


def announce(log):
    """Tell the console which jobs there are, how long they took last time, and where everything is logged."""
    jobs = {
        job.jobid: Planned(job.rule.name, "/".join(job.wildcards), job.benchmark and seconds_of(Path(job.benchmark)))
        for job in workflow.dag.needrun_jobs()
        if not job.rule.norun
    }
    title = f"Kinoflow, scale {CONFIG.scale}"
    file = os.path.relpath(log[-1]) if log else "no file"
    logger.info(f"{title}: {len(jobs)} jobs", extra={"plan": Plan(title, file, jobs)})


def alone(check):
    """Stop if another run is at work: its jobs would read the configuration of this one."""
    try:
        check(Path(RESULTS), lock=Path(at(Place.RUN_LOCK)))
    except KinoflowError as error:
        raise WorkflowError(str(error)) from None


# Check before Snakemake sees files that another run is writing: it would take them for leftovers of a crash.
ONLY_LOOKING = re.compile(
    r"-[a-zA-Z]*n|--(dry-?run|(detailed-)?summary|report|lint|list.*|dag|rulegraph|filegraph|d3dag)"
)
if workflow.is_main_process and "snakemake" in sys.argv[0] and not any(map(ONLY_LOOKING.fullmatch, sys.argv)):
    alone(check_unclaimed)


onstart:
    check_profile()
    check_what_is_planned()
    alone(claim)
    write_config(Path(at(Place.CONFIG)), CONFIG)
    write_planned(Path(at(Place.PLANNED)), workflow.dag.needrun_jobs())
    keep_from_git(Path(CONFIG.results))
    announce(log)
    # To limit how many jobs start per second (--max-jobs-per-timespan), Snakemake 9 sets a timer of one second whenever
    # it looks for jobs to start, and sets it again when it fires: every job that ends adds one more timer. Our jobs take
    # seconds at least, so no limit is needed: let it look when a job has ended.
    workflow.scheduler.job_rate_limiter = None
