# Scores of runs and references; a reference has no network. Journals are not declared as output, so that Snakemake
# keeps them when a job fails and is tried again.


def evidence_of(wildcards):
    """Return the files that a run or reference is scored with: tables of crystals, or pictures of images."""
    if wildcards.experiment in IMAGES:
        classifier = classifier_of(wildcards)
        return {
            "pictures": at(Place.PICTURES, ".safetensors", **wildcards),
            "image_reference": at(Place.IMAGE_REFERENCE, **wildcards),
        } | ({"classifier": classifier[0]} if classifier else {})
    if wildcards.experiment not in CRYSTALS:
        return {}
    return {
        "structures": at(Place.STRUCTURES, ".parquet", **wildcards),
        "described": at(Place.DESCRIBED, **wildcards),
        "test": at(Place.DESCRIBED_TEST, **wildcards),
    }


def evidence_flags(wildcards):
    flags = [(f"--{flag.replace('_', '-')}", path) for flag, path in evidence_of(wildcards).items()]
    return shlex.join(word for flag in flags for word in flag)


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
