# What samples are scored and drawn with besides themselves.


def evidence_of(wildcards):
    """Return the files that a run or reference is scored with: tables of crystals, or pictures of images."""
    if wildcards.experiment in IMAGES:
        classifier = classifier_of(wildcards)
        return {
            "pictures": at(Place.PICTURES, ".safetensors", **wildcards),
            "image_reference": at(Place.IMAGE_REFERENCE, **wildcards),
        } | ({"classifier": classifier[0]} if classifier else {})
    if wildcards.experiment not in CRYSTALS:
        return {}
    return {
        "structures": at(Place.STRUCTURES, ".parquet", **wildcards),
        "described": at(Place.DESCRIBED, **wildcards),
        "test": at(Place.DESCRIBED_TEST, **wildcards),
    }


def evidence_flags(wildcards):
    flags = [(f"--{flag.replace('_', '-')}", path) for flag, path in evidence_of(wildcards).items()]
    return shlex.join(word for flag in flags for word in flag)


def prepared_images_of(wildcards):
    """Return the images that the reference `images` shows as they are."""
    return [at(Place.IMAGES, **wildcards)] if wildcards.name == "images" else []


def figure_scores(wildcards):
    """Return the scores, if the figure shows them."""
    drawn_by = STAGES["figure"].chosen(job_of(wildcards))[0]
    return rows_at(Place.SCORES)(wildcards) if constant_of(drawn_by, "SCORES", False) else []


structures_of = rows_at(Place.STRUCTURES, ".parquet", among=CRYSTALS)
relaxed_of = rows_at(Place.RELAXED, among=CRYSTALS)
pictures_of = rows_at(Place.PICTURES, ".safetensors", among=IMAGES)
