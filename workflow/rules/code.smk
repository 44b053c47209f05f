# The code behind each stage of dvc.yaml, as checksums: one file to depend on in place of a list. Only DVC asks for them.
localrules:
    checksums,
    code_of_stages,


rule checksums:
    input:
        stage_code,
    output:
        f"{RESULTS}/code/{{experiment}}/{{stage}}.txt",
    log:
        f"{LOGS}/checksums/{{experiment}}/{{stage}}.log",
    wildcard_constraints:
        stage="|".join(STAGES),
    conda:
        "../../envs/cpu.yaml"
    shell:
        "sha256sum {input} > {output} 2> {log}"


rule code_of_stages:
    input:
        [
            f"{RESULTS}/code/{name}/{stage}.txt"
            for name in CONFIG.experiments
            for stage in STAGES
            if name in HAVING.get(stage, CONFIG.experiments)
        ],
