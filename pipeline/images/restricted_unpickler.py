"""Read pickles of arrays without running code: only arrays, numbers, strings and plain containers are allowed."""

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.errors import KinoflowError

_BUILDERS = {"_reconstruct", "_frombuffer", "scalar"}
_MODULES = {f"numpy.{core}.{part}" for core in ("core", "_core") for part in ("multiarray", "numeric")}  # by version


class PickleError(KinoflowError):
    """A file that is not a pickle, or holds more than arrays."""


class ArrayUnpickler(pickle.Unpickler):
    """Reads arrays of numbers and containers of them; anything else in a pickle raises and is not run."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what builds an array; a pickle can call nothing else."""
        if (module, name) == ("numpy", "ndarray"):
            return np.ndarray
        if (module, name) == ("numpy", "dtype"):
            return _number_type
        if module in _MODULES and name in _BUILDERS:
            return super().find_class(module.replace("numpy.core", "numpy._core"), name)
        raise PickleError(f"asks for {module}.{name}, which is no array")

    def persistent_load(self, pid: Any) -> Any:
        """Raise: arrays refer to nothing outside the file."""
        raise PickleError(f"refers to {pid!r} outside of the file")


def read_arrays(path: Path) -> Any:
    """Return the containers of arrays in a pickle; nothing else in it is read or run."""
    try:
        return ArrayUnpickler(io.BytesIO(path.read_bytes())).load()
    except PickleError as error:
        raise PickleError(f"{path}: {error}; the file is not to be trusted: remove it and fetch it again") from None
    except OSError as error:
        raise PickleError(f"{path}: cannot be read ({error}); fetch it again") from error
    except Exception as error:  # a damaged pickle may raise anything
        raise PickleError(f"{path}: no pickle of arrays ({error!r}); remove it and fetch it again") from error


def _number_type(code: Any, *rest: Any) -> "np.dtype[Any]":
    """Return the type of an array's numbers; other types, above all objects, are refused."""
    found = np.dtype(code, *rest)
    if found.kind not in "biufc":
        raise PickleError(f"has an array of {code!r}, which are no numbers")
    return found
