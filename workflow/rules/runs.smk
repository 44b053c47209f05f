# The training of the runs, their samples, at once or in shards that are joined, and those of the references.
localrules:
    gather,
    reference,


# `exec` replaces the shell: SLURM signals every process of a job and ends the job once the shell is gone, maybe before
# the checkpoint is written.
rule train:
    """Train the network of a run."""
    input:
        tokens=at(Place.TOKENS),
    output:
        weights=at(Place.WEIGHTS),
        metrics=at(Place.TRAINED),
        history=at(Place.TRAINING_HISTORY),
    log:
        f"{LOGS}/train/{{experiment}}/{{name}}.log",
    benchmark:
        f"{BENCHMARKS}/train/{{experiment}}/{{name}}.tsv"
    wildcard_constraints:
        name=any_of(RUNS),
    conda:
        "../../envs/gpu.yaml"
    threads: threads_of("train")
    resources:
        **resources_of("train"),
    params:
        **declared("train"),
        checkpoints=f"{RESULTS}/checkpoints/{{experiment}}/{{name}}",
        events=f"{RESULTS}/tensorboard/{{experiment}}/{{name}}",
    shell:
        "exec python -m pipeline train --config {params.config:q} --experiment {wildcards.experiment} "
        "--run {wildcards.name} --tokens {input.tokens:q} --checkpoints {params.checkpoints:q} "
        "--events {params.events:q} --gpus {resources.gpus_per_node} --nodes {resources.nodes} "
        "--weights {output.weights:q} --metrics {output.metrics:q} --history {output.history:q} > {log:q} 2>&1"


rule sample:
    """Draw one shard of the samples of a run."""
    input:
        tokens=at(Place.TOKENS),
        weights=weights_of,
        search=search_of,
    output:
        samples=temp(at(Place.SAMPLED_SHARD)),
        provenance=temp(at(Place.SAMPLED_SHARD, ".provenance.json")),
    log:
        f"{LOGS}/sample/{{experiment}}/{{name}}/{{shard}}-of-{{shards}}.log",
    benchmark:
        f"{BENCHMARKS}/sample/{{experiment}}/{{name}}/{{shard}}-of-{{shards}}.tsv"
    wildcard_constraints:
        name=any_of(RUNS),
    conda:
        "../../envs/gpu.yaml"
    threads: threads_of("sample")
    resources:
        **resources_of("sample"),
    params:
        **declared("sample"),
        search=flag("--search", search_of),
        shard="{shard}",
        shards="{shards}",
        journal=f"{RESULTS}/journals/sample/{{experiment}}/{{name}}/{{shard}}-of-{{shards}}",
    shell:
        "python -m pipeline sample --config {params.config:q} --experiment {wildcards.experiment} --run {wildcards.name} "
        "--tokens {input.tokens:q} --weights {input.weights:q} --shard {params.shard:q} --shards {params.shards:q} "
        "{params.search} --journal {params.journal:q} --gpus {resources.gpu} --output {output.samples:q} > {log:q} 2>&1"


# One shard is the whole: it needs no job to join it.
use rule sample as sample_whole with:
    output:
        samples=at(Place.SAMPLES),
    log:
        f"{LOGS}/sample/{{experiment}}/{{name}}/0-of-1.log",
    benchmark:
        f"{BENCHMARKS}/sample/{{experiment}}/{{name}}.tsv"
    wildcard_constraints:
        experiment=of_one_job("sample"),
    params:
        **declared("sample"),
        search=flag("--search", search_of),
        shard=0,
        shards=1,
        journal=f"{RESULTS}/journals/sample/{{experiment}}/{{name}}/0-of-1",


rule gather:
    """Join the shards of a run."""
    input:
        shards=shards_at(Place.SAMPLED_SHARD, "sample"),
        provenance=shards_at(Place.SAMPLED_SHARD, "sample", ".provenance.json"),
    output:
        samples=at(Place.SAMPLES),
    log:
        f"{LOGS}/gather/{{experiment}}/{{name}}.log",
    wildcard_constraints:
        experiment=of_one_job("gather"),
    conda:
        "../../envs/cpu.yaml"
    params:
        **declared("gather"),
    shell:
        "python -m pipeline gather --shards {input.shards:q} --output {output.samples:q} > {log:q} 2>&1"


rule reference:
    """Draw reference samples from the data."""
    input:
        tokens=at(Place.TOKENS),
    output:
        samples=at(Place.SAMPLES),
    log:
        f"{LOGS}/reference/{{experiment}}/{{name}}.log",
    wildcard_constraints:
        name=any_of(REFERENCES),
    conda:
        "../../envs/cpu.yaml"
    params:
        **declared("reference"),
    shell:
        "python -m pipeline reference --config {params.config:q} --experiment {wildcards.experiment} "
        "--reference {wildcards.name} --tokens {input.tokens:q} --output {output.samples:q} > {log:q} 2>&1"
