# Training. Checkpoints are not declared as output, so that Snakemake keeps them when a job fails and is tried again.
# `exec` lets no shell stand between: SLURM signals every process of a job, and ends the job once the shell has gone,
# maybe before the checkpoint is written.
rule train:
    input:
        tokens=f"{RESULTS}/tokens/{{experiment}}.safetensors",
        code=train_code,
    output:
        weights=f"{RESULTS}/models/{{experiment}}/{{run}}.safetensors",
        metrics=f"{RESULTS}/models/{{experiment}}/{{run}}.json",
        history=f"{RESULTS}/models/{{experiment}}/{{run}}.csv",
    log:
        f"{LOGS}/train/{{experiment}}/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/train/{{experiment}}/{{run}}.tsv"
    conda:
        "../../envs/gpu.yaml"
    threads: train_threads
    resources:
        **for_gpu_jobs(train_gpus, model_for=train_gpu),
        gpu=train_gpu,
        gres=train_gres,
        gpus_per_node=train_gpus,
        nodes=train_nodes,
        mpi=train_mpi,
        tasks=train_tasks,
        tasks_per_gpu=train_tasks_per_gpu,
        mem_mb=train_memory,
        runtime=train_minutes,
    params:
        config=CONFIG_FILE,
        settings=train_settings,
        checkpoints=f"{RESULTS}/checkpoints/{{experiment}}/{{run}}",
        events=f"{RESULTS}/tensorboard/{{experiment}}/{{run}}",
    shell:
        "exec python -m pipeline train --config {params.config} --experiment {wildcards.experiment} --run {wildcards.run} "
        "--tokens {input.tokens} --checkpoints {params.checkpoints} --events {params.events} "
        "--gpus {resources.gpus_per_node} --nodes {resources.nodes} "
        "--weights {output.weights} --metrics {output.metrics} --history {output.history} > {log} 2>&1"
