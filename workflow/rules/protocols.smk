# Protocols: the same crystals, counted under different choices.
rule protocols:
    """Count stable, unique and novel crystals by each protocol."""
    input:
        structures=structures_of,
        relaxed=relaxed_of,
        hull=rules.hull.output.hull,
        rows=at(Place.ROWS),
    output:
        **table_at(Place.PROTOCOLS_TABLE),
    log:
        f"{LOGS}/protocols/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/protocols/{{experiment}}_protocols.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: threads_of("protocols")
    resources:
        **resources_of("protocols"),
    params:
        **declared("protocols"),
    shell:
        "python -m pipeline protocols --config {params.config:q} --experiment {wildcards.experiment} "
        "--structures {input.structures:q} --relaxed {input.relaxed:q} --hull {input.hull:q} --rows {input.rows:q} "
        "--csv {output.csv:q} --markdown {output.markdown:q} --numbers {output.numbers:q} > {log:q} 2>&1"


want("protocols", Place.PROTOCOLS_TABLE, ".csv", ".md", ".json")
