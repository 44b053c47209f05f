# Fetching files from elsewhere, and preparing tokens from them.
localrules:
    fetch,


rule fetch:
    output:
        f"{CONFIG.data.cache}/{{name}}/{{file}}",
    log:
        f"{LOGS}/fetch/{{name}}/{{file}}.log",
    wildcard_constraints:
        name="[^/.][^/]*",
        file="[^/.][^/]*",
    conda:
        "../../envs/cpu.yaml"
    params:
        config=CONFIG_FILE,
    shell:
        "python -m pipeline fetch {wildcards.name}/{wildcards.file} --config {params.config} > {log} 2>&1"


rule prepare:
    input:
        files=data_files,
        code=prepare_code,
    output:
        tokens=f"{RESULTS}/tokens/{{experiment}}.safetensors",
    log:
        f"{LOGS}/prepare/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/prepare/{{experiment}}.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=prepare_memory,
        runtime=prepare_minutes,
    params:
        config=CONFIG_FILE,
        settings=prepare_settings,
    shell:
        "python -m pipeline prepare --config {params.config} --experiment {wildcards.experiment} "
        "--output {output.tokens} > {log} 2>&1"


ruleorder: prepare_crystals > prepare


rule prepare_crystals:
    input:
        files=data_files,
        code=prepare_code,
    output:
        tokens=f"{RESULTS}/tokens/{{experiment}}.safetensors",
        rows=f"{RESULTS}/rows/{{experiment}}.parquet",
    log:
        f"{LOGS}/prepare/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/prepare/{{experiment}}.tsv"
    wildcard_constraints:
        experiment="|".join(CRYSTALS) or NONE,
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=prepare_memory,
        runtime=prepare_minutes,
    params:
        config=CONFIG_FILE,
        settings=prepare_settings,
    shell:
        "python -m pipeline prepare --config {params.config} --experiment {wildcards.experiment} "
        "--output {output.tokens} --rows {output.rows} > {log} 2>&1"
