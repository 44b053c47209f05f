# The oracle bench: errors of samplers with the exact posterior, and what they say about claims. Nothing is trained.
from pipeline.config.oracle import CLAIMS


localrules:
    claims,


rule oracle:
    """Measure samplers with the exact posterior."""
    output:
        **table_at(Place.ORACLE_TABLE),
        measured=at(Place.ORACLE),
    log:
        f"{LOGS}/oracle/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/oracle/{{experiment}}_oracle.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: threads_of("oracle")
    resources:
        **resources_of("oracle"),
    params:
        **declared("oracle"),
        journal=f"{RESULTS}/journals/oracle/{{experiment}}",
    shell:
        "python -m pipeline oracle --config {params.config:q} --experiment {wildcards.experiment} "
        "--journal {params.journal:q} --output {output.measured:q} --csv {output.csv:q} "
        "--markdown {output.markdown:q} --numbers {output.numbers:q} > {log:q} 2>&1"


rule claims:
    """Say what the measured errors mean for claims about samplers."""
    input:
        measured=rules.oracle.output.measured,
    output:
        **table_at(Place.CLAIMS_TABLE),
        figures=[
            shown(at(Place.CLAIM_FIGURES, f"{claim}.png"), "Figures", "claim", f"{{experiment}} {claim}")
            for claim in CLAIMS
        ],
    log:
        f"{LOGS}/claims/{{experiment}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        **declared("claims"),
    shell:
        "python -m pipeline claims --config {params.config:q} --experiment {wildcards.experiment} "
        "--measured {input.measured:q} --csv {output.csv:q} --markdown {output.markdown:q} "
        "--numbers {output.numbers:q} --figures {output.figures:q} > {log:q} 2>&1"


want("oracle", Place.ORACLE_TABLE, ".csv", ".md", ".json")
want("claims", Place.CLAIMS_TABLE, ".csv", ".md", ".json")
want("claims", Place.CLAIM_FIGURES, *(f"{claim}.png" for claim in CLAIMS))
