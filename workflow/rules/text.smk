# Text: samples to read, and the language model that judges them.
localrules:
    texts,
    judge,


rule texts:
    input:
        samples=f"{RESULTS}/samples/{{text}}/{{name}}.safetensors",
        tokens=f"{RESULTS}/tokens/{{text}}.safetensors",
        code=code("pipeline.text.export"),
    output:
        text=f"{RESULTS}/texts/{{text}}/{{name}}.txt",
        lines=f"{RESULTS}/texts/{{text}}/{{name}}.jsonl",
    log:
        f"{LOGS}/texts/{{text}}/{{name}}.log",
    conda:
        "../../envs/cpu.yaml"
    shell:
        "python -m pipeline texts --samples {input.samples} --tokens {input.tokens} "
        "--text {output.text} --lines {output.lines} > {log} 2>&1"


# First of all jobs, so that a judge that cannot be had is found out before hours are spent.
rule judge:
    input:
        files=judge_files,
        code=judge_code,
    output:
        f"{RESULTS}/judges/{{experiment}}.json",
    log:
        f"{LOGS}/judge/{{experiment}}.log",
    priority: 100
    conda:
        "../../envs/cpu.yaml"
    params:
        config=CONFIG_FILE,
        settings=score_settings,
    shell:
        "python -m pipeline judge --config {params.config} --experiment {wildcards.experiment} --output {output} "
        "> {log} 2>&1"
