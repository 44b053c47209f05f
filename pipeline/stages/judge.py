from pathlib import Path
from typing import Any

from pipeline.config.contracts import JudgedMetricPlugin
from pipeline.errors import KinoflowError
from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Output

METRIC = "generative_perplexity"


@stage(settings=Job.scoring_settings, chosen=Job.metric_choices, needs=Job.metric_needs, when=Job.judged_from_outside)
def judge(job: Job, *, output: Output) -> None:
    """Make sure that the language model for judging samples of text is there.

    Downloads it if necessary. Writes its name, files and checksums.

    Args:
        output: name, files and checksums of the judge to write (.json)
    """
    import torch

    from pipeline.store.atomic import write_json
    from pipeline.store.provenance import file_hash
    from pipeline.text.judge import ChosenJudge, JudgeError

    judged = [metric for metric in job.metrics if isinstance(metric.plugin, JudgedMetricPlugin)]
    if not judged:
        raise KinoflowError(f"experiments.{job.experiment}.scoring: has no {METRIC}, so nothing is judged; add it")
    chosen = ChosenJudge.of(judged[0].options.judge)
    record: dict[str, Any] = {"judge": chosen.label, "revision": None, "files": {}}
    files: tuple[Path, ...] = ()
    if chosen.run is None:  # a judge that is a run of the experiment is not trained yet
        loaded = chosen.load(cache=job.cache, weights=None, data=None, device=torch.device("cpu"))
        nats, tokens = loaded.negative_log_likelihood(["The cat sat on the mat, and the dog on the floor."])
        if not tokens.all() or not nats[0] < float("inf"):
            raise JudgeError(chosen.label, f"gives {nats[0]} nats to {tokens[0]} tokens of a sentence; it cannot judge")
        files = loaded.files
        record |= {"revision": loaded.revision, "files": {file.name: file_hash(file) for file in files}}
    write_json(output, record)
    job.record([output], job.scoring_settings(), files)
