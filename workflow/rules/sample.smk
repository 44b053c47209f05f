# Samples of the runs, in shards that are joined, and of the references.
localrules:
    gather,
    reference,


# The journal of finished blocks is not declared as output, so that Snakemake keeps it when a job fails and is tried again.
rule sample:
    input:
        tokens=f"{RESULTS}/tokens/{{experiment}}.safetensors",
        weights=weights_of,
        search=search_of,
        code=sample_code,
    output:
        samples=temp(f"{RESULTS}/shards/{{experiment}}/{{run}}/{{shard}}-of-{{shards}}.safetensors"),
        provenance=temp(f"{RESULTS}/shards/{{experiment}}/{{run}}/{{shard}}-of-{{shards}}.safetensors.provenance.json"),
    log:
        f"{LOGS}/sample/{{experiment}}/{{run}}/{{shard}}-of-{{shards}}.log",
    benchmark:
        f"{BENCHMARKS}/sample/{{experiment}}/{{run}}/{{shard}}-of-{{shards}}.tsv"
    conda:
        "../../envs/gpu.yaml"
    threads: 1
    resources:
        **for_gpu_jobs(sample_gpus),
        gpu=sample_gpus,
        mem_mb=sample_memory,
        runtime=sample_minutes,
    params:
        config=CONFIG_FILE,
        settings=sample_settings,
        search=search_flags,
        journal=f"{RESULTS}/journals/sample/{{experiment}}/{{run}}/{{shard}}-of-{{shards}}",
    shell:
        "python -m pipeline sample --config {params.config} --experiment {wildcards.experiment} --run {wildcards.run} "
        "--tokens {input.tokens} --weights {input.weights} --shard {wildcards.shard} --shards {wildcards.shards} "
        "{params.search} --journal {params.journal} --gpus {resources.gpu} --output {output.samples} > {log} 2>&1"


rule gather:
    input:
        shards=shards_of,
        provenance=shard_provenance_of,
        code=code("pipeline.sampling.samples"),
    output:
        samples=f"{RESULTS}/samples/{{experiment}}/{{run}}.safetensors",
    log:
        f"{LOGS}/gather/{{experiment}}/{{run}}.log",
    conda:
        "../../envs/cpu.yaml"
    shell:
        "python -m pipeline gather --shards {input.shards} --output {output.samples} > {log} 2>&1"


rule reference:
    input:
        tokens=f"{RESULTS}/tokens/{{experiment}}.safetensors",
        code=reference_code,
    output:
        samples=f"{RESULTS}/samples/{{experiment}}/{{reference}}.safetensors",
    log:
        f"{LOGS}/reference/{{experiment}}/{{reference}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        config=CONFIG_FILE,
        settings=reference_settings,
    shell:
        "python -m pipeline reference --config {params.config} --experiment {wildcards.experiment} "
        "--reference {wildcards.reference} --tokens {input.tokens} --output {output.samples} > {log} 2>&1"
