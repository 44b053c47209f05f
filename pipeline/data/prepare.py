"""The stage that prepares a data set: from its options to tokens.

A data set is a file in this folder with `Options`, `vocabulary(options) -> Vocabulary`,
`prepare(options, seed, cache) -> TokenData` and, if it needs files from elsewhere, `FILES`: their names in the catalogue.
They are fetched before, and lie in `cache`.
"""

from pathlib import Path

from pipeline.config import Config
from pipeline.plugins import DATASETS
from pipeline.provenance import write_provenance


def prepare_data(config: Config, experiment: str, output: Path) -> None:
    """Write the tokens of an experiment's data set."""
    choice = config.experiments[experiment].data
    data_set, cache = DATASETS.load(choice.name), Path(config.data.cache)
    data = data_set.prepare(DATASETS.options(choice.name, choice.options), config.seed, cache)
    data.save(output)
    inputs = [cache / name for name in getattr(data_set, "FILES", ())]
    write_provenance([output], {"data": choice.model_dump()}, config.seed, inputs)
