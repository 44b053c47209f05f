"""Checks of everything in a configuration that is chosen by name, and of how the choices of a run go together.

Names and options come from the implementations themselves. What a run combines is tried on a few tokens, so that a
loss, velocity or step that its path does not have is found before any job starts.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, get_args

import torch
from pydantic import BaseModel, create_model

from pipeline.config import Strict
from pipeline.config.contracts import JudgedMetricPlugin
from pipeline.config.image_choices import problems_of_images
from pipeline.config.plugins import DATASETS, FIGURES, METRICS, MODELS, Plugins
from pipeline.config.problems import Problem, problems_of
from pipeline.errors import did_you_mean
from pipeline.flow.errors import FlowError
from pipeline.flow.losses import LOSSES
from pipeline.flow.paths import PATHS, build_path, known_to
from pipeline.flow.registry import Registry
from pipeline.flow.sampler import sample
from pipeline.flow.steps import STEPS
from pipeline.flow.velocities import VELOCITIES
from pipeline.flow.vocabulary import Vocabulary
from pipeline.store.paper import paper_tables

Key = tuple[str, ...]
Source = Plugins[Any] | Registry[Any]
_PLAIN = (int, float, str, bool, type(None), Any)
_LARGE = 2048  # tokens; a trial with a larger vocabulary would take too long


def problems_of_choices(raw: dict[str, Any]) -> list[Problem]:
    """Return what is wrong with the choices in a configuration with complete runs; malformed parts are passed over."""
    problems: list[Problem] = []
    for name, experiment in _mappings(raw.get("experiments")):
        at: Key = ("experiments", name)
        data = _check(DATASETS, experiment.get("data"), (*at, "data"))
        tokens = _tokens(None if data else experiment.get("data"))
        problems += data
        problems += _check(MODELS, experiment.get("model"), (*at, "model"))
        problems += _check(FIGURES, experiment.get("figure"), (*at, "figure"))
        problems += [] if data else _check_crystals(experiment, at) + problems_of_images(experiment, at)
        if isinstance(label := experiment.get("paper"), str) and label not in paper_tables():
            problems.append(Problem((*at, "paper"), label, f"unknown table; {did_you_mean(label, paper_tables())}"))
        problems += _check_sampling(experiment.get("sampling"), (*at, "sampling"))
        scoring = experiment.get("scoring")
        for metric, options in _mappings(scoring):
            if "name" in options:
                named = "unknown key; a metric is chosen by its key under scoring"
                problems.append(Problem((*at, "scoring", metric, "name"), options["name"], named))
            problems += _check(METRICS, options | {"name": metric}, (*at, "scoring", metric))
            problems += _check_judge(metric, options, experiment, (*at, "scoring", metric))
        runs = dict(_mappings(experiment.get("runs")))
        for run_name, run in runs.items():
            problems += _check_run(run, tokens, (*at, "runs", run_name))
            trained = [other for other in runs if not runs[other].get("weights")]
            if isinstance(other := run.get("weights"), str) and other not in trained:
                unknown = f"no run with weights of its own; {did_you_mean(other, trained)}"
                problems.append(Problem((*at, "runs", run_name, "weights"), other, unknown))
    return problems


def options_model(source: Source, name: str) -> type[BaseModel]:
    """Return the model of the options that the implementation `name` takes from a configuration."""
    if isinstance(source, Plugins):
        options: type[BaseModel] = source.load(name).Options
        return options
    fields: dict[str, Any] = {
        key: (parameter.annotation, ... if parameter.default is inspect.Parameter.empty else parameter.default)
        for key, parameter in source.options(name).items()
        if _is_plain(parameter.annotation)
    }
    return create_model(name, __base__=Strict, **fields)


def _is_plain(annotation: Any) -> bool:
    """Return whether values of a type can be written in YAML, unlike a tensor."""
    inner = get_args(annotation)
    return all(map(_is_plain, inner)) if inner else any(annotation is plain for plain in _PLAIN)


@dataclass(frozen=True)
class Tokens:
    """A vocabulary, and what its data set tells paths about it."""

    vocabulary: Vocabulary
    known: dict[str, torch.Tensor]


def _tokens(data: Any) -> Tokens:
    """Return the tokens of a data set, or four and a mask if they are many or unknown."""
    name, options = _choice(data)
    if name is not None:
        data_set, chosen = DATASETS.load(name), DATASETS.options(name, options)
        vocabulary: Vocabulary = data_set.vocabulary(chosen)
        if vocabulary.size <= _LARGE or vocabulary.kinds > 1:
            distances = data_set.distances(chosen)
            known = {} if distances is None else {"distances": distances}
            return Tokens(vocabulary, known | {"counts": _unequal(vocabulary.size)})
    return Tokens(Vocabulary.single(4, specials=1), {"counts": _unequal(5)})


def _unequal(size: int) -> torch.Tensor:
    """Return counts of tokens as data have them: different, and several of the rarest."""
    return torch.arange(size) // 2


def _check_run(run: dict[str, Any], tokens: Tokens, at: Key) -> list[Problem]:
    model = _check(MODELS, run.get("model"), (*at, "model")) or _check_order(run, (*at, "model"))
    path = _check(PATHS, run.get("path"), (*at, "path"))
    loss = _check(LOSSES, run.get("loss"), (*at, "loss"))
    sampling = _check_sampling(run.get("sampling"), (*at, "sampling"))
    trial = Trial.of(run, tokens, at)
    if trial is not None and not path:
        path = trial.build_path()
        model = model or (not path and trial.check_time()) or []
        loss = loss or (not path and trial.compute_loss()) or []
        sampling = sampling or (not path and trial.draw()) or []
    return model + path + loss + sampling


def _check_crystals(experiment: dict[str, Any], at: Key) -> list[Problem]:
    """Return a problem if an experiment on crystals has no block for them, or another one has."""
    name, _ = _choice(experiment.get("data"))
    expected = name is not None and DATASETS.load(name).CRYSTALS
    if expected == (experiment.get("crystals") is not None):
        return []
    missing = f"required key is missing: the data set {name!r} is one of crystals; {{}} takes the defaults"
    reason = missing if expected else f"the data set {name!r} is not one of crystals; remove the key"
    return [Problem((*at, "crystals"), None, reason)]


def _check_judge(metric: str, options: dict[str, Any], experiment: dict[str, Any], at: Key) -> list[Problem]:
    """Return a problem if a metric needs the network of a run that is not autoregressive, or not there."""
    plugin = METRICS.load(metric) if metric in METRICS.names() else None
    if not isinstance(plugin, JudgedMetricPlugin):
        return []
    data, _ = _choice(experiment.get("data"))
    if data in DATASETS.names() and not DATASETS.load(str(data)).TEXT:
        return [Problem(at, None, f"the data set {data!r} is not one of text, which a judge could read; remove it")]
    valid, problems = problems_of(options_model(METRICS, metric), options, at)
    if valid is None or problems:
        return []
    run, runs = plugin.run_of(valid), dict(_mappings(experiment.get("runs")))
    able = [name for name, block in runs.items() if block.get("path", ...) is None and not block.get("weights")]
    if run is None or run in able:
        return []
    return [Problem((*at, "judge", "run"), run, f"no autoregressive run (path: null); {did_you_mean(run, able)}")]


def _check_order(run: dict[str, Any], at: Key) -> list[Problem]:
    """Return a problem if a run without a path has no autoregressive network, or one with a path has one."""
    name, _ = _choice(run.get("model"))
    if name is None or "path" not in run:
        return []
    autoregressive = MODELS.load(name).AUTOREGRESSIVE
    if autoregressive == (run["path"] is None):
        return []
    what = "is autoregressive: set path: null" if autoregressive else "is not autoregressive: give the run a path"
    return [Problem((*at, "name"), name, f"{what}, or choose another model")]


def _check_sampling(sampling: Any, at: Key) -> list[Problem]:
    if not isinstance(sampling, dict):
        return []
    velocity = _check(VELOCITIES, sampling.get("velocity"), (*at, "velocity"))
    return velocity + _check(STEPS, sampling.get("step"), (*at, "step"))


def _check(source: Source, block: Any, at: Key) -> list[Problem]:
    """Return what is wrong with one choice; one without a name is reported where the structure is checked."""
    name, options = _choice(block)
    if name is None:
        return []
    if name not in source.names():
        key = at if isinstance(block, str) or at[-1] == name else (*at, "name")
        return [Problem(key, name, f"unknown {source.noun}; {did_you_mean(name, source.names())}")]
    return problems_of(options_model(source, name), options, at)[1]


class Trial:
    """A run on one token of each kind; each of its parts returns what is wrong with it."""

    def __init__(self, run: dict[str, Any], sampling: dict[str, Any], tokens: Tokens, at: Key) -> None:
        self._run, self._sampling, self._at = run, sampling, at
        self._vocabulary, self._known = tokens.vocabulary, tokens.known
        self._kinds = torch.arange(self._vocabulary.kinds)[None]
        self._generator = torch.Generator().manual_seed(0)

    @classmethod
    def of(cls, run: dict[str, Any], tokens: Tokens, at: Key) -> "Trial | None":
        """Return the trial of a run, or None if a choice has no name, which is reported elsewhere."""
        sampling = {"velocity": "kinetic_optimal", "step": "exact"}
        sampling |= run["sampling"] if isinstance(run.get("sampling"), dict) else {}
        named = (run.get("path"), run.get("loss"), sampling["velocity"], sampling["step"])
        return cls(run, sampling, tokens, at) if all(_choice(block)[0] is not None for block in named) else None

    def build_path(self) -> list[Problem]:
        """Build the path."""
        return self._trial("path", self._build_path)

    def check_time(self) -> list[Problem]:
        """Look whether the network is told the time where the path needs it."""
        _, options = _choice(self._run.get("model"))
        if options.get("time", True) or not self._path.needs_time:
            return []
        reason = f"the posterior of the path {_choice(self._run['path'])[0]!r} depends on the time; set it to true"
        return [Problem((*self._at, "model", "time"), False, reason)]

    def compute_loss(self) -> list[Problem]:
        """Compute the loss."""
        return self._trial("loss", self._compute_loss)

    def draw(self) -> list[Problem]:
        """Draw a sample in two steps."""
        return self._trial("sampling", self._draw)

    def _build_path(self) -> None:
        name, options = _choice(self._run["path"])
        self._path = build_path(str(name), self._vocabulary, **options, **known_to(str(name), self._known))

    def _compute_loss(self) -> None:
        name, options = _choice(self._run["loss"])
        x1, t = self._vocabulary.targets(self._kinds).int().argmax(-1), torch.tensor([0.5], dtype=torch.float64)
        x_t = self._path.sample(x1, t, self._generator)
        LOSSES.bind(str(name), **options)(self._path, self._flat_logits(x1, t), x1, x_t, t)

    def _draw(self) -> None:
        (name, options), (step, _) = _choice(self._sampling["velocity"]), _choice(self._sampling["step"])
        sample(
            self._flat_logits,
            self._path,
            kinds=self._kinds,
            steps=2,
            velocity=VELOCITIES.bind(str(name), **options),
            step=str(step),
            generator=self._generator,
        )

    def _flat_logits(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return torch.zeros(*x.shape, self._vocabulary.size)

    def _trial(self, part: str, attempt: Callable[[], None]) -> list[Problem]:
        try:
            attempt()
        except FlowError as error:
            path = "" if part == "path" else f"does not work on the path {_choice(self._run['path'])[0]!r}: "
            return [Problem((*self._at, part), None, f"{path}{error}")]
        return []


def _choice(block: Any) -> tuple[str | None, dict[str, Any]]:
    if isinstance(block, str):
        return block, {}
    if isinstance(block, dict) and isinstance(block.get("name"), str):
        return block["name"], {key: value for key, value in block.items() if key != "name"}
    return None, {}


def _mappings(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict):
        yield from ((str(key), inner) for key, inner in value.items() if isinstance(inner, dict))
