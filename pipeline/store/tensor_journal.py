"""A journal of finished tensors, which are too large for the lines of :mod:`pipeline.store.journal`.

Each name has one safetensors file, with the tensors' checksum and the fingerprint of what they are made from. A file
counts once it has its final name, so a process may be killed at any moment. A file that a machine crash has damaged is
ignored.
"""

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.store.arrays import read_description
from pipeline.store.provenance import note_resumption
from pipeline.store.tensors import read_tensors, write_tensors

KIND = "finished work"
_PREFIX = "kept-"  # only files with this prefix are ever removed: there may be others in the folder


class TensorJournal:
    """Finished tensors by name, in a folder that may hold other journals; names must be valid in file names."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        """Delete tensors with another fingerprint, and files that a killed process left half-written."""
        self._folder, self._fingerprint = folder, fingerprint
        for torn in folder.glob(f".{_PREFIX}*.tmp"):
            torn.unlink()
        for path in self._paths():
            if self._is_ours(path):
                note_resumption(str(path))
            else:
                path.unlink()

    def keep(self, name: str, tensors: dict[str, Tensor]) -> None:
        """Keep tensors, replacing those of the same name; they are on the disk when this returns."""
        description = {"fingerprint": self._fingerprint, "sha256": _checksum(tensors)}
        write_tensors(self._path(name), KIND, tensors, description)

    def kept(self, name: str) -> dict[str, Tensor] | None:
        """Return the tensors kept under a name, bit for bit; None if there are none, or they are damaged."""
        path = self._path(name)
        if not path.is_file():
            return None
        try:
            tensors, description = read_tensors(path, KIND)
            if description.get("sha256") != _checksum(tensors):
                raise KinoflowError(f"{path}: is damaged")
        except KinoflowError as error:
            print(f"passed over: {error}", file=sys.stderr, flush=True)
            return None
        return {key: tensor.clone() for key, tensor in tensors.items()}  # mapped, and the file may be replaced

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
    """Return the SHA-256 of tensors with their names, types and shapes; safetensors has no checksum."""
    content = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        content.update(f"{name} {tensor.dtype} {list(tensor.shape)} ".encode())
        content.update(tensor.flatten().numpy().data)
    return content.hexdigest()
