"""A journal of tensors: what is finished of some work, and too large for the lines of :mod:`pipeline.store.journal`.

A safetensors file a name, with the fingerprint of what its tensors are made from and their checksum. A file counts once
it has its name, so that a process may be killed at any moment; one that a crash of the machine has damaged is as none.
"""

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.store.arrays import read_description
from pipeline.store.process_record import note_resumption
from pipeline.store.tensors import read_tensors, write_tensors

KIND = "finished work"
_PREFIX = "kept-"  # only files of this name are ever removed: there may be others in the folder


class TensorJournal:
    """Finished tensors by a name that can be that of a file, in a folder that may have other journals in it."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        """Throw away what is there of another fingerprint, and what a kill has left half-written."""
        self._folder, self._fingerprint = folder, fingerprint
        for torn in folder.glob(f".{_PREFIX}*.tmp"):
            torn.unlink()
        for path in self._paths():
            if self._is_ours(path):
                note_resumption(str(path))
            else:
                path.unlink()

    def keep(self, name: str, tensors: dict[str, Tensor]) -> None:
        """Keep tensors, in the place of those of the same name; when this returns they are on the disk."""
        description = {"fingerprint": self._fingerprint, "sha256": _checksum(tensors)}
        write_tensors(self._path(name), KIND, tensors, description)

    def kept(self, name: str) -> dict[str, Tensor] | None:
        """Return the tensors that were kept under a name, to the last bit; None if there are none, or no longer."""
        path = self._path(name)
        if not path.is_file():
            return None
        try:
            tensors, description = read_tensors(path, KIND)
        except KinoflowError as error:
            print(f"passed over: {error}", file=sys.stderr, flush=True)
            return None
        if description.get("sha256") != _checksum(tensors):
            print(f"passed over: {path}: is damaged", file=sys.stderr, flush=True)
            return None
        return {key: tensor.clone() for key, tensor in tensors.items()}  # they are mapped, and the file may be replaced

    def once(self, name: str, compute: Callable[[], Tensor]) -> Tensor:
        """Return the tensor that was kept under a name, or compute and keep it."""
        found = self.kept(name)
        if found is None:
            found = {"tensor": compute()}
            self.keep(name, found)
        return found["tensor"]

    def remove(self) -> None:
        """Delete the journal, and its folder if there is nothing else in it."""
        for path in self._paths():
            path.unlink()
        if self._folder.is_dir() and not any(self._folder.iterdir()):
            self._folder.rmdir()

    def _path(self, name: str) -> Path:
        return self._folder / f"{_PREFIX}{name}.safetensors"

    def _paths(self) -> list[Path]:
        return list(self._folder.glob(f"{_PREFIX}*.safetensors"))

    def _is_ours(self, path: Path) -> bool:
        try:
            return read_description(path, KIND).get("fingerprint") == self._fingerprint
        except KinoflowError:
            return False


def _checksum(tensors: dict[str, Tensor]) -> str:
    """Return the SHA-256 of tensors with their names, types and shapes; safetensors has none."""
    content = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        content.update(f"{name} {tensor.dtype} {list(tensor.shape)} ".encode())
        content.update(tensor.flatten().numpy().data)
    return content.hexdigest()
