"""The stage that searches for the velocity and corrector that suit a run best at its number of steps.

Every combination draws samples from the same noise, which is not that of the samples that are reported, and is judged
by the Fréchet distance to the training images.
"""

import json
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch

from pipeline.config import Config, Corrector, Experiment, Run, Sampling, VelocityChoice
from pipeline.config.plugins import METRICS, MODELS
from pipeline.errors import KinoflowError
from pipeline.images.decoding import Decoder
from pipeline.images.feature_choice import ChosenFeatures
from pipeline.images.metrics import frechet_distance
from pipeline.networks.devices import check_gpus
from pipeline.networks.saved import load_network
from pipeline.sampling.blocks import blocks_of, draw_blocks
from pipeline.sampling.samples import SampleSet
from pipeline.scoring.subject import Subject
from pipeline.slices import search_slice
from pipeline.store.atomic import write_json
from pipeline.store.code import modules_named
from pipeline.store.fingerprint import fingerprint
from pipeline.store.journal import Journal
from pipeline.store.provenance import write_provenance
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import TokenData

METRIC = "frechet_distance"


@dataclass(frozen=True)
class Candidate:
    """A velocity, and the weight of a corrector with it."""

    velocity: VelocityChoice
    weight: float

    @property
    def corrector(self) -> Corrector | None:
        """The corrector of this weight; none of weight 0."""
        return Corrector(weight=self.weight) if self.weight else None

    def described(self) -> dict[str, Any]:
        """Return what a sampling takes."""
        corrector = self.corrector.model_dump(mode="json") if self.corrector else None
        return {"velocity": self.velocity.model_dump(mode="json"), "corrector": corrector}


def search(
    config: Config,
    experiment: str,
    run: str,
    *,
    tokens: Path,
    weights: Path,
    tokenizer: Path | None,
    image_reference: Path,
    classifier: Path | None,
    journal: Path,
    gpus: int,
    output: Path,
) -> None:
    """Write the distance of every combination, and the one that is least; goes on from the journal."""
    check_gpus(gpus, "sampling.resources.gpus")
    block, chosen = config.experiments[experiment], config.experiments[experiment].runs[run]
    data, device = TokenData.load(tokens), torch.device("cuda" if gpus else "cpu")
    model = load_network(weights, data, chosen.weights or run)
    model.network.to(device)
    candidates = candidates_of(block, run)
    options = METRICS.options(METRIC, block.scoring[METRIC])
    features = ChosenFeatures.of(options.features)
    inputs = [tokens, weights, image_reference, *(path for path in (tokenizer, classifier) if path)]
    inputs += [*(Path(config.data.cache) / name for name in features.files), *features.inputs]
    settings = json.loads(search_slice(config, experiment, run))
    code = ["pipeline.images.search", MODELS.module(model.description.model.name)]
    velocities = [candidate.velocity for candidate in candidates]
    code += modules_named(model.description.path, model.description.loss, *velocities)
    finished = Journal(journal, fingerprint(settings, inputs, *code, *frechet_distance.modules(options)))
    decoder = Decoder.of(data, tokenizer, device)
    seed = derive_seed(chosen.seed, experiment, model.description.run, "search")
    for number, candidate in enumerate(candidates):
        if number in finished.entries:
            continue
        print(f"{number + 1} of {len(candidates)}: {candidate.velocity.name}, corrector of weight {candidate.weight:g}")
        sampling = sampling_of(block, chosen, candidate)
        drawn, _ = draw_blocks(model, data, sampling, seed, blocks_of(sampling.count, sampling.block, 0, 1))
        subject = Subject(
            SampleSet(drawn, {"run": run, "seed": chosen.seed}),
            data,
            model,
            seed,
            cache=Path(config.data.cache),
            pictures=decoder.pictures(drawn),
            image_reference=image_reference,
            classifier=classifier,
            device=device,
        )
        finished.add(number, frechet_distance.score(subject, options)[METRIC])
    distances = [finished.entries[number] for number in range(len(candidates))]
    least = min(range(len(candidates)), key=distances.__getitem__)
    tried = [
        candidate.described() | {METRIC: distance} for candidate, distance in zip(candidates, distances, strict=True)
    ]
    write_json(output, {"found": candidates[least].described(), "tried": tried, "settings": settings})
    write_provenance([output], settings, chosen.seed, inputs)
    finished.remove()


def candidates_of(block: Experiment, run: str) -> list[Candidate]:
    """Return all combinations of the experiment's search."""
    if block.search is None or METRIC not in block.scoring:
        raise KinoflowError(f"run {run!r}: its experiment has no `search`, or no metric {METRIC}; add it")
    return [Candidate(velocity, weight) for velocity, weight in product(block.search.velocity, block.search.corrector)]


def sampling_of(block: Experiment, chosen: Run, candidate: Candidate) -> Sampling:
    """Return the sampling of a run under one of the combinations."""
    assert block.search is not None, "there are candidates"
    update = {"velocity": candidate.velocity, "corrector": candidate.corrector, "count": block.search.count}
    return chosen.sampling.model_copy(update=update | {"frames": ()})
