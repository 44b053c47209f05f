"""A folder of weights: a network, the meaning of its tokens, its configuration, and an index with checksums."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pipeline.config import Strict
from pipeline.errors import KinoflowError
from pipeline.store.atomic import read_json
from pipeline.store.provenance import file_hash
from pipeline.tokens.token_data import TokenData

FORMAT = 1  # of the folder; another one cannot be read
INDEX, CARD = "weights.json", "README.md"
NETWORK, TOKENS, CONFIG, TOKENIZER = "network.safetensors", "tokens.safetensors", "config.yaml", "tokenizer.safetensors"
NEEDED = (NETWORK, TOKENS, CONFIG)


class Index(Strict):
    """What a folder of weights holds."""

    format: int
    experiment: str
    run: str
    vocabulary: str
    files: dict[str, str]  # the SHA-256 of each
    record: dict[str, Any]  # for the model card


@dataclass(frozen=True)
class Weights:
    """A folder of weights whose files are all there, and as they were written."""

    folder: Path
    index: Index

    @classmethod
    def open(cls, folder: Path) -> "Weights":
        """Check the version, the checksums and the vocabulary of a folder."""
        listed = folder / INDEX
        if not listed.is_file():
            raise KinoflowError(f"{folder}: holds no {INDEX}; give a folder from `export-weights`")
        read = read_json(listed)
        version = read.get("format") if isinstance(read, dict) else None
        if version != FORMAT:
            known = f"this version of Kinoflow reads format {FORMAT}"
            raise KinoflowError(f"{listed}: weights of format {version}; {known}: update it, or export them again")
        try:
            index = Index.model_validate(read)
        except ValidationError as error:
            raise KinoflowError(f"{listed}: is damaged ({error}); get the folder again") from error
        if unknown := sorted(index.files.keys() - {*NEEDED, TOKENIZER}):
            raise KinoflowError(
                f"{listed}: names {unknown[0]!r}, which is no file of weights; do not trust this folder"
            )
        if missing := sorted(set(NEEDED) - index.files.keys()):
            raise KinoflowError(f"{listed}: has no checksum of {missing[0]}; do not trust this folder")
        for name, expected in index.files.items():
            file = folder / name
            if not file.is_file():
                raise KinoflowError(f"{file}: is missing; get the folder again")
            if (found := file_hash(file)) != expected:
                raise KinoflowError(f"{file}: is damaged (SHA-256 {found}, not {expected}); get the folder again")
        data = TokenData.load(folder / TOKENS)
        if data.vocabulary_hash != index.vocabulary:
            raise KinoflowError(f"{folder / TOKENS}: another vocabulary than that of {listed}; get the folder again")
        try:
            data.check()  # whoever made the folder made its checksums, too
        except KinoflowError as error:
            raise KinoflowError(f"{folder / TOKENS}: is damaged ({error}); get the folder again") from error
        return cls(folder, index)

    def file(self, name: str) -> Path:
        """Return the path of one of its files."""
        return self.folder / name

    @property
    def tokenizer(self) -> Path | None:
        """The tokenizer of its codes, if its tokens are codes."""
        return self.file(TOKENIZER) if TOKENIZER in self.index.files else None
