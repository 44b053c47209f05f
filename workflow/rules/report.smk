# Scores of runs and references (a reference has no network), the tables and figures made from them, and the page of all.
localrules:
    table,
    seeds,
    figure,
    report_page,


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
        headline=at(Place.HEADLINE),
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
        "--journal {params.journal:q} --gpus {resources.gpu} --output {output.scores:q} "
        "--headline {output.headline:q} > {log:q} 2>&1"


rule table:
    """Make the table of an experiment."""
    input:
        scores=rows_at(Place.SCORES),
    output:
        **table_at(Place.TABLE),
    log:
        f"{LOGS}/table/{{experiment}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        **declared("table"),
    shell:
        "python -m pipeline table --config {params.config:q} --experiment {wildcards.experiment} --scores "
        "{input.scores:q} --csv {output.csv:q} --markdown {output.markdown:q} --numbers {output.numbers:q} > {log:q} 2>&1"


rule seeds:
    """Make the table of an experiment's means over seeds."""
    input:
        scores=rows_at(Place.SCORES),
    output:
        **table_at(Place.SEEDS_TABLE),
    log:
        f"{LOGS}/seeds/{{experiment}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        **declared("seeds"),
    shell:
        "python -m pipeline seeds --config {params.config:q} --experiment {wildcards.experiment} --scores "
        "{input.scores:q} --csv {output.csv:q} --markdown {output.markdown:q} --numbers {output.numbers:q} > {log:q} 2>&1"


rule figure:
    """Draw the figure of an experiment."""
    input:
        samples=rows_at(Place.SAMPLES),
        structures=structures_of,
        relaxed=relaxed_of,
        scores=figure_scores,
        pictures=pictures_of,
        tokens=at(Place.TOKENS),
    output:
        figure=shown(at(Place.FIGURE), "Figures", "figure", "{experiment}"),
    log:
        f"{LOGS}/figure/{{experiment}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        **declared("figure"),
        structures=flag("--structures", structures_of),
        relaxed=flag("--relaxed", relaxed_of),
        scores=flag("--scores", figure_scores),
        pictures=flag("--pictures", pictures_of),
    shell:
        "python -m pipeline figure --config {params.config:q} --experiment {wildcards.experiment} "
        "--samples {input.samples:q} {params.structures} {params.relaxed} {params.scores} {params.pictures} "
        "--tokens {input.tokens:q} --output {output.figure:q} > {log:q} 2>&1"


want("table", Place.TABLE, ".csv", ".md", ".json")
want("seeds", Place.SEEDS_TABLE, ".csv", ".md", ".json")
want("figure", Place.FIGURE)


rule report_page:
    """Build the results page from everything that the workflow makes."""
    input:
        results=list(TARGETS),
    output:
        page=at(Place.PAGE),
    log:
        f"{LOGS}/report_page.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        config=at(Place.CONFIG),
        code=f"code of report_page: {page_version()[:16]}",
    shell:
        "python -m pipeline report-page --config {params.config:q} > {log:q} 2>&1"


TARGETS.append(at(Place.PAGE))
