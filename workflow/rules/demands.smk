# What the jobs ask of the machine.


def prepare_memory(wildcards):
    return CONFIG.experiments[experiment_of(wildcards)].preparation_resources.memory_mb


def prepare_minutes(wildcards):
    return CONFIG.experiments[experiment_of(wildcards)].preparation_resources.minutes


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


def score_gpus(wildcards):
    return CONFIG.experiments[experiment_of(wildcards)].scoring_resources.gpus


def score_memory(wildcards):
    return CONFIG.experiments[experiment_of(wildcards)].scoring_resources.memory_mb


def score_minutes(wildcards):
    return CONFIG.experiments[experiment_of(wildcards)].scoring_resources.minutes


def sample_gpus(wildcards):
    return run_of(wildcards).sampling.resources.gpus


def sample_memory(wildcards):
    return run_of(wildcards).sampling.resources.memory_mb


def sample_minutes(wildcards):
    return run_of(wildcards).sampling.resources.minutes


def tokenizer_gpus(wildcards):
    return CONFIG.experiments[wildcards.codes].tokenizer.training.resources.gpus


def tokenizer_gpu(wildcards):
    return min(1, tokenizer_gpus(wildcards))


def tokenizer_memory(wildcards):
    return CONFIG.experiments[wildcards.codes].tokenizer.training.resources.memory_mb


def tokenizer_minutes(wildcards):
    return CONFIG.experiments[wildcards.codes].tokenizer.training.resources.minutes
