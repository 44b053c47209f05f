# What the rules depend on besides files: a part of the configuration ...


def prepare_settings(wildcards):
    return slices.prepare_slice(CONFIG, wildcards.experiment)


def train_settings(wildcards):
    return slices.train_slice(CONFIG, wildcards.experiment, wildcards.run)


def sample_settings(wildcards):
    return slices.sample_slice(CONFIG, wildcards.experiment, wildcards.run)


def describe_settings(wildcards):
    return slices.describe_slice(CONFIG, wildcards.crystals)


def relax_settings(wildcards):
    return slices.relax_slice(CONFIG, wildcards.crystals)


def hull_settings(wildcards):
    return slices.hull_slice(CONFIG, wildcards.crystals)


def calibrate_settings(wildcards):
    return slices.calibrate_slice(CONFIG, wildcards.crystals)


def reference_settings(wildcards):
    return slices.reference_slice(CONFIG, wildcards.experiment)


def score_settings(wildcards):
    return slices.score_slice(CONFIG, experiment_of(wildcards))


def report_settings(wildcards):
    return slices.report_slice(CONFIG, wildcards.experiment)


def images_settings(wildcards):
    return slices.images_slice(CONFIG, wildcards.images)


def tokenizer_settings(wildcards):
    return slices.tokenizer_slice(CONFIG, wildcards.codes)


def classifier_settings(wildcards):
    return slices.classifier_slice(CONFIG, wildcards.images)


def features_settings(wildcards):
    return slices.features_slice(CONFIG, wildcards.images)


def search_settings(wildcards):
    return slices.search_slice(CONFIG, wildcards.experiment, wildcards.run)


def paths_settings(wildcards):
    return slices.paths_slice(CONFIG, wildcards.images)


def sweeps_settings(wildcards):
    return slices.sweeps_slice(CONFIG, wildcards.images)


# ... and a part of the code.


@cache  # a workflow asks for each of its jobs
def code(*modules):
    return [os.path.relpath(file) for file in files_of(*modules)]


def chosen_modules(module, options):
    """Return the modules that the options of a data set or metric choose by name, which it does not import itself."""
    return module.modules(options) if hasattr(module, "modules") else []


def prepare_code(wildcards):
    choice = CONFIG.experiments[wildcards.experiment].data
    chosen = chosen_modules(DATASETS.load(choice.name), DATASETS.options(choice.name, choice.options))
    return code("pipeline.tokens.prepare", DATASETS.module(choice.name), *chosen)


def train_code(wildcards):
    run = run_of(wildcards)
    return code("pipeline.training.train", MODELS.module(run.model.name), *modules_named(run.path, run.loss))


def searched_velocities(wildcards):
    search = CONFIG.experiments[wildcards.experiment].search
    return search.velocity if search else ()


def sample_code(wildcards):
    run = run_of(wildcards)
    velocities = searched_velocities(wildcards) if run.sampling.searched else [run.sampling.velocity]
    chosen = modules_named(run.path, run.loss, *velocities)
    return code("pipeline.sampling.generate", MODELS.module(run.model.name), *chosen)


def reference_code(wildcards):
    data_set = DATASETS.module(CONFIG.experiments[wildcards.experiment].data.name)
    return code("pipeline.sampling.references", *([data_set] if wildcards.reference == "shuffled" else []))


def judge_code(wildcards):
    chosen = [name for metric in metrics_of(wildcards.experiment) for name in chosen_modules(*metric)]
    return code("pipeline.text.judge", *chosen)


def score_code(wildcards):
    metrics = map(METRICS.module, CONFIG.experiments[wildcards.experiment].scoring)
    chosen = [name for metric in metrics_of(wildcards.experiment) for name in chosen_modules(*metric)]
    chosen += modules_named(run_of(wildcards).path, run_of(wildcards).loss) if wildcards.get("run") else []
    return code("pipeline.scoring.score", *metrics, *chosen)


def images_code(wildcards):
    choice = CONFIG.experiments[wildcards.images].data
    options = DATASETS.options(choice.name, choice.options)
    return code("pipeline.images.prepare", *chosen_modules(DATASETS.load(choice.name), options))


def pixels_code(wildcards):
    return code(DATASETS.module(CONFIG.experiments[wildcards.experiment].data.name))


def comparison_code(wildcards):
    """Return the code by which images are compared, with the features that were chosen."""
    chosen = [name for metric in metrics_of(experiment_of(wildcards)) for name in chosen_modules(*metric)]
    return code("pipeline.images.reference", "pipeline.images.metrics.frechet_distance", *chosen)


def tokenizer_report_code(wildcards):
    return code("pipeline.images.tokenizer_table") + comparison_code(wildcards)


def search_code(wildcards):
    chosen = [name for metric in metrics_of(wildcards.experiment) for name in chosen_modules(*metric)]
    run = run_of(wildcards)
    chosen += modules_named(run.path, run.loss, *searched_velocities(wildcards))
    return code("pipeline.images.search", MODELS.module(run.model.name), *chosen)


def paths_code(wildcards):
    runs = CONFIG.experiments[wildcards.images].runs.values()
    return code("pipeline.images.conditional_path", *modules_named(*(run.path for run in runs)))


def figure_code(wildcards):
    return code("pipeline.report.figure", FIGURES.module(CONFIG.experiments[wildcards.experiment].figure.name))
