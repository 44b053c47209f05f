# Crystals: from samples to what is known of each structure. The journals of finished rows are not declared as output, so
# that Snakemake keeps them when a job fails and is tried again.
localrules:
    decode,
    gather_relaxed,


rule decode:
    input:
        samples=f"{RESULTS}/samples/{{crystals}}/{{name}}.safetensors",
        code=code("pipeline.crystals.decode"),
    output:
        table=f"{RESULTS}/crystals/{{crystals}}/{{name}}.parquet",
        extxyz=f"{RESULTS}/crystals/{{crystals}}/{{name}}.extxyz",
        cifs=f"{RESULTS}/crystals/{{crystals}}/{{name}}.zip",
    log:
        f"{LOGS}/decode/{{crystals}}/{{name}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        config=CONFIG_FILE,
    shell:
        "python -m pipeline decode --config {params.config} --experiment {wildcards.crystals} "
        "--samples {input.samples} --output {output.table} --extxyz {output.extxyz} --cifs {output.cifs} > {log} 2>&1"


rule describe:
    input:
        crystals=f"{RESULTS}/crystals/{{crystals}}/{{name}}.parquet",
        code=code("pipeline.crystals.describe"),
    output:
        table=f"{RESULTS}/described/{{crystals}}/{{name}}.parquet",
    log:
        f"{LOGS}/describe/{{crystals}}/{{name}}.log",
    benchmark:
        f"{BENCHMARKS}/describe/{{crystals}}/{{name}}.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: describe_workers
    resources:
        mem_mb=describe_memory,
        runtime=describe_minutes,
    params:
        config=CONFIG_FILE,
        settings=describe_settings,
        journal=f"{RESULTS}/journals/describe/{{crystals}}/{{name}}",
    shell:
        "python -m pipeline describe --config {params.config} --experiment {wildcards.crystals} "
        "--crystals {input.crystals} --journal {params.journal} --output {output.table} > {log} 2>&1"


rule describe_test:
    input:
        rows=f"{RESULTS}/rows/{{crystals}}.parquet",
        code=code("pipeline.crystals.describe"),
    output:
        table=f"{RESULTS}/described_test/{{crystals}}.parquet",
    log:
        f"{LOGS}/describe/{{crystals}}/test.log",
    benchmark:
        f"{BENCHMARKS}/describe/{{crystals}}.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: describe_workers
    resources:
        mem_mb=describe_memory,
        runtime=describe_minutes,
    params:
        config=CONFIG_FILE,
        settings=describe_settings,
        journal=f"{RESULTS}/journals/describe_test/{{crystals}}",
    shell:
        "python -m pipeline describe --config {params.config} --experiment {wildcards.crystals} "
        "--crystals {input.rows} --split test --journal {params.journal} --output {output.table} > {log} 2>&1"


rule relax:
    input:
        crystals=f"{RESULTS}/crystals/{{crystals}}/{{name}}.parquet",
        code=code("pipeline.crystals.relaxation"),
    output:
        table=temp(f"{RESULTS}/shards/{{crystals}}/{{name}}/relaxed-{{shard}}-of-{{shards}}.parquet"),
        provenance=temp(
            f"{RESULTS}/shards/{{crystals}}/{{name}}/relaxed-{{shard}}-of-{{shards}}.parquet.provenance.json"
        ),
    log:
        f"{LOGS}/relax/{{crystals}}/{{name}}/{{shard}}-of-{{shards}}.log",
    benchmark:
        f"{BENCHMARKS}/relax/{{crystals}}/{{name}}/relaxed-{{shard}}-of-{{shards}}.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: relax_workers
    resources:
        mem_mb=relax_memory,
        runtime=relax_minutes,
    params:
        config=CONFIG_FILE,
        settings=relax_settings,
        journal=f"{RESULTS}/journals/relax/{{crystals}}/{{name}}/{{shard}}-of-{{shards}}",
    shell:
        "python -m pipeline relax --config {params.config} --experiment {wildcards.crystals} "
        "--crystals {input.crystals} --shard {wildcards.shard} --shards {wildcards.shards} "
        "--journal {params.journal} --output {output.table} > {log} 2>&1"


rule gather_relaxed:
    input:
        shards=relaxed_shards_of,
        provenance=relaxed_shard_provenance_of,
        code=code("pipeline.crystals.relaxation"),
    output:
        table=f"{RESULTS}/relaxed/{{crystals}}/{{name}}.parquet",
    log:
        f"{LOGS}/gather_relaxed/{{crystals}}/{{name}}.log",
    conda:
        "../../envs/cpu.yaml"
    shell:
        "python -m pipeline gather-relaxed --shards {input.shards} --output {output.table} > {log} 2>&1"


rule hull:
    input:
        files=hull_files,
        rows=f"{RESULTS}/rows/{{crystals}}.parquet",
        code=code("pipeline.crystals.hull"),
    output:
        hull=f"{RESULTS}/hull/{{crystals}}.parquet",
    log:
        f"{LOGS}/hull/{{crystals}}.log",
    benchmark:
        f"{BENCHMARKS}/hull/{{crystals}}.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: describe_workers
    resources:
        mem_mb=describe_memory,
        runtime=describe_minutes,
    params:
        config=CONFIG_FILE,
        settings=hull_settings,
    shell:
        "python -m pipeline hull --config {params.config} --experiment {wildcards.crystals} "
        "--rows {input.rows} --output {output.hull} > {log} 2>&1"


rule calibrate:
    input:
        rows=f"{RESULTS}/rows/{{crystals}}.parquet",
        hull=f"{RESULTS}/hull/{{crystals}}.parquet",
        code=code("pipeline.crystals.calibration"),
    output:
        csv=report(
            f"{RESULTS}/tables/{{crystals}}_calibration.csv",
            caption="../report/calibration.rst",
            category="Tables",
            labels={"experiment": "{crystals} calibration"},
        ),
        markdown=f"{RESULTS}/tables/{{crystals}}_calibration.md",
        numbers=f"{RESULTS}/tables/{{crystals}}_calibration.json",
    log:
        f"{LOGS}/calibrate/{{crystals}}.log",
    benchmark:
        f"{BENCHMARKS}/calibrate/{{crystals}}_calibration.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: describe_workers
    resources:
        mem_mb=describe_memory,
        runtime=describe_minutes,
    params:
        config=CONFIG_FILE,
        settings=calibrate_settings,
    shell:
        "python -m pipeline calibrate --config {params.config} --experiment {wildcards.crystals} "
        "--rows {input.rows} --hull {input.hull} --csv {output.csv} --markdown {output.markdown} "
        "--numbers {output.numbers} > {log} 2>&1"


rule assess:
    input:
        described=f"{RESULTS}/described/{{crystals}}/{{name}}.parquet",
        relaxed=f"{RESULTS}/relaxed/{{crystals}}/{{name}}.parquet",
        hull=f"{RESULTS}/hull/{{crystals}}.parquet",
        rows=f"{RESULTS}/rows/{{crystals}}.parquet",
        code=code("pipeline.crystals.assess"),
    output:
        table=f"{RESULTS}/structures/{{crystals}}/{{name}}.parquet",
        csv=f"{RESULTS}/structures/{{crystals}}/{{name}}.csv",
    log:
        f"{LOGS}/assess/{{crystals}}/{{name}}.log",
    benchmark:
        f"{BENCHMARKS}/assess/{{crystals}}/{{name}}.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: describe_workers
    resources:
        mem_mb=describe_memory,
        runtime=describe_minutes,
    params:
        config=CONFIG_FILE,
        settings=describe_settings,
    shell:
        "python -m pipeline assess --config {params.config} --experiment {wildcards.crystals} "
        "--described {input.described} --relaxed {input.relaxed} --hull {input.hull} --rows {input.rows} "
        "--output {output.table} --csv {output.csv} > {log} 2>&1"
