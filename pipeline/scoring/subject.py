"""What a metric is given: the samples of a run, the data, the network, what is known of crystals, and the machine."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from pipeline.crystals.evidence import CrystalEvidence
from pipeline.errors import KinoflowError
from pipeline.networks.saved import SavedModel
from pipeline.sampling.samples import SampleSet
from pipeline.store.journal import Journal, Result
from pipeline.store.tensor_journal import TensorJournal
from pipeline.tokens.token_data import TokenData


@dataclass(frozen=True)
class Subject:
    """A run to be scored; a reference has samples but no network.

    A run that is `swept` has the network of another run, which is scored there. Metrics that need files from elsewhere
    find them in `cache`, and a judge that is a run of the experiment its weights in `judge_weights`. Samples of images
    come with their `pictures`, bytes[N, H, W, C], what is known of the images that they are compared with
    (`image_reference`), and the weights of the `classifier` that the workflow has trained for that, if it has. What is
    `finished` of an interrupted scoring is not computed again; what of it is large lies in `finished_tensors`.
    """

    samples: SampleSet
    data: TokenData
    model: SavedModel | None
    seed: int
    crystals: CrystalEvidence | None = None
    swept: bool = False
    cache: Path | None = None
    judge_weights: Path | None = None
    pictures: torch.Tensor | None = None
    image_reference: Path | None = None
    classifier: Path | None = None
    device: torch.device = torch.device("cpu")  # noqa: RUF009 - it is immutable
    finished: Journal | None = None
    finished_tensors: TensorJournal | None = None

    def once(self, key: str, compute: Callable[[], Result]) -> Result:
        """Return a value that was finished before an interruption, or compute it; it must be what JSON can hold."""
        return compute() if self.finished is None else self.finished.once(key, compute)

    @property
    def evidence(self) -> CrystalEvidence:
        """What is known of the crystals; an error if the samples are something else."""
        if self.crystals is None:
            name = self.data.origin.get("name")
            raise KinoflowError(f"data {name!r}: these are no crystals; remove the metrics crystal_* from `scoring`")
        return self.crystals
