# What samples of crystals and of images are scored and drawn by, besides the samples.

# Of crystals: tables.


def relaxed_shards_of(wildcards):
    shards = CONFIG.experiments[wildcards.crystals].crystals.relaxation.shards
    folder = f"{RESULTS}/shards/{wildcards.crystals}/{wildcards.name}"
    return [f"{folder}/relaxed-{shard}-of-{shards}.parquet" for shard in range(shards)]


def relaxed_shard_provenance_of(wildcards):
    return [f"{shard}.provenance.json" for shard in relaxed_shards_of(wildcards)]


def tables_of(stage, experiment):
    """Return the tables that a stage makes of all runs and references, none if they are no crystals."""
    if experiment not in CRYSTALS:
        return []
    return [f"{RESULTS}/{stage}/{experiment}/{name}.parquet" for name in names_of(experiment)]


def structures_of(wildcards):
    return tables_of("structures", wildcards.experiment)


def relaxed_of(wildcards):
    return tables_of("relaxed", wildcards.experiment)


def evidence_of(wildcards):
    """Return the tables by which the crystals, or the pictures by which the images of a run or reference are scored."""
    experiment, name = wildcards.experiment, wildcards.get("run", wildcards.get("reference"))
    if experiment in IMAGES:
        classifier = classifier_of(wildcards)
        return {
            "pictures": f"{RESULTS}/pictures/{experiment}/{name}.safetensors",
            "image_reference": f"{RESULTS}/image_references/{experiment}.safetensors",
        } | ({"classifier": classifier[0]} if classifier else {})
    if experiment not in CRYSTALS:
        return {}
    return {
        "structures": f"{RESULTS}/structures/{experiment}/{name}.parquet",
        "described": f"{RESULTS}/described/{experiment}/{name}.parquet",
        "test": f"{RESULTS}/described_test/{experiment}.parquet",
    }


def evidence_flags(wildcards):
    return " ".join(f"--{flag.replace('_', '-')} {path}" for flag, path in evidence_of(wildcards).items())


def figure_flags(wildcards):
    flags = {
        "structures": structures_of(wildcards),
        "relaxed": relaxed_of(wildcards),
        "scores": figure_scores(wildcards),
        "pictures": pictures_of(wildcards),
    }
    return " ".join([word for flag, paths in flags.items() if paths for word in (f"--{flag}", *paths)])


def hull_files(wildcards):
    entries = CONFIG.experiments[wildcards.crystals].crystals.hull
    published = constant_of("pipeline.crystals.hull", "FILES", ())
    return existing([Path(entries)]) if entries else [f"{CONFIG.data.cache}/{name}" for name in published]


# Of images: tokenizers, classifiers and pictures.


def pictures_of(wildcards):
    if wildcards.experiment not in IMAGES:
        return []
    return [f"{RESULTS}/pictures/{wildcards.experiment}/{name}.safetensors" for name in names_of(wildcards.experiment)]


def prepared_images_of(wildcards):
    """Return the images that the reference `images` shows as they are."""
    return [f"{RESULTS}/images/{wildcards.images}.safetensors"] if wildcards.name == "images" else []


def prepared_images_flags(wildcards):
    return " ".join(f"--images {path}" for path in prepared_images_of(wildcards))


def tokenizer_of(wildcards):
    """Return the weights of the tokenizer that made the codes, none if the tokens are no codes."""
    experiment = experiment_of(wildcards)
    return [f"{RESULTS}/tokenizers/{experiment}.safetensors"] if experiment in CODES else []


def tokenizer_flags(wildcards):
    return " ".join(f"--tokenizer {path}" for path in tokenizer_of(wildcards))


def classifier_of(wildcards):
    """Return the weights of the classifier whose features images are compared by, if the workflow trains it."""
    experiment = experiment_of(wildcards)
    metrics = [(metric, options) for metric, options in metrics_of(experiment) if hasattr(metric, "classifier_of")]
    trained = any(metric.classifier_of(options) for metric, options in metrics)
    return [f"{RESULTS}/classifiers/{experiment}.safetensors"] if trained else []


def classifier_flags(wildcards):
    return " ".join(f"--classifier {path}" for path in classifier_of(wildcards))


def perceptual_inputs(wildcards):
    """Return the files of the network that the tokenizer's images are compared by in its training."""
    names = CONFIG.experiments[wildcards.codes].tokenizer.loss.files
    return [f"{CONFIG.data.cache}/{name}" for name in names]


def search_of(wildcards):
    """Return what a search has found, of a run that takes its sampling from there."""
    searched = run_of(wildcards).sampling.searched
    return [f"{RESULTS}/search/{wildcards.experiment}/{wildcards.run}.json"] if searched else []


def search_flags(wildcards):
    return " ".join(f"--search {path}" for path in search_of(wildcards))
