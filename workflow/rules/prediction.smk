# Structure prediction: compositions of test structures are given, and cell and sites are compared with the real ones.
from pipeline.config import PREDICTED
from pipeline.stages.predicting import all_predictions


localrules:
    prediction_reference,
    prediction_table,


rule predict:
    """Predict structures for the compositions of test structures."""
    input:
        tokens=at(Place.TOKENS),
        weights=weights_of,
        rows=at(Place.ROWS),
    output:
        table=at(Place.PREDICTIONS),
    log:
        f"{LOGS}/predict/{{experiment}}/{{name}}.log",
    benchmark:
        f"{BENCHMARKS}/predict/{{experiment}}/{{name}}.tsv"
    wildcard_constraints:
        name=any_of(RUNS),
    conda:
        "../../envs/gpu.yaml"
    threads: threads_of("predict")
    resources:
        **resources_of("predict"),
    params:
        **declared("predict"),
        journal=f"{RESULTS}/journals/predict/{{experiment}}/{{name}}",
    shell:
        "python -m pipeline predict --config {params.config:q} --experiment {wildcards.experiment} "
        "--run {wildcards.name} --tokens {input.tokens:q} --weights {input.weights:q} --rows {input.rows:q} "
        "--journal {params.journal:q} --gpus {resources.gpu} --output {output.table:q} > {log:q} 2>&1"


rule prediction_reference:
    """Predict structures without a network."""
    input:
        tokens=at(Place.TOKENS),
        rows=at(Place.ROWS),
    output:
        table=at(Place.PREDICTIONS),
    log:
        f"{LOGS}/prediction_reference/{{experiment}}/{{name}}.log",
    wildcard_constraints:
        name=any_of(PREDICTED),
    conda:
        "../../envs/cpu.yaml"
    params:
        **declared("prediction_reference"),
    shell:
        "python -m pipeline prediction-reference --config {params.config:q} --experiment {wildcards.experiment} "
        "--reference {wildcards.name} --tokens {input.tokens:q} --rows {input.rows:q} --output {output.table:q} "
        "> {log:q} 2>&1"


rule match_predictions:
    """Compare predicted structures with the real ones."""
    input:
        predictions=at(Place.PREDICTIONS),
        rows=at(Place.ROWS),
    output:
        table=at(Place.MATCHES),
    log:
        f"{LOGS}/match_predictions/{{experiment}}/{{name}}.log",
    benchmark:
        f"{BENCHMARKS}/match_predictions/{{experiment}}/{{name}}.tsv"
    wildcard_constraints:
        name=any_of([*RUNS, *PREDICTED]),
    conda:
        "../../envs/cpu.yaml"
    threads: threads_of("match_predictions")
    resources:
        **resources_of("match_predictions"),
    params:
        **declared("match_predictions"),
        journal=f"{RESULTS}/journals/match_predictions/{{experiment}}/{{name}}",
    shell:
        "python -m pipeline match-predictions --config {params.config:q} --experiment {wildcards.experiment} "
        "--predictions {input.predictions:q} --rows {input.rows:q} --journal {params.journal:q} "
        "--output {output.table:q} > {log:q} 2>&1"


rule prediction_table:
    """Make the table of structure prediction."""
    input:
        matches=lambda wildcards: [
            at(Place.MATCHES, experiment=one.experiment, name=one.name) for one in all_predictions(job_of(wildcards))
        ],
    output:
        **table_at(Place.PREDICTION_TABLE),
    log:
        f"{LOGS}/prediction_table/{{experiment}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        **declared("prediction_table"),
    shell:
        "python -m pipeline prediction-table --config {params.config:q} --experiment {wildcards.experiment} "
        "--matches {input.matches:q} --csv {output.csv:q} --markdown {output.markdown:q} --numbers {output.numbers:q} "
        "> {log:q} 2>&1"


want("prediction_table", Place.PREDICTION_TABLE, ".csv", ".md", ".json")
