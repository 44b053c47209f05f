# Images: from samples to pictures, what these are compared with, and what is drawn and tabulated of them.
localrules:
    conditional_path,
    sweeps,


rule train_classifier:
    input:
        images=f"{RESULTS}/images/{{images}}.safetensors",
        code=code("pipeline.images.train_classifier"),
    output:
        weights=f"{RESULTS}/classifiers/{{images}}.safetensors",
        metrics=f"{RESULTS}/classifiers/{{images}}.json",
        history=f"{RESULTS}/classifiers/{{images}}.csv",
    log:
        f"{LOGS}/train_classifier/{{images}}.log",
    benchmark:
        f"{BENCHMARKS}/train_classifier/{{images}}.tsv"
    conda:
        "../../envs/gpu.yaml"
    threads: 1
    resources:
        **for_gpu_jobs(score_gpus),
        gpu=score_gpus,
        mem_mb=score_memory,
        runtime=score_minutes,
    params:
        config=CONFIG_FILE,
        settings=classifier_settings,
        checkpoints=f"{RESULTS}/checkpoints/{{images}}_classifier",
    shell:
        "python -m pipeline train-classifier --config {params.config} --experiment {wildcards.images} "
        "--images {input.images} --checkpoints {params.checkpoints} --gpus {resources.gpu} "
        "--weights {output.weights} --metrics {output.metrics} --history {output.history} > {log} 2>&1"


# Before the trainings, so that features that cannot be had are found out before hours are spent. Journals are not
# declared as output, so that Snakemake keeps them when a job fails and is tried again.
rule image_reference:
    input:
        images=f"{RESULTS}/images/{{images}}.safetensors",
        classifier=classifier_of,
        files=metric_files,
        code=comparison_code,
    output:
        f"{RESULTS}/image_references/{{images}}.safetensors",
    log:
        f"{LOGS}/image_reference/{{images}}.log",
    benchmark:
        f"{BENCHMARKS}/image_reference/{{images}}.tsv"
    priority: 100
    conda:
        "../../envs/gpu.yaml"
    threads: 1
    resources:
        **for_gpu_jobs(score_gpus),
        gpu=score_gpus,
        mem_mb=score_memory,
        runtime=score_minutes,
    params:
        config=CONFIG_FILE,
        settings=features_settings,
        classifier=classifier_flags,
        journal=f"{RESULTS}/journals/image_reference/{{images}}",
    shell:
        "python -m pipeline image-reference --config {params.config} --experiment {wildcards.images} "
        "--images {input.images} {params.classifier} --journal {params.journal} --gpus {resources.gpu} "
        "--output {output} > {log} 2>&1"


rule pictures:
    input:
        samples=f"{RESULTS}/samples/{{images}}/{{name}}.safetensors",
        tokens=f"{RESULTS}/tokens/{{images}}.safetensors",
        tokenizer=tokenizer_of,
        prepared=prepared_images_of,
        code=code("pipeline.images.decoding"),
    output:
        pictures=f"{RESULTS}/pictures/{{images}}/{{name}}.safetensors",
        grid=f"{RESULTS}/pictures/{{images}}/{{name}}.png",
    log:
        f"{LOGS}/pictures/{{images}}/{{name}}.log",
    benchmark:
        f"{BENCHMARKS}/pictures/{{images}}/{{name}}.tsv"
    conda:
        "../../envs/gpu.yaml"
    threads: 1
    resources:
        **for_gpu_jobs(score_gpus),
        gpu=score_gpus,
        mem_mb=score_memory,
        runtime=score_minutes,
    params:
        config=CONFIG_FILE,
        tokenizer=tokenizer_flags,
        prepared=prepared_images_flags,
    shell:
        "python -m pipeline pictures --config {params.config} --experiment {wildcards.images} "
        "--samples {input.samples} --tokens {input.tokens} {params.tokenizer} {params.prepared} "
        "--gpus {resources.gpu} --output {output.pictures} --grid {output.grid} > {log} 2>&1"


rule search:
    input:
        tokens=f"{RESULTS}/tokens/{{experiment}}.safetensors",
        weights=weights_of,
        tokenizer=tokenizer_of,
        reference=f"{RESULTS}/image_references/{{experiment}}.safetensors",
        classifier=classifier_of,
        files=metric_files,
        code=search_code,
    output:
        f"{RESULTS}/search/{{experiment}}/{{run}}.json",
    log:
        f"{LOGS}/search/{{experiment}}/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/search/{{experiment}}/{{run}}.tsv"
    conda:
        "../../envs/gpu.yaml"
    threads: 1
    resources:
        **for_gpu_jobs(sample_gpus),
        gpu=sample_gpus,
        mem_mb=sample_memory,
        runtime=sample_minutes,
    params:
        config=CONFIG_FILE,
        settings=search_settings,
        journal=f"{RESULTS}/journals/search/{{experiment}}/{{run}}",
        tokenizer=tokenizer_flags,
        classifier=classifier_flags,
    shell:
        "python -m pipeline search --config {params.config} --experiment {wildcards.experiment} --run {wildcards.run} "
        "--tokens {input.tokens} --weights {input.weights} {params.tokenizer} --image-reference {input.reference} "
        "{params.classifier} --journal {params.journal} --gpus {resources.gpu} --output {output} > {log} 2>&1"


rule conditional_path:
    input:
        tokens=f"{RESULTS}/tokens/{{images}}.safetensors",
        tokenizer=tokenizer_of,
        code=paths_code,
    output:
        report(
            f"{RESULTS}/figures/{{images}}_path.png",
            caption="../report/path.rst",
            category="Figures",
            labels={"experiment": "{images} paths"},
        ),
    log:
        f"{LOGS}/conditional_path/{{images}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        config=CONFIG_FILE,
        settings=paths_settings,
        tokenizer=tokenizer_flags,
    shell:
        "python -m pipeline conditional-path --config {params.config} --experiment {wildcards.images} "
        "--tokens {input.tokens} {params.tokenizer} --output {output} > {log} 2>&1"


rule sweeps:
    input:
        scores=scores_of,
        code=code("pipeline.images.sweeps"),
    output:
        csv=report(
            f"{RESULTS}/tables/{{images}}_sweeps.csv",
            caption="../report/sweeps.rst",
            category="Tables",
            labels={"experiment": "{images} sweeps"},
        ),
        markdown=f"{RESULTS}/tables/{{images}}_sweeps.md",
        numbers=f"{RESULTS}/tables/{{images}}_sweeps.json",
    log:
        f"{LOGS}/sweeps/{{images}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        config=CONFIG_FILE,
        settings=sweeps_settings,
    shell:
        "python -m pipeline sweeps --config {params.config} --experiment {wildcards.images} "
        "--scores {input.scores} --csv {output.csv} --markdown {output.markdown} --numbers {output.numbers} > {log} 2>&1"
