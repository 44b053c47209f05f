"""Checkpoints of energy models, read without running a pickle, whatever their libraries ask for."""

import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from pipeline.errors import KinoflowError

FORCE = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"  # overrides `torch.load(..., weights_only=False)`
ARRAYS = [np.ndarray, np.dtype, np.dtypes.Float32DType, np.dtypes.Float64DType, np.dtypes.Int64DType]


@contextmanager
def only_weights() -> Iterator[None]:
    """Let torch read nothing but tensors, plain values and arrays of numbers in the block; others are an error."""
    before = os.environ.get(FORCE)
    os.environ[FORCE] = "1"
    rebuild: Any = np.empty(0).__reduce__()[0]
    old_name = (rebuild, "numpy.core.multiarray._reconstruct")  # as checkpoints from before numpy 2 spell it
    try:
        with torch.serialization.safe_globals([rebuild, old_name, *ARRAYS]):
            yield
    except pickle.UnpicklingError as error:
        reason = "a checkpoint of the energy model is damaged, or holds more than tensors, plain values and arrays"
        raise KinoflowError(f"{reason}. Do not trust this file; remove it and fetch it again") from error
    finally:
        if before is None:
            del os.environ[FORCE]
        else:
            os.environ[FORCE] = before
