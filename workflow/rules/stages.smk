# The code that each stage of dvc.yaml runs, by the names of its modules or by functions of the rules.


def tokens_code(wildcards):
    return pixels_code(wildcards) if wildcards.experiment in IMAGES else prepare_code(wildcards)


def report_code(wildcards):
    files = code("pipeline.report.tables")
    files = files + (code("pipeline.images.sweeps") + paths_code(wildcards) if wildcards.experiment in IMAGES else [])
    files = files + (figure_code(wildcards) if CONFIG.experiments[wildcards.experiment].figure else [])
    return files + (tokenizer_report_code(wildcards) if wildcards.experiment in CODES else [])


def scoring_code(wildcards):
    own = {"pipeline.images.decoding": IMAGES, "pipeline.text.export": TEXTS}
    modules = [module for module, having in own.items() if wildcards.experiment in having]
    return score_code(wildcards) + code(*modules)


STAGES = {
    "prepare_images": [images_code],
    "prepare": [tokens_code],
    "tokenizer": ["pipeline.images.tokenizer_training"],
    "encode": ["pipeline.images.encoding"],
    "classify": ["pipeline.images.train_classifier", comparison_code],
    "train": [train_code],
    "sample": [sample_code, "pipeline.sampling.samples"],
    "search": [search_code, sample_code, "pipeline.sampling.samples"],
    "reference": [reference_code],
    "hull": ["pipeline.crystals.hull", "pipeline.crystals.describe", "pipeline.crystals.calibration"],
    "structures": [f"pipeline.crystals.{module}" for module in ("decode", "describe", "relaxation", "assess")],
    "score": [scoring_code],
    "report": [report_code],
}


# Stages that not every experiment has.
HAVING = {
    "prepare_images": IMAGES,
    "classify": IMAGES,
    "search": [name for name, chosen in CONFIG.experiments.items() if chosen.search],
    "tokenizer": CODES,
    "encode": CODES,
    "prepare": [name for name in CONFIG.experiments if name not in CODES],
    "hull": CRYSTALS,
    "structures": CRYSTALS,
}


class Values(dict):
    """Values of wildcards, outside any job."""

    __getattr__ = dict.__getitem__


def stage_code(wildcards):
    """Return the code that a stage runs, for all runs and references of an experiment."""
    chosen = CONFIG.experiments[wildcards.experiment]
    same = dict.fromkeys(("experiment", "crystals", "text", "images", "codes"), wildcards.experiment)
    each = [Values(same, run=run, reference=reference) for run in chosen.runs for reference in chosen.references]
    parts = STAGES[wildcards.stage]
    return sorted({file for part in parts for one in each for file in (part(one) if callable(part) else code(part))})
