# Scores of runs and references; a reference has no network. Journals are not declared as output, so that Snakemake
# keeps them when a job fails and is tried again.
rule score:
    input:
        unpack(evidence_of),
        samples=f"{RESULTS}/samples/{{experiment}}/{{run}}.safetensors",
        tokens=f"{RESULTS}/tokens/{{experiment}}.safetensors",
        weights=weights_of,
        judge=judge_weights_of,
        files=metric_files,
        code=score_code,
    output:
        scores=f"{RESULTS}/scores/{{experiment}}/{{run}}.json",
    log:
        f"{LOGS}/score/{{experiment}}/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/score/{{experiment}}/{{run}}.tsv"
    conda:
        "../../envs/gpu.yaml"
    threads: 1
    resources:
        **for_gpu_jobs(score_gpus),
        gpu=score_gpus,
        mem_mb=score_memory,
        runtime=score_minutes,
    params:
        config=CONFIG_FILE,
        settings=score_settings,
        evidence=evidence_flags,
        judge=judge_flags,
        journal=f"{RESULTS}/journals/score/{{experiment}}/{{run}}",
    shell:
        "python -m pipeline score --config {params.config} --experiment {wildcards.experiment} "
        "--samples {input.samples} --tokens {input.tokens} --weights {input.weights} {params.evidence} {params.judge} "
        "--journal {params.journal} --gpus {resources.gpu} --output {output.scores} > {log} 2>&1"


rule score_reference:
    input:
        unpack(evidence_of),
        samples=f"{RESULTS}/samples/{{experiment}}/{{reference}}.safetensors",
        tokens=f"{RESULTS}/tokens/{{experiment}}.safetensors",
        judge=judge_weights_of,
        files=metric_files,
        code=score_code,
    output:
        scores=f"{RESULTS}/scores/{{experiment}}/{{reference}}.json",
    log:
        f"{LOGS}/score/{{experiment}}/{{reference}}.log",
    benchmark:
        f"{BENCHMARKS}/score/{{experiment}}/{{reference}}.tsv"
    conda:
        "../../envs/gpu.yaml"
    threads: 1
    resources:
        **for_gpu_jobs(score_gpus),
        gpu=score_gpus,
        mem_mb=score_memory,
        runtime=score_minutes,
    params:
        config=CONFIG_FILE,
        settings=score_settings,
        evidence=evidence_flags,
        judge=judge_flags,
        journal=f"{RESULTS}/journals/score/{{experiment}}/{{reference}}",
    shell:
        "python -m pipeline score --config {params.config} --experiment {wildcards.experiment} "
        "--samples {input.samples} --tokens {input.tokens} {params.evidence} {params.judge} "
        "--journal {params.journal} --gpus {resources.gpu} --output {output.scores} > {log} 2>&1"
