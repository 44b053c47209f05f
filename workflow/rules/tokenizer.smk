# From images to tokens: pixels, or codes of a tokenizer that is trained first.


rule prepare_images:
    """Prepare the images of an experiment."""
    input:
        files=files_of("prepare_images"),
    output:
        images=at(Place.IMAGES),
    log:
        f"{LOGS}/prepare_images/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/prepare_images/{{experiment}}.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: threads_of("prepare_images")
    resources:
        **resources_of("prepare_images"),
    params:
        **declared("prepare_images"),
    shell:
        "python -m pipeline prepare-images --config {params.config:q} --experiment {wildcards.experiment} "
        "--output {output.images:q} > {log:q} 2>&1"


rule prepare_pixels:
    """Use the pixels of images as tokens."""
    input:
        images=rules.prepare_images.output.images,
    output:
        tokens=at(Place.TOKENS),
    log:
        f"{LOGS}/prepare/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/prepare_pixels/{{experiment}}.tsv"
    wildcard_constraints:
        experiment=any_of(name for name in IMAGES if name not in CODES),
    conda:
        "../../envs/cpu.yaml"
    threads: threads_of("prepare_pixels")
    resources:
        **resources_of("prepare_pixels"),
    params:
        **declared("prepare_pixels"),
    shell:
        "python -m pipeline prepare-pixels --config {params.config:q} --experiment {wildcards.experiment} "
        "--images {input.images:q} --output {output.tokens:q} > {log:q} 2>&1"


rule train_tokenizer:
    """Train the VQVAE that turns images into codes."""
    input:
        images=rules.prepare_images.output.images,
        files=files_of("train_tokenizer"),
    output:
        weights=at(Place.TOKENIZER, ".safetensors"),
        metrics=at(Place.TOKENIZER, ".json"),
        history=at(Place.TOKENIZER, ".csv"),
    log:
        f"{LOGS}/train_tokenizer/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/train_tokenizer/{{experiment}}.tsv"
    conda:
        "../../envs/gpu.yaml"
    threads: threads_of("train_tokenizer")
    resources:
        **resources_of("train_tokenizer"),
    params:
        **declared("train_tokenizer"),
        checkpoints=f"{RESULTS}/checkpoints/{{experiment}}_tokenizer",
        events=f"{RESULTS}/tensorboard/{{experiment}}_tokenizer",
    shell:
        "exec python -m pipeline train-tokenizer --config {params.config:q} --experiment {wildcards.experiment} "
        "--images {input.images:q} --checkpoints {params.checkpoints:q} --events {params.events:q} "
        "--gpus {resources.gpus_per_node} --nodes {resources.nodes} "
        "--weights {output.weights:q} --metrics {output.metrics:q} --history {output.history:q} > {log:q} 2>&1"


rule encode:
    """Turn images into tokens with a trained tokenizer."""
    input:
        images=rules.prepare_images.output.images,
        tokenizer=rules.train_tokenizer.output.weights,
    output:
        tokens=at(Place.TOKENS),
    log:
        f"{LOGS}/encode/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/encode/{{experiment}}.tsv"
    wildcard_constraints:
        experiment=any_of(CODES),
    conda:
        "../../envs/gpu.yaml"
    threads: threads_of("encode")
    resources:
        **resources_of("encode"),
    params:
        **declared("encode"),
    shell:
        "python -m pipeline encode --config {params.config:q} --experiment {wildcards.experiment} "
        "--images {input.images:q} --tokenizer {input.tokenizer:q} --gpus {resources.gpu} --output {output.tokens:q} "
        "> {log:q} 2>&1"


rule tokenizer_report:
    """Measure how good a tokenizer is."""
    input:
        images=rules.prepare_images.output.images,
        tokens=rules.encode.output.tokens,
        tokenizer=rules.train_tokenizer.output.weights,
        reference=at(Place.IMAGE_REFERENCE),
        classifier=classifier_of,
        files=files_of_metrics,
    output:
        **table_at(Place.TOKENIZER_TABLE),
    log:
        f"{LOGS}/tokenizer_report/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/tokenizer_report/{{experiment}}_tokenizer.tsv"
    conda:
        "../../envs/gpu.yaml"
    threads: threads_of("tokenizer_report")
    resources:
        **resources_of("tokenizer_report"),
    params:
        **declared("tokenizer_report"),
        classifier=flag("--classifier", classifier_of),
    shell:
        "python -m pipeline tokenizer-report --config {params.config:q} --experiment {wildcards.experiment} "
        "--images {input.images:q} --tokens {input.tokens:q} --tokenizer {input.tokenizer:q} --gpus {resources.gpu} "
        "--image-reference {input.reference:q} {params.classifier} "
        "--csv {output.csv:q} --markdown {output.markdown:q} --numbers {output.numbers:q} > {log:q} 2>&1"


want("tokenizer_report", Place.TOKENIZER_TABLE, ".csv", ".md", ".json")
