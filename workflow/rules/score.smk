# Scores of runs and references; a reference has no network.
rule score:
    input:
        unpack(evidence_of),
        samples=f"{RESULTS}/samples/{{experiment}}/{{run}}.safetensors",
        tokens=f"{RESULTS}/tokens/{{experiment}}.safetensors",
        weights=f"{RESULTS}/models/{{experiment}}/{{run}}.safetensors",
        code=score_code,
    output:
        scores=f"{RESULTS}/scores/{{experiment}}/{{run}}.json",
    log:
        f"{LOGS}/score/{{experiment}}/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/score/{{experiment}}/{{run}}.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        config=CONFIG_FILE,
        settings=score_settings,
        evidence=evidence_flags,
    shell:
        "python -m pipeline score --config {params.config} --experiment {wildcards.experiment} "
        "--samples {input.samples} --tokens {input.tokens} --weights {input.weights} {params.evidence} --output {output.scores} > {log} 2>&1"


rule score_reference:
    input:
        unpack(evidence_of),
        samples=f"{RESULTS}/samples/{{experiment}}/{{reference}}.safetensors",
        tokens=f"{RESULTS}/tokens/{{experiment}}.safetensors",
        code=score_code,
    output:
        scores=f"{RESULTS}/scores/{{experiment}}/{{reference}}.json",
    log:
        f"{LOGS}/score/{{experiment}}/{{reference}}.log",
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        config=CONFIG_FILE,
        settings=score_settings,
        evidence=evidence_flags,
    shell:
        "python -m pipeline score --config {params.config} --experiment {wildcards.experiment} "
        "--samples {input.samples} --tokens {input.tokens} {params.evidence} --output {output.scores} > {log} 2>&1"
