# Text: samples to read, and the language model that judges them.
localrules:
    texts,
    judge,


rule texts:
    """Write samples of text to read."""
    input:
        samples=at(Place.SAMPLES),
        tokens=at(Place.TOKENS),
    output:
        text=at(Place.TEXTS, ".txt"),
        lines=at(Place.TEXTS, ".jsonl"),
    log:
        f"{LOGS}/texts/{{experiment}}/{{name}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        **declared("texts"),
    shell:
        "python -m pipeline texts --samples {input.samples:q} --tokens {input.tokens:q} "
        "--text {output.text:q} --lines {output.lines:q} > {log:q} 2>&1"


rule judge:
    """Check that the language model that judges samples is available, before hours are spent."""
    input:
        files=files_of("judge"),
    output:
        judge=at(Place.JUDGE),
    log:
        f"{LOGS}/judge/{{experiment}}.log",
    priority: 100
    conda:
        "../../envs/cpu.yaml"
    params:
        **declared("judge"),
    shell:
        "python -m pipeline judge --config {params.config:q} --experiment {wildcards.experiment} "
        "--output {output.judge:q} > {log:q} 2>&1"


want("texts", Place.TEXTS, ".txt")
