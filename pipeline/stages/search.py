import json
from typing import Any

from pipeline.stages.declaration import stage
from pipeline.stages.job import Job, RunJob
from pipeline.stages.parameters import (
    Classifier,
    Gpus,
    ImageReference,
    Output,
    OutputFolder,
    Tokenizer,
    Tokens,
    Weights,
)


def settings(job: Job) -> dict[str, Any]:
    """Return what the search for a run's velocity depends on besides its weights."""
    search, without = job.block.search, {"shards", "resources", "count", "frames"}
    return {
        "seed": job.run.seed,
        "search": search.model_dump(mode="json", exclude={"runs", "steps"}) if search else None,
        "sampling": job.run.sampling.model_dump(mode="json", exclude=without),
        **job.comparison("features"),
    }


@stage(
    settings=settings,
    chosen=lambda job: job.network_modules(*job.searched_velocities, job.run.sampling.scheme) + job.metric_modules(),
    needs=Job.metric_needs,
    resources="runs.{name}.sampling.resources",
    each=Job.runs,
    when=lambda job: job.run.sampling.searched,
)
def search(
    job: RunJob,
    *,
    tokens: Tokens,
    weights: Weights,
    image_reference: ImageReference,
    journal: OutputFolder,
    output: Output,
    tokenizer: Tokenizer = None,
    classifier: Classifier = None,
    gpus: Gpus = 0,
) -> None:
    """Find the velocity, step and corrector that suit a run best.

    Draws samples with each combination, all from the same noise. The reported samples use other noise. Writes the
    Fréchet distances and the best combination. Resumes from its journal.

    Args:
        journal: folder of finished combinations, removed at the end
        output: distances and the best combination to write (.json)
    """
    import torch

    from pipeline.config.plugins import METRICS
    from pipeline.images.decoding import Decoder
    from pipeline.images.feature_choice import ChosenFeatures
    from pipeline.images.metrics.frechet_distance import checked_reference, compared
    from pipeline.images.search import METRIC, candidates_of, sampling_of
    from pipeline.networks.devices import check_gpus
    from pipeline.networks.saved import load_network
    from pipeline.sampling.blocks import blocks_of, draw_blocks
    from pipeline.store.atomic import write_json
    from pipeline.store.journal import Journal
    from pipeline.store.seeds import derive_seed
    from pipeline.tokens.token_data import TokenData

    check_gpus(gpus, "sampling.resources.gpus")
    block, run = job.block, job.run
    data, device = TokenData.load(tokens), torch.device("cuda" if gpus else "cpu")
    model = load_network(weights, data, run.weights or job.name)
    model.network.to(device)
    candidates = candidates_of(block, job.name)
    options = METRICS.options(METRIC, block.scoring[METRIC])
    features = ChosenFeatures.of(options.features)
    inputs = [tokens, weights, image_reference, *filter(None, (tokenizer, classifier)), *job.files_of(features)]
    finished = Journal(journal, search.fingerprint(job, inputs))
    decoder = Decoder.of(data, tokenizer, device)
    seed = derive_seed(run.seed, job.experiment, model.description.run, "search")
    reference = checked_reference(image_reference, classifier, options)
    extractor = features.load(cache=job.cache, classifier=classifier, device=device)
    for number, candidate in enumerate(candidates):
        if number in finished.entries:
            continue
        chosen = f"{candidate.velocity.name}, {candidate.step.name}, corrector of weight {candidate.weight:g}"
        print(f"{number + 1} of {len(candidates)}: {chosen}")
        sampling = sampling_of(block, run, candidate)
        blocks = blocks_of(sampling.count, sampling.block, 0, 1)
        drawn = torch.cat([part.tokens for part in draw_blocks(model, data, sampling, seed, blocks)])
        found = compared(decoder.pictures(drawn), None, reference, extractor, options, seed)
        finished.add(number, found[METRIC])
    distances = [finished.entries[number] for number in range(len(candidates))]
    least = min(range(len(candidates)), key=distances.__getitem__)
    tried = [
        candidate.described() | {METRIC: distance} for candidate, distance in zip(candidates, distances, strict=True)
    ]
    said = json.loads(search.settings_text(job))
    write_json(output, {"found": candidates[least].described(), "tried": tried, "settings": said})
    job.record([output], said, inputs, run.seed)
    finished.remove()
