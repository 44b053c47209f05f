from typing import Any

from pipeline.errors import KinoflowError
from pipeline.stages.declaration import Plot, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import NewPicture, Tokenizer, Tokens
from pipeline.store.code import modules_named


def settings(job: Job) -> dict[str, Any]:
    """Return what the figure of an experiment's paths depends on besides its tokens."""
    trained = {name: run.path for name, run in job.block.runs.items() if run.path and not run.weights}
    return {"seed": job.config.seed, "paths": {name: path.model_dump(mode="json") for name, path in trained.items()}}


@stage(
    settings=settings,
    chosen=lambda job: modules_named(*(run.path for run in job.block.runs.values())),
    when=lambda job: job.is_images,
    plot=lambda job: Plot(),
)
def conditional_path(job: Job, *, tokens: Tokens, output: NewPicture, tokenizer: Tokenizer = None) -> None:
    """Draw images along the paths of an experiment.

    Reads tokens. Writes a picture. It helps to choose the numbers of a metric path before any training.
    """
    from pipeline.images.conditional_path import DPI, draw, pictures_along
    from pipeline.images.decoding import Decoder
    from pipeline.store.atomic import replacing
    from pipeline.store.seeds import derive_seed
    from pipeline.tokens.token_data import TokenData

    data, runs = TokenData.load(tokens), job.block.runs
    paths = {run.path.model_dump_json(): run.path for run in runs.values() if run.path}
    if not paths:
        raise KinoflowError(f"experiments.{job.experiment}.runs: none has a path; add one")
    seed = derive_seed(job.config.seed, job.experiment, "conditional path")
    drawing = draw(pictures_along(paths.values(), data, Decoder.of(data, tokenizer), seed))
    with replacing(output) as temporary:
        drawing.savefig(temporary, format="png", metadata={"Software": None}, dpi=DPI)
    described = {"paths": [choice.model_dump() for choice in paths.values()]}
    job.record([output], described, [tokens, tokenizer])
