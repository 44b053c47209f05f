"""Checks that the parts of an experiment fit together; each part is valid by itself."""

from collections.abc import Iterator

from pipeline.config.contracts import JudgedMetricPlugin
from pipeline.config.experiments import Experiment
from pipeline.config.plugins import DATASETS, METRICS, MODELS
from pipeline.config.problems import Problem
from pipeline.config.runs import Run
from pipeline.config.trial import Tokens, Trials
from pipeline.errors import did_you_mean

Key = tuple[str, ...]
METRIC = "frechet_distance"  # for images only; a search minimises it


def problems_of_combinations(experiment: Experiment, at: Key, complete: bool = True) -> Iterator[Problem]:
    """Yield what does not fit together in an experiment; if it is not `complete`, its invalid runs were left out."""
    yield from _blocks(experiment, at)
    yield from _metrics(experiment, at, complete)
    if complete:
        yield from _named_runs(experiment, at)
    trials = Trials(Tokens.of(experiment.data))
    for name, run in experiment.runs.items():
        here = (*at, "runs", name)
        yield from _network(run, experiment, here)
        for problem in trials.problems(run):
            yield Problem((*here, *problem.key), problem.value, problem.message)


def _blocks(experiment: Experiment, at: Key) -> Iterator[Problem]:
    """Yield the blocks that the data set needs but are missing, and those that it cannot use."""
    name, data = experiment.data.name, DATASETS.load(experiment.data.name)
    if data.CRYSTALS and experiment.crystals is None:
        missing = f"required key is missing: the data set {name!r} is one of crystals; {{}} takes the defaults"
        yield Problem((*at, "crystals"), None, missing)
    if not data.CRYSTALS and experiment.crystals is not None:
        yield Problem((*at, "crystals"), None, f"the data set {name!r} is not one of crystals; remove the key")
    if data.CODES and experiment.tokenizer is None:
        missing = "required key is missing: the data are codes of images; {} takes the defaults"
        yield Problem((*at, "tokenizer"), None, missing)
    if not data.CODES and experiment.tokenizer is not None:
        yield Problem((*at, "tokenizer"), None, "the data are not codes of images; remove the key")
    if experiment.search is not None and METRIC not in experiment.scoring:
        missing = f"needs the metric {METRIC}; add it to `scoring`"
        yield Problem((*at, "search"), None, missing)


def _metrics(experiment: Experiment, at: Key, complete: bool) -> Iterator[Problem]:
    """Yield the metrics for other kinds of data, and judges that are not autoregressive runs."""
    name, data = experiment.data.name, DATASETS.load(experiment.data.name)
    able = [name for name, run in experiment.runs.items() if run.path is None and run.weights is None]
    for metric, values in experiment.scoring.items():
        here, plugin = (*at, "scoring", metric), METRICS.load(metric)
        if metric == METRIC and not data.IMAGES:
            yield Problem(here, None, f"the data set {name!r} is not one of images; remove it")
        if not isinstance(plugin, JudgedMetricPlugin):
            continue
        judge = plugin.run_of(METRICS.options(metric, values))
        if not data.TEXT:
            yield Problem(here, None, f"the data set {name!r} is not one of text; a judge reads only text; remove it")
        elif complete and judge is not None and judge not in able:
            reason = f"no autoregressive run (path: null); {did_you_mean(judge, able)}"
            yield Problem((*here, "judge", "run"), judge, reason)


def _network(run: Run, experiment: Experiment, at: Key) -> Iterator[Problem]:
    """Yield a problem if a network for images has other data, or if one that is not told classes has guidance."""
    model, data, guidance = MODELS.chosen(run.model), experiment.data.name, run.sampling.guidance
    if model.plugin.takes("grid") and not DATASETS.load(data).IMAGES:
        wrong = f"a network for images, but the data are {data!r}; choose another"
        yield Problem((*at, "model", "name"), model.name, wrong)
    elif guidance != 1 and not model.plugin.is_told_classes(model.options):
        can_be = "conditional" in model.plugin.Options.model_fields
        fix = "set model.conditional: true" if can_be else "choose a network for images that is"
        wrong = f"the network is not told classes; {fix}, or leave it at 1"
        yield Problem((*at, "sampling", "guidance"), guidance, wrong)


def _named_runs(experiment: Experiment, at: Key) -> Iterator[Problem]:
    """Yield the runs named by a sweep or a search that do not exist, or lack their own network or a path."""
    able = [name for name, run in experiment.runs.items() if run.weights is None]
    for name in [name for sweep in experiment.sweep for name in sweep.runs or () if name not in able]:
        reason = f"no run with a network of its own; {did_you_mean(name, able)}"
        yield Problem((*at, "sweep", "runs"), name, reason)
    able = [name for name in able if experiment.runs[name].path is not None]
    for name in experiment.search.runs if experiment.search else ():
        if name not in able:
            reason = f"no run with a network of its own and a path; {did_you_mean(name, able)}"
            yield Problem((*at, "search", "runs"), name, reason)
