# What the jobs ask of the machine. The n-th attempt asks for n times the memory and time, up to `limits`.


def memory_of(resources, attempt):
    return CONFIG.limits.memory_of(resources, attempt)


def minutes_of(resources, attempt):
    return CONFIG.limits.minutes_of(resources, attempt)


# GPUs. Whether a job has some is said in the configuration, so that of two jobs of a rule one may have them and the other
# not. What the profile gives to those that do, such as a partition, is therefore below a name that is no rule's.
GPU_JOBS = workflow.resource_settings.overwrite_resources.get("jobs_with_gpus", {})
ALL_JOBS = workflow.resource_settings.default_resources or {}
OURS = {"gpu", "gres", "gpus_per_node", "nodes", "mpi", "tasks", "tasks_per_gpu", "mem_mb", "disk_mb", "runtime"}
if OURS & GPU_JOBS.keys():
    raise WorkflowError(
        f"workflow/profiles/slurm/config.yaml: {', '.join(sorted(OURS & GPU_JOBS.keys()))} below jobs_with_gpus; "
        f"config/{CONFIG.scale}.yaml says how much a job asks for (`resources`)"
    )


def given(key, gpus, wildcards, job):
    """Return the profile's value of a resource for a job with so many GPUs, None if it has none."""
    values = GPU_JOBS if gpus else ALL_JOBS
    return values[key].evaluate(wildcards, **job).value if key in values else None


def for_gpu_jobs(gpus, model_for=None):
    """Return the resources of a rule that the profile decides by whether the job has GPUs.

    `model_for` counts the GPUs that are asked for by `gpu` if that is not all of them: `gpu_model` is for those only.
    """

    def resource(key):
        count = model_for if key == "gpu_model" and model_for else gpus
        return lambda wildcards, **job: given(key, count(wildcards), wildcards, job)

    return {key: resource(key) for key in GPU_JOBS}


# Preparation.


def prepare_resources(wildcards):
    return CONFIG.experiments[experiment_of(wildcards)].preparation_resources


def prepare_memory(wildcards, attempt):
    return memory_of(prepare_resources(wildcards), attempt)


def prepare_minutes(wildcards, attempt):
    return minutes_of(prepare_resources(wildcards), attempt)


# Training, of a run or of a tokenizer. Several nodes are for SLURM, which takes their jobs for MPI's: it runs the
# command once, on the first node, and the command starts the processes on all of them. `gpu` is a number for all nodes
# together, which might be spread unevenly, so that for several nodes `gres` asks for GPUs on each.


def training_resources(wildcards):
    if wildcards.get("codes"):
        return CONFIG.experiments[wildcards.codes].tokenizer.training.resources
    return run_of(wildcards).training.resources


def train_gpus(wildcards):
    return training_resources(wildcards).gpus


def train_gpu(wildcards):
    return train_gpus(wildcards) if train_nodes(wildcards) == 1 else None


def train_gres(wildcards, **job):
    gpus = train_gpus(wildcards)
    if train_nodes(wildcards) == 1 or not gpus:
        return None
    model = given("gpu_model", gpus, wildcards, job)
    return f"gpu:{model}:{gpus}" if model else f"gpu:{gpus}"


def train_nodes(wildcards):
    return training_resources(wildcards).nodes


def train_threads(wildcards):
    return max(1, training_resources(wildcards).gpus)


def train_mpi(wildcards):
    return "srun" if train_nodes(wildcards) > 1 else None


def train_tasks(wildcards):
    return train_nodes(wildcards) if train_nodes(wildcards) > 1 else None


def train_tasks_per_gpu(wildcards):
    return 0 if train_nodes(wildcards) > 1 else None  # or the plugin would take that of `tasks` for it


def train_memory(wildcards, attempt):
    return memory_of(training_resources(wildcards), attempt)


def train_minutes(wildcards, attempt):
    return minutes_of(training_resources(wildcards), attempt)


def encode_gpus(wildcards):
    return min(1, training_resources(wildcards).gpus)


# Sampling.


def sample_gpus(wildcards):
    return run_of(wildcards).sampling.resources.gpus


def sample_memory(wildcards, attempt):
    return memory_of(run_of(wildcards).sampling.resources, attempt)


def sample_minutes(wildcards, attempt):
    return minutes_of(run_of(wildcards).sampling.resources, attempt)


# Crystals.


def relax_resources(wildcards):
    return CONFIG.experiments[wildcards.crystals].crystals.relaxation.resources


def relax_memory(wildcards, attempt):
    return memory_of(relax_resources(wildcards), attempt)


def relax_minutes(wildcards, attempt):
    return minutes_of(relax_resources(wildcards), attempt)


def relax_workers(wildcards):
    return CONFIG.experiments[wildcards.crystals].crystals.relaxation.workers


def describe_resources(wildcards):
    return CONFIG.experiments[wildcards.crystals].crystals.resources


def describe_memory(wildcards, attempt):
    return memory_of(describe_resources(wildcards), attempt)


def describe_minutes(wildcards, attempt):
    return minutes_of(describe_resources(wildcards), attempt)


def describe_workers(wildcards):
    return CONFIG.experiments[wildcards.crystals].crystals.workers


# Scores.


def score_resources(wildcards):
    return CONFIG.experiments[experiment_of(wildcards)].scoring_resources


def score_gpus(wildcards):
    return score_resources(wildcards).gpus


def score_memory(wildcards, attempt):
    return memory_of(score_resources(wildcards), attempt)


def score_minutes(wildcards, attempt):
    return minutes_of(score_resources(wildcards), attempt)
