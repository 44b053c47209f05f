from pipeline.errors import KinoflowError
from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import (
    Classifier,
    Gpus,
    JournalFolder,
    NewScores,
    OptionalInput,
    OptionalOutput,
    Samples,
    Tokens,
)


@stage(
    settings=Job.scoring_settings,
    chosen=lambda job: job.metric_modules() + job.path_modules(),
    needs=Job.metric_needs,
    resources="scoring_resources",
    each=Job.rows,
)
def score(
    job: Job,
    *,
    samples: Samples,
    tokens: Tokens,
    output: NewScores,
    headline: OptionalOutput = None,
    weights: OptionalInput = None,
    judge_weights: OptionalInput = None,
    described: OptionalInput = None,
    structures: OptionalInput = None,
    test: OptionalInput = None,
    hull: OptionalInput = None,
    pictures: OptionalInput = None,
    image_reference: OptionalInput = None,
    classifier: Classifier = None,
    journal: JournalFolder = None,
    gpus: Gpus = 0,
) -> None:
    """Score samples with the metrics of an experiment.

    Reads samples, tokens and, for likelihoods, weights. Writes a flat dictionary of numbers. Resumes from its journal.

    Args:
        headline: the figure that says most, alone, to write for `dvc metrics show` (.json)
        weights: weights from `train`; a reference has none
        judge_weights: weights of the run that judges text, if one does
        described: table from `describe`, for crystals only
        structures: table from `assess`, for crystals only
        test: table of the test structures from `describe`, for crystals only
        hull: hull from `hull`, for crystals only; the tables name it
        pictures: pictures from `pictures`, for images only
        image_reference: description from `image-reference`, for images only
    """
    import torch

    from pipeline.networks.devices import check_gpus
    from pipeline.networks.saved import load_network
    from pipeline.sampling.samples import SampleSet
    from pipeline.scoring.subject import Subject, conditions_of_metrics, score_subject
    from pipeline.store.atomic import write_json
    from pipeline.store.journal import Journal
    from pipeline.store.seeds import derive_seed
    from pipeline.store.tensor_journal import TensorJournal
    from pipeline.tokens.token_data import TokenData

    if 0 < sum(path is not None for path in (structures, described, test)) < 3:
        raise KinoflowError("--structures, --described and --test: for crystals, give all three")
    data, drawn = TokenData.load(tokens), SampleSet.load(samples)
    name, seed = drawn.conditions["run"], drawn.conditions["seed"]
    job = Job(job.config, job.experiment, name)
    check_gpus(gpus, "scoring_resources.gpus")
    device = torch.device("cuda" if gpus else "cpu")
    trained = (job.run.weights or name) if job.is_run else name
    model = load_network(weights, data, trained) if weights else None
    if model is not None:
        model.network.to(device)
    further = {
        "judge_weights": judge_weights,
        "pictures": pictures,
        "image_reference": image_reference,
        "classifier": classifier,
        "structures": structures,
        "described": described,
        "test": test,
        "hull": hull,
    }
    files = {key: path for key, path in further.items() if path is not None}
    inputs = [samples, tokens, *([weights] if weights else []), *files.values(), *job.files_of(*job.metrics)]
    made_from = score.fingerprint(job, inputs) if journal else ""
    finished, large = (Journal(journal, made_from), TensorJournal(journal, made_from)) if journal else (None, None)
    subject = Subject(
        drawn,
        data,
        model,
        derive_seed(seed, job.experiment, name, "scoring"),
        block=job.block,
        files=files,
        swept=trained != name,
        cache=job.cache,
        device=device,
        finished=finished,
        finished_tensors=large,
    )
    metrics = score_subject(subject, job.block.scoring)
    conditions = drawn.conditions | conditions_of_metrics(subject, job.block.scoring)
    write_json(output, {"conditions": conditions, "metrics": metrics})
    if headline:
        write_json(headline, {name: value for name, value in metrics.items() if name == job.headline()})
    job.record([output, *([headline] if headline else [])], job.scoring_settings(), inputs, seed)
    for part in (large, finished):
        if part:
            part.remove()
