# What jobs ask of the machine. The n-th attempt asks for n times the memory and time, up to `limits`.

# The configuration says whether a job has GPUs, so one job of a rule may have some and another none. What the profile
# gives to jobs with GPUs, such as a partition, is therefore below a name of its own, not below the name of a rule.
GPU_JOBS = workflow.resource_settings.overwrite_resources.get("jobs_with_gpus", {})
ALL_JOBS = workflow.resource_settings.default_resources or {}
OURS = {"gpu", "gres", "gpus_per_node", "nodes", "mpi", "tasks", "tasks_per_gpu", "mem_mb", "disk_mb", "runtime"}
if OURS & GPU_JOBS.keys():
    raise WorkflowError(
        f"workflow/profiles/slurm/config.yaml: {', '.join(sorted(OURS & GPU_JOBS.keys()))} below jobs_with_gpus; "
        f"config/{CONFIG.scale}.yaml says how much a job asks for (`resources`)"
    )


def given(key, gpus, wildcards, job):
    """Return the profile's value of a resource for a job with or without GPUs, or None."""
    values = GPU_JOBS if gpus else ALL_JOBS
    return values[key].evaluate(wildcards, **job).value if key in values else None


def resources_of(name):
    """Return the resources of a rule, as its stage declares them.

    Only SLURM runs jobs on several nodes, as MPI jobs: it runs the command once, on the first node, and the command
    starts the processes on all nodes. `gpu` is the number for all nodes together, and SLURM might spread them unevenly:
    for several nodes, `gres` asks for GPUs on each node.
    """
    stage = STAGES[name]

    def asked(wildcards):
        return stage.resources_of(job_of(wildcards))

    def nodes(wildcards):
        return stage.nodes(job_of(wildcards))

    def gpus_per_node(wildcards):
        return asked(wildcards).gpus

    def gpu(wildcards):
        return gpus_per_node(wildcards) if nodes(wildcards) == 1 else None

    def gres(wildcards, **job):
        gpus = gpus_per_node(wildcards)
        if nodes(wildcards) == 1 or not gpus:
            return None
        model = given("gpu_model", gpus, wildcards, job)
        return f"gpu:{model}:{gpus}" if model else f"gpu:{gpus}"

    def on_several_nodes(value):
        return lambda wildcards: value(wildcards) if nodes(wildcards) > 1 else None

    def of_profile(key):
        count = gpu if key == "gpu_model" else gpus_per_node  # a model goes with `gpu`, not with `gres`
        return lambda wildcards, **job: given(key, count(wildcards), wildcards, job)

    return {key: of_profile(key) for key in GPU_JOBS} | {
        "gpu": gpu,
        "gres": gres,
        "gpus_per_node": gpus_per_node,
        "nodes": nodes,
        "mpi": on_several_nodes(lambda wildcards: "srun"),
        "tasks": on_several_nodes(nodes),
        "tasks_per_gpu": on_several_nodes(lambda wildcards: 0),  # or the plugin would use `tasks` for it
        "mem_mb": lambda wildcards, attempt: CONFIG.limits.memory_of(asked(wildcards), attempt),
        "runtime": lambda wildcards, attempt: CONFIG.limits.minutes_of(asked(wildcards), attempt),
    }
