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
    from pipeline.store.arrays import read_arrays, read_description
    from pipeline.store.provenance import write_provenance
    from pipeline.text.export import write_samples
    from pipeline.text.tokenizer import described_tokenizer

    drawn, description = read_arrays(samples, "samples", ["tokens"])
    conditions = dict(description["conditions"])
    tokenizer = described_tokenizer(read_description(tokens, "tokens"))
    write_samples(tokenizer, drawn["tokens"], conditions["run"], text, lines)
    write_provenance([text, lines], conditions, int(conditions["seed"]), [samples, tokens])
