"""The stage that prepares a data set: from its options to tokens.

A data set has `Options`, `vocabulary(options)`, `length(options)`, which is the number of tokens in a sequence, and
`prepare(options, seed, cache) -> TokenData`. If it needs files from elsewhere it has `FILES`, or `files(options)`:
their names in the catalogue. They are fetched before, and lie in `cache`. A data set that reads files of the user names them
with `inputs(options)`. One of structures has `read` and `tokens_of` in place of `prepare` (see
:mod:`pipeline.crystals.dataset`), and what it has read is written beside the tokens. One of images is made of prepared
images (see :mod:`pipeline.images.prepare`), by its `from_images` or by a tokenizer.
"""

from pathlib import Path

from pipeline.config import Config
from pipeline.config.plugins import DATASETS, files_needed, inputs_needed
from pipeline.store.parquet import write_table
from pipeline.store.provenance import write_provenance


def prepare_data(config: Config, experiment: str, output: Path, rows: Path | None = None) -> None:
    """Write the tokens of an experiment's data set and, if it has any, the `rows` that they were made from."""
    choice = config.experiments[experiment].data
    data_set, cache = DATASETS.load(choice.name), Path(config.data.cache)
    options = DATASETS.options(choice.name, choice.options)
    written = [output]
    if hasattr(data_set, "read"):
        structures = data_set.read(options, config.seed, cache)
        if rows is not None:
            write_table(rows, structures)
            written.append(rows)
        data = data_set.tokens_of(choice.name, structures, options)
    else:
        data = data_set.prepare(options, config.seed, cache)
    data.save(output)
    inputs = [cache / name for name in files_needed(data_set, options)]
    inputs += inputs_needed(data_set, options)
    write_provenance(written, {"data": choice.model_dump()}, config.seed, inputs)
