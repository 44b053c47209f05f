# Scores of runs and references; a reference has no network. Journals are not declared as output, so that Snakemake
# keeps them when a job fails and is tried again.


rule score:
    """Score samples with the metrics of an experiment."""
    input:
        unpack(evidence_of),
        samples=at(Place.SAMPLES),
        tokens=at(Place.TOKENS),
        weights=weights_of,
        judge=judge_weights_of,
        files=files_of_metrics,
    output:
        scores=at(Place.SCORES),
    log:
        f"{LOGS}/score/{{experiment}}/{{name}}.log",
    benchmark:
        f"{BENCHMARKS}/score/{{experiment}}/{{name}}.tsv"
    conda:
        "../../envs/gpu.yaml"
    threads: threads_of("score")
    resources:
        **resources_of("score"),
    params:
        **declared("score"),
        weights=flag("--weights", weights_of),
        evidence=evidence_flags,
        judge=flag("--judge-weights", judge_weights_of),
        journal=f"{RESULTS}/journals/score/{{experiment}}/{{name}}",
    shell:
        "python -m pipeline score --config {params.config:q} --experiment {wildcards.experiment} "
        "--samples {input.samples:q} --tokens {input.tokens:q} {params.weights} {params.evidence} {params.judge} "
        "--journal {params.journal:q} --gpus {resources.gpu} --output {output.scores:q} > {log:q} 2>&1"
