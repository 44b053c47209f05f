"""Checks that the parts of an experiment fit together; each part is valid by itself.

What no part declares is tried on a few tokens: whether the loss, velocity and step of a run work on its path.
"""

from collections.abc import Iterator

import torch

from pipeline.config.choices import DataChoice
from pipeline.config.contracts import JudgedMetricPlugin
from pipeline.config.experiments import Experiment
from pipeline.config.plugins import DATASETS, METRICS, MODELS
from pipeline.config.problems import Problem
from pipeline.config.runs import Run
from pipeline.errors import did_you_mean
from pipeline.flow.correctors import Corrector
from pipeline.flow.errors import FlowError
from pipeline.flow.grids import GRIDS
from pipeline.flow.losses import LOSSES
from pipeline.flow.paths import build_path, known_to
from pipeline.flow.sampler import sample
from pipeline.flow.schemes import build_scheme
from pipeline.flow.velocities import VELOCITIES
from pipeline.flow.vocabulary import Vocabulary

Key = tuple[str, ...]
METRIC = "frechet_distance"  # for images only; a search minimises it
_LARGE = 2048  # tokens; a trial with a larger vocabulary would take too long


def problems_of_combinations(experiment: Experiment, at: Key, complete: bool) -> Iterator[Problem]:
    """Yield what does not fit together in an experiment; if it is not `complete`, its invalid runs were left out."""
    yield from _blocks(experiment, at)
    yield from _metrics(experiment, at, complete)
    if complete:
        yield from _named_runs(experiment, at)
    trials = _Trials(experiment.data)
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
        yield Problem((*at, "search"), None, f"needs the metric {METRIC}; add it to `scoring`")


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


def _named_runs(experiment: Experiment, at: Key) -> Iterator[Problem]:
    """Yield the runs named by a sweep, search or prediction that do not exist, or lack a network or a path."""
    able = [name for name, run in experiment.runs.items() if run.weights is None]
    for name in [name for sweep in experiment.sweep for name in sweep.runs or () if name not in able]:
        reason = f"no run with a network of its own; {did_you_mean(name, able)}"
        yield Problem((*at, "sweep", "runs"), name, reason)
    able = [name for name in able if experiment.runs[name].path is not None]
    for name in experiment.search.runs if experiment.search else ():
        if name not in able:
            reason = f"no run with a network of its own and a path; {did_you_mean(name, able)}"
            yield Problem((*at, "search", "runs"), name, reason)
    prediction = experiment.crystals.prediction if experiment.crystals else None
    able = [name for name, run in experiment.runs.items() if run.path is not None]
    for name in (prediction.runs if prediction else None) or ():
        if name not in able:
            reason = f"no run with a path (an autoregressive one cannot predict structures); {did_you_mean(name, able)}"
            yield Problem((*at, "crystals", "prediction", "runs"), name, reason)


def _network(run: Run, experiment: Experiment, at: Key) -> Iterator[Problem]:
    """Yield what is wrong with the network of a run: its data, guidance without classes, or whether it has a path."""
    model, data, guidance = MODELS.chosen(run.model), experiment.data.name, run.sampling.guidance
    if model.plugin.takes("grid") and not DATASETS.load(data).IMAGES:
        wrong = f"a network for images, but the data are {data!r}; choose another"
        yield Problem((*at, "model", "name"), model.name, wrong)
    elif guidance != 1 and not model.plugin.is_told_classes(model.options):
        can_be = "conditional" in model.plugin.Options.model_fields
        fix = "set model.conditional: true" if can_be else "choose a network for images that is"
        wrong = f"the network is not told classes; {fix}, or leave it at 1"
        yield Problem((*at, "sampling", "guidance"), guidance, wrong)
    if run.sampling.redraws and not (run.path and model.plugin.knows_conflicts(model.options)):
        wrong = "the network knows no conflicts between tokens; leave it at 0, or take crystal_dit with a spacing"
        yield Problem((*at, "sampling", "redraws"), run.sampling.redraws, wrong)
    autoregressive = model.plugin.AUTOREGRESSIVE
    if autoregressive != (run.path is None):
        what = "is autoregressive: set path: null" if autoregressive else "is not autoregressive: give the run a path"
        yield Problem((*at, "model", "name"), model.name, f"{what}, or choose another model")


class _Trials:
    """Trials of runs on one token of each kind; runs that do not differ in what is tried share one trial."""

    def __init__(self, choice: DataChoice) -> None:
        """Take the tokens of a data set, or four tokens and a mask if it has many."""
        data = DATASETS.chosen(choice)
        self._vocabulary, self._known = data.plugin.vocabulary(data.options), dict[str, torch.Tensor]()
        if self._vocabulary.size > _LARGE and self._vocabulary.kinds == 1:
            self._vocabulary = Vocabulary.single(4, specials=1)
        elif (distances := data.plugin.distances(data.options)) is not None:
            self._known["distances"] = distances
        # As in real data: some tokens are equally frequent, and several share the lowest count.
        self._known["counts"] = torch.arange(self._vocabulary.size) // 2
        self._made: dict[str, list[Problem]] = {}

    def problems(self, run: Run) -> list[Problem]:
        """Return what is wrong with a run; keys are relative to the run."""
        tried = run.model_dump_json(
            include={
                "path": True,
                "loss": True,
                "model": True,
                "sampling": {"velocity", "step", "scheme", "grid", "corrector"},
            }
        )
        if tried not in self._made:
            self._made[tried] = list(self._try(run))
        return self._made[tried]

    def _try(self, run: Run) -> Iterator[Problem]:
        """Yield what is wrong with the path or, if nothing is, with the time, loss and sampling on it."""
        if run.path is None or run.loss is None:  # an autoregressive run has neither
            return
        name, model, sampling = run.path.name, MODELS.chosen(run.model), run.sampling
        try:
            path = build_path(name, self._vocabulary, **run.path.options, **known_to(name, self._known))
        except FlowError as error:
            yield Problem(("path",), None, str(error))
            return
        if path.needs_time and not (model.plugin.AUTOREGRESSIVE or model.plugin.is_told_time(model.options)):
            reason = f"the posterior of the path {name!r} depends on the time; set it to true"
            yield Problem(("model", "time"), False, reason)

        def flat_logits(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
            return torch.zeros(*x.shape, self._vocabulary.size)

        kinds, generator = torch.arange(self._vocabulary.kinds)[None], torch.Generator().manual_seed(0)
        try:
            x1, t = self._vocabulary.targets(kinds).int().argmax(-1), torch.tensor([0.5], dtype=torch.float64)
            x_t = path.sample(x1, t, generator)
            LOSSES.bind(run.loss.name, **run.loss.options)(path, flat_logits(x1, t), x1, x_t, t)
        except FlowError as error:
            yield Problem(("loss",), None, f"does not work on the path {name!r}: {error}")
        try:
            velocity = VELOCITIES.bind(sampling.velocity.name, **sampling.velocity.options)
            sample(
                flat_logits,
                path,
                kinds=kinds,
                steps=GRIDS.bind(sampling.grid.name, **sampling.grid.options)(path, 2),
                velocity=velocity,
                step=sampling.step.name,
                scheme=build_scheme(sampling.scheme.name, **sampling.scheme.options),
                corrector=None if sampling.corrector is None else Corrector(0.0, kind=sampling.corrector.kind.name),
                generator=generator,
            )
        except FlowError as error:
            yield Problem(("sampling",), None, f"does not work on the path {name!r}: {error}")
