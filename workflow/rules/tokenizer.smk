# From images to tokens: as they are, or by way of a tokenizer that is trained first.
rule prepare_images:
    input:
        files=data_files,
        code=images_code,
    output:
        images=f"{RESULTS}/images/{{images}}.safetensors",
    log:
        f"{LOGS}/prepare_images/{{images}}.log",
    benchmark:
        f"{BENCHMARKS}/prepare_images/{{images}}.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=prepare_memory,
        runtime=prepare_minutes,
    params:
        config=CONFIG_FILE,
        settings=images_settings,
    shell:
        "python -m pipeline prepare-images --config {params.config} --experiment {wildcards.images} "
        "--output {output.images} > {log} 2>&1"


ruleorder: prepare_pixels > encode > prepare


rule prepare_pixels:
    input:
        images=f"{RESULTS}/images/{{experiment}}.safetensors",
        code=pixels_code,
    output:
        tokens=f"{RESULTS}/tokens/{{experiment}}.safetensors",
    log:
        f"{LOGS}/prepare/{{experiment}}.log",
    benchmark:
        f"{BENCHMARKS}/prepare_pixels/{{experiment}}.tsv"
    wildcard_constraints:
        experiment="|".join(name for name in IMAGES if name not in CODES) or NONE,
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=prepare_memory,
        runtime=prepare_minutes,
    params:
        config=CONFIG_FILE,
        settings=prepare_settings,
    shell:
        "python -m pipeline prepare-pixels --config {params.config} --experiment {wildcards.experiment} "
        "--images {input.images} --output {output.tokens} > {log} 2>&1"


# Checkpoints are not declared as output, so that Snakemake keeps them when a job fails and is tried again.
rule train_tokenizer:
    input:
        images=f"{RESULTS}/images/{{codes}}.safetensors",
        files=perceptual_inputs,
        code=code("pipeline.images.tokenizer_training"),
    output:
        weights=f"{RESULTS}/tokenizers/{{codes}}.safetensors",
        metrics=f"{RESULTS}/tokenizers/{{codes}}.json",
        history=f"{RESULTS}/tokenizers/{{codes}}.csv",
    log:
        f"{LOGS}/train_tokenizer/{{codes}}.log",
    benchmark:
        f"{BENCHMARKS}/train_tokenizer/{{codes}}.tsv"
    conda:
        "../../envs/gpu.yaml"
    threads: train_threads
    resources:
        **for_gpu_jobs(train_gpus, model_for=train_gpu),
        gpu=train_gpu,
        gres=train_gres,
        gpus_per_node=train_gpus,
        nodes=train_nodes,
        mpi=train_mpi,
        tasks=train_tasks,
        tasks_per_gpu=train_tasks_per_gpu,
        mem_mb=train_memory,
        runtime=train_minutes,
    params:
        config=CONFIG_FILE,
        settings=tokenizer_settings,
        checkpoints=f"{RESULTS}/checkpoints/{{codes}}_tokenizer",
        events=f"{RESULTS}/tensorboard/{{codes}}_tokenizer",
    shell:
        "exec python -m pipeline train-tokenizer --config {params.config} --experiment {wildcards.codes} "
        "--images {input.images} --checkpoints {params.checkpoints} --events {params.events} "
        "--gpus {resources.gpus_per_node} --nodes {resources.nodes} "
        "--weights {output.weights} --metrics {output.metrics} --history {output.history} > {log} 2>&1"


rule encode:
    input:
        images=f"{RESULTS}/images/{{codes}}.safetensors",
        tokenizer=f"{RESULTS}/tokenizers/{{codes}}.safetensors",
        code=code("pipeline.images.encoding"),
    output:
        tokens=f"{RESULTS}/tokens/{{codes}}.safetensors",
    log:
        f"{LOGS}/encode/{{codes}}.log",
    benchmark:
        f"{BENCHMARKS}/encode/{{codes}}.tsv"
    conda:
        "../../envs/gpu.yaml"
    threads: 1
    resources:
        **for_gpu_jobs(encode_gpus),
        gpu=encode_gpus,
        mem_mb=train_memory,
        runtime=train_minutes,
    params:
        config=CONFIG_FILE,
    shell:
        "python -m pipeline encode --config {params.config} --experiment {wildcards.codes} --images {input.images} "
        "--tokenizer {input.tokenizer} --gpus {resources.gpu} --output {output.tokens} > {log} 2>&1"


rule tokenizer_report:
    input:
        images=f"{RESULTS}/images/{{codes}}.safetensors",
        tokens=f"{RESULTS}/tokens/{{codes}}.safetensors",
        tokenizer=f"{RESULTS}/tokenizers/{{codes}}.safetensors",
        reference=f"{RESULTS}/image_references/{{codes}}.safetensors",
        classifier=classifier_of,
        files=metric_files,
        code=tokenizer_report_code,
    output:
        csv=report(
            f"{RESULTS}/tables/{{codes}}_tokenizer.csv",
            caption="../report/tokenizer.rst",
            category="Tables",
            labels={"experiment": "{codes} tokenizer"},
        ),
        markdown=f"{RESULTS}/tables/{{codes}}_tokenizer.md",
        numbers=f"{RESULTS}/tables/{{codes}}_tokenizer.json",
    log:
        f"{LOGS}/tokenizer_report/{{codes}}.log",
    benchmark:
        f"{BENCHMARKS}/tokenizer_report/{{codes}}_tokenizer.tsv"
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
        settings=score_settings,
        classifier=classifier_flags,
    shell:
        "python -m pipeline tokenizer-report --config {params.config} --experiment {wildcards.codes} "
        "--images {input.images} --tokens {input.tokens} --tokenizer {input.tokenizer} --gpus {resources.gpu} "
        "--image-reference {input.reference} {params.classifier} "
        "--csv {output.csv} --markdown {output.markdown} --numbers {output.numbers} > {log} 2>&1"
