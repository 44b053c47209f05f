# Tables and figures.
localrules:
    table,
    figure,


rule table:
    """Make the table of an experiment."""
    input:
        scores=rows_at(Place.SCORES),
    output:
        **table_at(Place.TABLE),
        csv=report(
            at(Place.TABLE, ".csv"),
            caption="../report/table.rst",
            category="Tables",
            labels={"experiment": "{experiment}"},
        ),
    log:
        f"{LOGS}/table/{{experiment}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        **declared("table"),
    shell:
        "python -m pipeline table --config {params.config:q} --experiment {wildcards.experiment} --scores "
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
        figure=report(
            at(Place.FIGURE),
            caption="../report/figure.rst",
            category="Figures",
            labels={"experiment": "{experiment}"},
        ),
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
want("figure", Place.FIGURE)
