# Crystals: from samples to all that is known about each structure.
localrules:
    decode,
    gather_relaxed,


rule decode:
    """Turn samples into crystals."""
    input:
        samples=at(Place.SAMPLES),
    output:
        table=at(Place.CRYSTALS, ".parquet"),
        extxyz=at(Place.CRYSTALS, ".extxyz"),
        cifs=at(Place.CRYSTALS, ".zip"),
    log:
        f"{LOGS}/decode/{{experiment}}/{{name}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        **declared("decode"),
    shell:
        "python -m pipeline decode --config {params.config:q} --experiment {wildcards.experiment} "
        "--samples {input.samples:q} --output {output.table:q} --extxyz {output.extxyz:q} --cifs {output.cifs:q} "
        "> {log:q} 2>&1"


rule describe:
    """Describe crystals: validity, density, fingerprints."""
    input:
        crystals=at(Place.CRYSTALS, ".parquet"),
    output:
        table=at(Place.DESCRIBED),
    log:
        f"{LOGS}/describe/{{experiment}}/{{name}}.log",
    benchmark:
        f"{BENCHMARKS}/describe/{{experiment}}/{{name}}.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: threads_of("describe")
    resources:
        **resources_of("describe"),
    params:
        **declared("describe"),
        journal=f"{RESULTS}/journals/describe/{{experiment}}/{{name}}",
    shell:
        "python -m pipeline describe --config {params.config:q} --experiment {wildcards.experiment} "
        "--crystals {input.crystals:q} --journal {params.journal:q} --output {output.table:q} > {log:q} 2>&1"


rule describe_test:
    """Describe the test structures that samples are compared with."""
    input:
        rows=at(Place.ROWS),
    output:
        table=at(Place.DESCRIBED_TEST),
    log:
        f"{LOGS}/describe/{{experiment}}/test.log",
    benchmark:
        f"{BENCHMARKS}/describe/{{experiment}}.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: threads_of("describe")
    resources:
        **resources_of("describe"),
    params:
        **declared("describe"),
        journal=f"{RESULTS}/journals/describe_test/{{experiment}}",
    shell:
        "python -m pipeline describe --config {params.config:q} --experiment {wildcards.experiment} "
        "--crystals {input.rows:q} --split test --journal {params.journal:q} --output {output.table:q} > {log:q} 2>&1"


rule relax:
    """Relax a shard of crystals with the energy model."""
    input:
        crystals=at(Place.CRYSTALS, ".parquet"),
        files=files_of("relax"),
    output:
        table=temp(at(Place.RELAXED_SHARD)),
        provenance=temp(at(Place.RELAXED_SHARD, ".provenance.json")),
        trajectories=temp(at(Place.TRAJECTORIES_SHARD)),
        made=temp(at(Place.TRAJECTORIES_SHARD, ".provenance.json")),
    log:
        f"{LOGS}/relax/{{experiment}}/{{name}}/{{shard}}-of-{{shards}}.log",
    benchmark:
        f"{BENCHMARKS}/relax/{{experiment}}/{{name}}/relaxed-{{shard}}-of-{{shards}}.tsv"
    conda:
        "../../envs/gpu.yaml"
    threads: threads_of("relax")
    resources:
        **resources_of("relax"),
    params:
        **declared("relax"),
        shard="{shard}",
        shards="{shards}",
        journal=f"{RESULTS}/journals/relax/{{experiment}}/{{name}}/{{shard}}-of-{{shards}}",
    shell:
        "python -m pipeline relax --config {params.config:q} --experiment {wildcards.experiment} "
        "--crystals {input.crystals:q} --shard {params.shard:q} --shards {params.shards:q} "
        "--journal {params.journal:q} --gpus {resources.gpu} --output {output.table:q} "
        "--trajectories {output.trajectories:q} > {log:q} 2>&1"


use rule relax as relax_whole with:
    output:
        table=at(Place.RELAXED),
        trajectories=at(Place.TRAJECTORIES),
    log:
        f"{LOGS}/relax/{{experiment}}/{{name}}/0-of-1.log",
    benchmark:
        f"{BENCHMARKS}/relax/{{experiment}}/{{name}}.tsv"
    wildcard_constraints:
        experiment=of_one_job("relax"),
    params:
        **declared("relax"),
        shard=0,
        shards=1,
        journal=f"{RESULTS}/journals/relax/{{experiment}}/{{name}}/0-of-1",


rule gather_relaxed:
    """Join relaxed shards."""
    input:
        shards=shards_at(Place.RELAXED_SHARD, "relax"),
        provenance=shards_at(Place.RELAXED_SHARD, "relax", ".provenance.json"),
        trajectories=shards_at(Place.TRAJECTORIES_SHARD, "relax"),
        made=shards_at(Place.TRAJECTORIES_SHARD, "relax", ".provenance.json"),
    output:
        table=at(Place.RELAXED),
        trajectories=at(Place.TRAJECTORIES),
    log:
        f"{LOGS}/gather_relaxed/{{experiment}}/{{name}}.log",
    wildcard_constraints:
        experiment=of_one_job("gather_relaxed"),
    conda:
        "../../envs/cpu.yaml"
    params:
        **declared("gather_relaxed"),
    shell:
        "python -m pipeline gather-relaxed --shards {input.shards:q} --output {output.table:q} "
        "--trajectory-shards {input.trajectories:q} --trajectories {output.trajectories:q} > {log:q} 2>&1"


rule judge_energies:
    """Compute the energies of relaxed crystals by other models."""
    input:
        relaxed=at(Place.RELAXED),
        files=files_of("judge_energies"),
    output:
        table=at(Place.JUDGED),
    log:
        f"{LOGS}/judge_energies/{{experiment}}/{{name}}.log",
    benchmark:
        f"{BENCHMARKS}/judge_energies/{{experiment}}/{{name}}.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: threads_of("judge_energies")
    resources:
        **resources_of("judge_energies"),
    params:
        **declared("judge_energies"),
        journal=f"{RESULTS}/journals/judge_energies/{{experiment}}/{{name}}",
    shell:
        "python -m pipeline judge-energies --config {params.config:q} --experiment {wildcards.experiment} "
        "--relaxed {input.relaxed:q} --journal {params.journal:q} --output {output.table:q} > {log:q} 2>&1"


rule hull:
    """Build the convex hull of formation energies."""
    input:
        files=files_of("hull"),
        rows=at(Place.ROWS),
    output:
        hull=at(Place.HULL),
    log:
        f"{LOGS}/hull/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/hull/{{experiment}}.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: threads_of("hull")
    resources:
        **resources_of("hull"),
    params:
        **declared("hull"),
    shell:
        "python -m pipeline hull --config {params.config:q} --experiment {wildcards.experiment} "
        "--rows {input.rows:q} --output {output.hull:q} > {log:q} 2>&1"


rule calibrate:
    """Compare energy models and the hull with the data set's own energies."""
    input:
        files=files_of("calibrate"),
        rows=at(Place.ROWS),
        hull=rules.hull.output.hull,
    output:
        **table_at(Place.CALIBRATION_TABLE),
    log:
        f"{LOGS}/calibrate/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/calibrate/{{experiment}}_calibration.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: threads_of("calibrate")
    resources:
        **resources_of("calibrate"),
    params:
        **declared("calibrate"),
    shell:
        "python -m pipeline calibrate --config {params.config:q} --experiment {wildcards.experiment} "
        "--rows {input.rows:q} --hull {input.hull:q} --csv {output.csv:q} --markdown {output.markdown:q} "
        "--numbers {output.numbers:q} > {log:q} 2>&1"


rule assess:
    """Collect all that is known about each crystal."""
    input:
        described=rules.describe.output.table,
        relaxed=at(Place.RELAXED),
        hull=rules.hull.output.hull,
        rows=at(Place.ROWS),
        judged=judged_of,
    output:
        table=at(Place.STRUCTURES, ".parquet"),
        csv=at(Place.STRUCTURES, ".csv"),
    log:
        f"{LOGS}/assess/{{experiment}}/{{name}}.log",
    benchmark:
        f"{BENCHMARKS}/assess/{{experiment}}/{{name}}.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: threads_of("assess")
    resources:
        **resources_of("assess"),
    params:
        **declared("assess"),
        judged=flag("--judged", judged_of),
    shell:
        "python -m pipeline assess --config {params.config:q} --experiment {wildcards.experiment} "
        "--described {input.described:q} --relaxed {input.relaxed:q} --hull {input.hull:q} --rows {input.rows:q} "
        "--output {output.table:q} --csv {output.csv:q} {params.judged} > {log:q} 2>&1"


want("judge_energies", Place.JUDGED)
want("calibrate", Place.CALIBRATION_TABLE, ".csv", ".md", ".json")
