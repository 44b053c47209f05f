"""The stage that scores one run: all metrics of its experiment in one flat dictionary."""

import importlib.metadata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.atomic import write_json
from pipeline.config import Config
from pipeline.crystals.evidence import CrystalEvidence
from pipeline.data.tokens import TokenData
from pipeline.flow.errors import KinoflowError
from pipeline.metrics.subject import Subject
from pipeline.models.saved import load_network
from pipeline.parquet import read_table
from pipeline.plugins import METRICS
from pipeline.provenance import write_provenance
from pipeline.sampling.samples import SampleSet
from pipeline.seeds import derive_seed


def score_samples(
    config: Config,
    experiment: str,
    *,
    samples: Path,
    tokens: Path,
    weights: Path | None,
    evidence: Sequence[Path] | None = None,
    output: Path,
) -> None:
    """Write the conditions and the metrics of a set of samples as JSON.

    `evidence` are the tables of crystals: what is known of each, their descriptions, those of the test structures.
    """
    data, drawn = TokenData.load(tokens), SampleSet.load(samples)
    chosen = config.experiments[experiment]
    run, seed = drawn.conditions["run"], drawn.conditions["seed"]
    model = load_network(weights, data, run) if weights else None
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
    subject = Subject(drawn, data, model, derive_seed(seed, experiment, run, "scoring"), crystals)
    write_json(output, {"conditions": conditions, "metrics": score_subject(subject, chosen.scoring)})
    inputs = [samples, tokens, *([weights] if weights else []), *(evidence or [])]
    write_provenance([output], {"scoring": chosen.scoring}, seed, inputs)


def score_subject(subject: Subject, scoring: Mapping[str, dict[str, Any]]) -> dict[str, float]:
    """Return the numbers of all metrics in `scoring`, which has their options by name."""
    metrics: dict[str, float] = {}
    for name, options in scoring.items():
        scores = METRICS.load(name).score(subject, METRICS.options(name, options))
        if twice := metrics.keys() & scores.keys():
            raise KinoflowError(f"metric {name!r}: another one gives {', '.join(sorted(twice))} too; rename it")
        metrics |= scores
    return metrics
