# Fetching files from elsewhere, and preparing tokens from them.
localrules:
    fetch,


rule fetch:
    """Fetch a file of the catalogue and verify its checksum."""
    output:
        f"{CONFIG.data.cache}/{{group}}/{{file}}",
    log:
        f"{LOGS}/fetch/{{group}}/{{file}}.log",
    wildcard_constraints:
        group="[^/.][^/]*",
        file="[^/.][^/]*",
    conda:
        "../../envs/cpu.yaml"
    params:
        config=at(Place.CONFIG),
    shell:
        "python -m pipeline fetch {wildcards.group:q}/{wildcards.file:q} --config {params.config:q} > {log:q} 2>&1"


rule prepare:
    """Prepare the tokens of an experiment."""
    input:
        files=files_of("prepare"),
    output:
        tokens=at(Place.TOKENS),
    log:
        f"{LOGS}/prepare/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/prepare/{{experiment}}.tsv"
    wildcard_constraints:
        experiment=any_of(name for name in EXPERIMENTS if name not in CRYSTALS + IMAGES),
    conda:
        "../../envs/cpu.yaml"
    threads: threads_of("prepare")
    resources:
        **resources_of("prepare"),
    params:
        **declared("prepare"),
    shell:
        "python -m pipeline prepare --config {params.config:q} --experiment {wildcards.experiment} "
        "--output {output.tokens:q} > {log:q} 2>&1"


rule prepare_crystals:
    """Prepare the tokens of an experiment on crystals, and a table of their structures."""
    input:
        files=files_of("prepare"),
    output:
        tokens=at(Place.TOKENS),
        rows=at(Place.ROWS),
    log:
        f"{LOGS}/prepare/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/prepare/{{experiment}}.tsv"
    wildcard_constraints:
        experiment=any_of(CRYSTALS),
    conda:
        "../../envs/cpu.yaml"
    threads: threads_of("prepare")
    resources:
        **resources_of("prepare"),
    params:
        **declared("prepare"),
    shell:
        "python -m pipeline prepare --config {params.config:q} --experiment {wildcards.experiment} "
        "--output {output.tokens:q} --rows {output.rows:q} > {log:q} 2>&1"
