# Tables and figures.
localrules:
    table,
    figure,


rule table:
    input:
        scores=scores_of,
        code=code("pipeline.report.tables"),
    output:
        csv=report(
            f"{RESULTS}/tables/{{experiment}}.csv",
            caption="../report/table.rst",
            category="Tables",
            labels={"experiment": "{experiment}"},
        ),
        markdown=f"{RESULTS}/tables/{{experiment}}.md",
        numbers=f"{RESULTS}/tables/{{experiment}}.json",
    log:
        f"{LOGS}/table/{{experiment}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        config=CONFIG_FILE,
        settings=report_settings,
    shell:
        "python -m pipeline table --config {params.config} --experiment {wildcards.experiment} "
        "--scores {input.scores} --csv {output.csv} --markdown {output.markdown} --numbers {output.numbers} > {log} 2>&1"


rule figure:
    input:
        samples=samples_of,
        structures=structures_of,
        relaxed=relaxed_of,
        scores=figure_scores,
        pictures=pictures_of,
        tokens=f"{RESULTS}/tokens/{{experiment}}.safetensors",
        code=figure_code,
    output:
        figure=report(
            f"{RESULTS}/figures/{{experiment}}.png",
            caption="../report/figure.rst",
            category="Figures",
            labels={"experiment": "{experiment}"},
        ),
    log:
        f"{LOGS}/figure/{{experiment}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        config=CONFIG_FILE,
        settings=report_settings,
        tables=figure_flags,
    shell:
        "python -m pipeline figure --config {params.config} --experiment {wildcards.experiment} "
        "--samples {input.samples} {params.tables} --tokens {input.tokens} --output {output.figure} > {log} 2>&1"
