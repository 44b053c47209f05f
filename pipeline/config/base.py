"""The building blocks of the configuration: names, folders, strict models, and the resources of a job."""

import os
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from pipeline.config.problems import Problem, refuse

REFERENCES = {
    "images": "held-out images",
    "data": "held-out data",
    "independent": "independent columns",
    "shuffled": "independent columns, shuffled atoms",
}

PREDICTED = {"data": "tokenised test structures", "random": "random structures"}  # without a network

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]


def _not_a_reference(name: str) -> str:
    if name in REFERENCES or name in PREDICTED:
        raise ValueError("the name is taken by a reference row of the tables; choose another")
    return name


RunName = Annotated[Name, AfterValidator(_not_a_reference)]


def check_folders(folders: Mapping[tuple[str, ...], str]) -> None:
    """Raise an error that lists the keys of all folders that cannot be used, and why."""
    refuse([Problem(key, folder, why) for key, folder in folders.items() for why in _reasons_against(folder)])


def _usable(folder: str) -> str:
    check_folders({(): folder})
    return folder


Folder = Annotated[str, AfterValidator(_usable), Field(json_schema_extra={"minLength": 1})]


def _reasons_against(folder: str) -> Iterator[str]:
    if not folder.strip():
        yield "must not be empty; name a folder"
    elif "://" in folder:
        yield "must be a folder, not an address; fetch from it, and keep passwords out of configurations"
    elif control := [letter for letter in folder if unicodedata.category(letter) in ("Cc", "Zl", "Zp")]:
        yield f"must not contain the control character {control[0]!a}; name another folder"
    else:
        if "{" in folder or "}" in folder:
            yield "must not contain braces, which Snakemake takes for a wildcard; name another folder"
        if folder.startswith("-"):
            yield f"must not begin with a hyphen, or commands take it for an option; write ./{folder}"
        if folder.startswith("~"):
            yield "must not begin with ~, which is not expanded; write the folder in full, from / on"
        if file := _in_the_way(Path(folder)):
            yield f"{file} exists and is not a folder; name another folder"


def _in_the_way(folder: Path) -> Path | None:
    """Return the first part of a path that exists and is a file, a device or a link to nothing."""
    parts = [*reversed(folder.parents), folder]
    return next((part for part in parts if os.path.lexists(part) and not os.path.isdir(part)), None)


class Strict(BaseModel):
    """The base of every part of the configuration; nothing is converted, nothing is ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Resources(Strict):
    """What one job asks of the machine; a retry asks for more, see `limits`."""

    gpus: int = Field(0, ge=0, description="GPUs of the job, on each of its nodes; 0 computes on the CPU")
    memory_mb: int = Field(2000, ge=1, description="memory limit in megabytes, on each node")
    minutes: int = Field(60, ge=1, description="time limit")


class TrainingResources(Resources):
    """What a training job asks of the machine, or of several."""

    nodes: int = Field(1, ge=1, description="nodes of the job; more than one needs SLURM")

    @property
    def devices(self) -> int:
        """The number of devices of the job; each has its own process."""
        return self.nodes * max(1, self.gpus)


class Limits(Strict):
    """The most that a retry of a job asks of the machine: the n-th attempt asks for n times what the first does."""

    memory_mb: int = Field(256_000, ge=1, description="memory in megabytes, such as that of the partition's nodes")
    minutes: int = Field(1440, ge=1, description="time limit, such as the longest of the cluster's partition")

    def memory_of(self, resources: Resources, attempt: int) -> int:
        """Return the megabytes that the attempt of a job asks for."""
        return _grown(resources.memory_mb, attempt, self.memory_mb)

    def minutes_of(self, resources: Resources, attempt: int) -> int:
        """Return the minutes that the attempt of a job asks for."""
        return _grown(resources.minutes, attempt, self.minutes)


def _grown(first: int, attempt: int, limit: int) -> int:
    """Return what an attempt asks for: never less than the first."""
    return max(first, min(first * attempt, limit))
