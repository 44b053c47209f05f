"""The corrector that the configuration chooses."""

from pipeline.config import Corrector as Chosen
from pipeline.flow.correctors import Corrector


def corrector_of(chosen: Chosen | None) -> Corrector | None:
    """Return the corrector; None if none is chosen."""
    return None if chosen is None else Corrector(**chosen.model_dump(exclude={"kind"}), kind=chosen.kind.name)
