from pipeline.config.oracle import CLAIMS
from pipeline.errors import KinoflowError
from pipeline.stages.declaration import Plot, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Csv, Input, Markdown, Numbers, Outputs


@stage(
    settings=lambda job: {"few": job.oracle.few, "many": job.oracle.many},
    when=lambda job: job.block.oracle is not None,
    plot=lambda job: Plot("error_ratio", "comparison", f"{job.experiment}: ratios of errors", "bar_horizontal"),
)
def claims(job: Job, *, measured: Input, csv: Csv, markdown: Markdown, numbers: Numbers, figures: Outputs) -> None:
    """Say what measured errors mean for claims about samplers.

    Writes for each claim whether it is supported, not supported or not resolved, and a figure.

    Args:
        measured: errors from `oracle`
        figures: pictures to write (.png), one for each claim
    """
    from pipeline.known.bench.claim_figures import DPI, draw
    from pipeline.known.bench.claim_table import make_claim_table
    from pipeline.known.bench.claims import CLAIMS as KNOWN
    from pipeline.known.bench.claims import Steps
    from pipeline.store.atomic import read_json, replacing

    if len(figures) != len(CLAIMS):
        raise KinoflowError(f"--figures: {len(figures)} files; give {len(CLAIMS)}, for {', '.join(CLAIMS)}")
    found, steps = read_json(measured), Steps(job.oracle.few, job.oracle.many)
    make_claim_table(found, steps, table=csv, markdown=markdown, numbers=numbers)
    for claim, output in zip(KNOWN, figures, strict=True):
        drawing = draw(claim, found)
        with replacing(output) as temporary:
            drawing.savefig(temporary, format="png", metadata={"Software": None}, dpi=DPI)
    job.record([csv, markdown, numbers, *figures], {"few": steps.few, "many": steps.many}, [measured])
