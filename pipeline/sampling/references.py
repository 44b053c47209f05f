"""Reference samples: what a perfect model and what one that knows nothing of dependence would give."""

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from pipeline.config import Config
from pipeline.data.tokens import TokenData
from pipeline.flow.errors import KinoflowError
from pipeline.provenance import write_provenance
from pipeline.sampling.samples import SampleSet
from pipeline.seeds import derive_seed


def held_out(data: TokenData, count: int, generator: torch.Generator) -> Tensor:
    """Return `count` sequences of the test split: the ceiling, which means something for as many samples only."""
    if len(data.test) < count:
        have = f"data.test: {len(data.test)} test sequences, but {count} samples are compared with them"
        raise KinoflowError(f"{have}; raise it, or lower sampling.count")
    return data.test[:count]


def independent_columns(data: TokenData, count: int, generator: torch.Generator) -> Tensor:
    """Return sequences whose positions are drawn from the training split one by one: the dependence is gone."""
    rows = torch.stack(
        [torch.randint(len(data.train), (count,), generator=generator) for _ in range(data.length)], dim=1
    )
    return data.train.gather(0, rows)


DRAW: dict[str, Callable[[TokenData, int, torch.Generator], Tensor]] = {
    "data": held_out,
    "independent": independent_columns,
}


def draw_reference(config: Config, experiment: str, reference: str, *, tokens: Path, output: Path) -> None:
    """Write a reference set of as many samples as the experiment draws."""
    data, count = TokenData.load(tokens), config.experiments[experiment].sampling.count
    generator = torch.Generator().manual_seed(derive_seed(config.seed, experiment, "reference", reference))
    drawn = DRAW[reference](data, count, generator).long()
    SampleSet(drawn, {"run": reference, "n": len(drawn), "seed": config.seed}).save(output)
    write_provenance([output], {"reference": reference, "count": count}, config.seed, [tokens])
