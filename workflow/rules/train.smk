# Training. Checkpoints are not declared as output, so that Snakemake keeps them when a job fails and is tried again.
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
