# Images: pictures of samples, the reference to compare them with, and their figures and tables.
localrules:
    conditional_path,
    sweeps,


rule train_classifier:
    """Train the classifier whose features are used to compare images."""
    input:
        images=rules.prepare_images.output.images,
    output:
        weights=at(Place.CLASSIFIER, ".safetensors"),
        metrics=at(Place.CLASSIFIER, ".json"),
        history=at(Place.CLASSIFIER, ".csv"),
    log:
        f"{LOGS}/train_classifier/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/train_classifier/{{experiment}}.tsv"
    conda:
        "../../envs/gpu.yaml"
    threads: threads_of("train_classifier")
    resources:
        **resources_of("train_classifier"),
    params:
        **declared("train_classifier"),
        checkpoints=f"{RESULTS}/checkpoints/{{experiment}}_classifier",
    shell:
        "python -m pipeline train-classifier --config {params.config:q} --experiment {wildcards.experiment} "
        "--images {input.images:q} --checkpoints {params.checkpoints:q} --gpus {resources.gpu} "
        "--weights {output.weights:q} --metrics {output.metrics:q} --history {output.history:q} > {log:q} 2>&1"


rule image_reference:
    """Describe the images that samples are compared with, before hours are spent on samples."""
    input:
        images=rules.prepare_images.output.images,
        classifier=classifier_of,
        files=files_of_metrics,
    output:
        reference=at(Place.IMAGE_REFERENCE),
    log:
        f"{LOGS}/image_reference/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/image_reference/{{experiment}}.tsv"
    priority: 100
    conda:
        "../../envs/gpu.yaml"
    threads: threads_of("image_reference")
    resources:
        **resources_of("image_reference"),
    params:
        **declared("image_reference"),
        classifier=flag("--classifier", classifier_of),
        journal=f"{RESULTS}/journals/image_reference/{{experiment}}",
    shell:
        "python -m pipeline image-reference --config {params.config:q} --experiment {wildcards.experiment} "
        "--images {input.images:q} {params.classifier} --journal {params.journal:q} --gpus {resources.gpu} "
        "--output {output.reference:q} > {log:q} 2>&1"


rule pictures:
    """Make pictures of samples."""
    input:
        samples=at(Place.SAMPLES),
        tokens=at(Place.TOKENS),
        tokenizer=tokenizer_of,
        prepared=prepared_images_of,
    output:
        pictures=at(Place.PICTURES, ".safetensors"),
        grid=at(Place.PICTURES, ".png"),
    log:
        f"{LOGS}/pictures/{{experiment}}/{{name}}.log",
    benchmark:
        f"{BENCHMARKS}/pictures/{{experiment}}/{{name}}.tsv"
    conda:
        "../../envs/gpu.yaml"
    threads: threads_of("pictures")
    resources:
        **resources_of("pictures"),
    params:
        **declared("pictures"),
        tokenizer=flag("--tokenizer", tokenizer_of),
        prepared=flag("--images", prepared_images_of),
    shell:
        "python -m pipeline pictures --config {params.config:q} --experiment {wildcards.experiment} "
        "--samples {input.samples:q} --tokens {input.tokens:q} {params.tokenizer} {params.prepared} "
        "--gpus {resources.gpu} --output {output.pictures:q} --grid {output.grid:q} > {log:q} 2>&1"


rule search:
    """Find the velocity, step and corrector that suit a run best."""
    input:
        tokens=at(Place.TOKENS),
        weights=weights_of,
        tokenizer=tokenizer_of,
        reference=rules.image_reference.output.reference,
        classifier=classifier_of,
        files=files_of_metrics,
    output:
        found=at(Place.SEARCH),
    log:
        f"{LOGS}/search/{{experiment}}/{{name}}.log",
    benchmark:
        f"{BENCHMARKS}/search/{{experiment}}/{{name}}.tsv"
    conda:
        "../../envs/gpu.yaml"
    threads: threads_of("search")
    resources:
        **resources_of("search"),
    params:
        **declared("search"),
        journal=f"{RESULTS}/journals/search/{{experiment}}/{{name}}",
        tokenizer=flag("--tokenizer", tokenizer_of),
        classifier=flag("--classifier", classifier_of),
    shell:
        "python -m pipeline search --config {params.config:q} --experiment {wildcards.experiment} --run {wildcards.name} "
        "--tokens {input.tokens:q} --weights {input.weights:q} {params.tokenizer} "
        "--image-reference {input.reference:q} {params.classifier} --journal {params.journal:q} "
        "--gpus {resources.gpu} --output {output.found:q} > {log:q} 2>&1"


rule conditional_path:
    """Draw images along the paths of an experiment."""
    input:
        tokens=at(Place.TOKENS),
        tokenizer=tokenizer_of,
    output:
        figure=shown(at(Place.PATHS_FIGURE), "Figures", "path", "{experiment} paths"),
    log:
        f"{LOGS}/conditional_path/{{experiment}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        **declared("conditional_path"),
        tokenizer=flag("--tokenizer", tokenizer_of),
    shell:
        "python -m pipeline conditional-path --config {params.config:q} --experiment {wildcards.experiment} "
        "--tokens {input.tokens:q} {params.tokenizer} --output {output.figure:q} > {log:q} 2>&1"


rule sweeps:
    """Make the table of an experiment's sweeps."""
    input:
        scores=rows_at(Place.SCORES),
    output:
        **table_at(Place.SWEEPS_TABLE),
    log:
        f"{LOGS}/sweeps/{{experiment}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        **declared("sweeps"),
    shell:
        "python -m pipeline sweeps --config {params.config:q} --experiment {wildcards.experiment} --scores "
        "{input.scores:q} --csv {output.csv:q} --markdown {output.markdown:q} --numbers {output.numbers:q} > {log:q} 2>&1"


want("sweeps", Place.SWEEPS_TABLE, ".csv", ".md", ".json")
want("conditional_path", Place.PATHS_FIGURE)
