"""The configuration of fetching: where downloaded data come from and go to."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from pipeline.config.base import Folder, Strict


def _sha256(digits: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", digits):
        raise ValueError("must be a SHA-256 of 64 lower-case hexadecimal digits")
    return digits


Checksum = Annotated[str, AfterValidator(_sha256), Field(json_schema_extra={"pattern": "^[0-9a-f]{64}$"})]


class Fetching(Strict):
    """Where downloaded data come from and go to."""

    cache: Folder = Field("data/cache", description="directory of verified files")
    order: tuple[Literal["embedded", "package", "address", "mirror"], ...] = Field(
        ("embedded", "package", "address", "mirror"), min_length=1, description="kinds of sources, tried in this order"
    )
    mirror: Folder | None = Field(None, description="directory that holds copies; null: $KINOFLOW_MIRROR")
    checksums: dict[str, Checksum] = Field(
        {}, description="your own SHA-256 by file, such as mp20/train.csv, for files checked by their Git object only"
    )
