# What the jobs ask of the machine. The n-th attempt asks for n times the memory and time, up to `limits`.


def memory_of(resources, attempt):
    return CONFIG.limits.memory_of(resources, attempt)


def minutes_of(resources, attempt):
    return CONFIG.limits.minutes_of(resources, attempt)


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


def train_gres(wildcards):
    return f"gpu:{train_gpus(wildcards)}" if train_nodes(wildcards) > 1 and train_gpus(wildcards) else None


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
