from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Output, Samples, Tokens


@stage(each=Job.rows, when=lambda job: job.is_text)
def texts(*, samples: Samples, tokens: Tokens, text: Output, lines: Output) -> None:
    """Write samples of text as readable files.

    Reads samples and tokens. Writes texts.

    Args:
        text: readable samples to write (.txt)
        lines: samples to write, one line of JSON per sample (.jsonl)
    """
    from pipeline.sampling.samples import SampleSet
    from pipeline.store.provenance import write_provenance
    from pipeline.text.export import write_samples
    from pipeline.tokens.token_data import TokenData

    drawn = SampleSet.load(samples)
    write_samples(drawn, TokenData.load(tokens), text, lines)
    write_provenance([text, lines], drawn.conditions, int(drawn.conditions["seed"]), [samples, tokens])
