"""The stage that scores one run: all metrics of its experiment in one flat dictionary."""

import importlib.metadata
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from pipeline.config import Config
from pipeline.config.plugins import METRICS, files_needed, inputs_needed
from pipeline.crystals.evidence import CrystalEvidence
from pipeline.errors import KinoflowError
from pipeline.images.pictures import Pictures
from pipeline.networks.devices import check_gpus
from pipeline.networks.saved import load_network
from pipeline.sampling.samples import SampleSet
from pipeline.scoring.subject import Subject
from pipeline.store.atomic import write_json
from pipeline.store.code import modules_named
from pipeline.store.fingerprint import fingerprint
from pipeline.store.journal import Journal
from pipeline.store.parquet import read_table
from pipeline.store.provenance import write_provenance
from pipeline.store.seeds import derive_seed
from pipeline.store.tensor_journal import TensorJournal
from pipeline.tokens.token_data import TokenData


def score_samples(
    config: Config,
    experiment: str,
    *,
    samples: Path,
    tokens: Path,
    weights: Path | None,
    evidence: Sequence[Path] | None = None,
    judge_weights: Path | None = None,
    pictures: Path | None = None,
    image_reference: Path | None = None,
    classifier: Path | None = None,
    gpus: int = 0,
    output: Path,
    journal: Path | None = None,
) -> None:
    """Write the conditions and the metrics of a set of samples as JSON.

    `evidence` are the tables of crystals: what is known of each, their descriptions, those of the test structures.
    `judge_weights` are those of the autoregressive run that judges samples of text, if one does. Of images there are
    `pictures`, the `image_reference` that they are compared with, and the weights of the `classifier` that does it.
    With the folder of a `journal`, scoring that was stopped goes on with the next metric, or part of one.
    """
    data, drawn = TokenData.load(tokens), SampleSet.load(samples)
    chosen = config.experiments[experiment]
    run, seed = drawn.conditions["run"], drawn.conditions["seed"]
    check_gpus(gpus, "scoring_resources.gpus")
    device = torch.device("cuda" if gpus else "cpu")
    trained = (chosen.runs[run].weights or run) if run in chosen.runs else run
    model = load_network(weights, data, trained) if weights else None
    if model is not None:
        model.network.to(device)
    crystals, conditions = None, drawn.conditions
    if evidence is not None:
        structures, described, test = map(read_table, evidence)
        crystals = CrystalEvidence(structures, described, test, conditions.get("NFE"))
        hull = chosen.crystals.hull if chosen.crystals else None
        conditions |= {
            "data": data.origin["name"],
            "hull": hull or "published formation energies",
            "energy model": f"CHGNet {importlib.metadata.version('chgnet')}",
        }
    given = (weights, judge_weights, pictures, image_reference, classifier)
    inputs = [samples, tokens, *(path for path in given if path), *(evidence or [])]
    inputs += files_of_metrics(config, experiment)
    settings = {"scoring": chosen.scoring}
    code = modules_of(chosen.scoring)
    code += modules_named(model.description.path, model.description.loss) if model is not None else []
    made_from = fingerprint(settings, inputs, *code) if journal else ""
    finished, large = (Journal(journal, made_from), TensorJournal(journal, made_from)) if journal else (None, None)
    subject = Subject(
        drawn,
        data,
        model,
        derive_seed(seed, experiment, run, "scoring"),
        crystals,
        swept=trained != run,
        cache=Path(config.data.cache),
        judge_weights=judge_weights,
        pictures=Pictures.load(pictures).images if pictures else None,
        image_reference=image_reference,
        classifier=classifier,
        device=device,
        finished=finished,
        finished_tensors=large,
    )
    metrics = score_subject(subject, chosen.scoring)
    write_json(output, {"conditions": conditions | conditions_of_metrics(subject, chosen.scoring), "metrics": metrics})
    write_provenance([output], settings, seed, inputs)
    for part in (large, finished):
        if part:
            part.remove()


def modules_of(scoring: Mapping[str, dict[str, Any]]) -> list[str]:
    """Return the modules that the scores are computed by: those of the metrics, and what they choose by name."""
    modules = ["pipeline.scoring.score"]
    for name, options in scoring.items():
        metric = METRICS.load(name)
        chosen = metric.modules(METRICS.options(name, options)) if hasattr(metric, "modules") else []
        modules += [METRICS.module(name), *chosen]
    return modules


def files_of_metrics(config: Config, experiment: str) -> list[Path]:
    """Return the files that an experiment's metrics measure with: fetched ones, and the user's own."""
    found: list[Path] = []
    for name, values in config.experiments[experiment].scoring.items():
        metric, options = METRICS.load(name), METRICS.options(name, values)
        found += [Path(config.data.cache) / file for file in files_needed(metric, options)]
        found += inputs_needed(metric, options)
    return found


def conditions_of_metrics(subject: Subject, scoring: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return what the metrics have to say of how they measured, such as who judged."""
    conditions: dict[str, Any] = {}
    for name, options in scoring.items():
        module = METRICS.load(name)
        if hasattr(module, "conditions"):
            conditions |= module.conditions(subject, METRICS.options(name, options))
    return conditions


def score_subject(subject: Subject, scoring: Mapping[str, dict[str, Any]]) -> dict[str, float]:
    """Return the numbers of all metrics in `scoring`, which has their options by name."""
    metrics: dict[str, float] = {}
    for name, options in scoring.items():
        score = partial(METRICS.load(name).score, subject, METRICS.options(name, options))
        scores: dict[str, float] = subject.once(name, score)
        if twice := metrics.keys() & scores.keys():
            raise KinoflowError(f"metric {name!r}: another one gives {', '.join(sorted(twice))} too; rename it")
        metrics |= scores
    return metrics
