"""The stage that scores one run: all metrics of its experiment in one flat dictionary."""

from pathlib import Path

from pipeline.atomic import write_json
from pipeline.config import Config
from pipeline.data.tokens import TokenData
from pipeline.flow.errors import KinoflowError
from pipeline.metrics.subject import Subject
from pipeline.models.saved import load_network
from pipeline.plugins import METRICS
from pipeline.provenance import write_provenance
from pipeline.sampling.samples import SampleSet
from pipeline.seeds import derive_seed


def score_samples(
    config: Config, experiment: str, *, samples: Path, tokens: Path, weights: Path | None, output: Path
) -> None:
    """Write the conditions and the metrics of a set of samples as JSON."""
    data, drawn = TokenData.load(tokens), SampleSet.load(samples)
    scoring = config.experiments[experiment].scoring
    run, seed = drawn.conditions["run"], drawn.conditions["seed"]
    model = load_network(weights, data, run) if weights else None
    subject = Subject(drawn, data, model, derive_seed(seed, experiment, run, "scoring"))
    metrics: dict[str, float] = {}
    for name, options in scoring.items():
        scores = METRICS.load(name).score(subject, METRICS.options(name, options))
        if twice := metrics.keys() & scores.keys():
            raise KinoflowError(f"metric {name!r}: another one gives {', '.join(sorted(twice))} too; rename it")
        metrics |= scores
    write_json(output, {"conditions": drawn.conditions, "metrics": metrics})
    inputs = [tokens, samples, weights] if weights else [tokens, samples]
    write_provenance([output], {"scoring": scoring}, seed, inputs)
