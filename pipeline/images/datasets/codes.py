"""Images as codes of a VQVAE that is first trained on them (`tokenizer` of the experiment)."""

from pydantic import Field

from pipeline.flow.vocabulary import Vocabulary
from pipeline.images.dataset import ImageOptions, files, inputs, modules

__all__ = ["CODES", "IMAGES", "Options", "files", "inputs", "modules", "vocabulary"]

IMAGES = True  # its images are prepared first ...
CODES = True  # ... and a tokenizer makes the tokens


class Options(ImageOptions):
    """Which images, and how many codes."""

    codes: int = Field(16384, ge=2, description="codes of the codebook")


def vocabulary(options: Options) -> Vocabulary:
    """Return one token per code, and a mask; only after training is it known which codes are never used."""
    return Vocabulary.single(options.codes, specials=1)
