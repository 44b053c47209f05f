"""Counts what would make the host wait for a device: there may be no GPU where tests run."""

from collections import Counter
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

READS = {"_local_scalar_dense", "is_nonzero", "equal", "nonzero", "masked_select", "bincount", "repeat_interleave"}
INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_"}


class Waits(TorchDispatchMode):
    """Counts operations by name: reads of values, sizes that depend on values, and copies between devices."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        masked = name in INDEXING and any(index is not None and index.dtype == torch.bool for index in args[1])
        result = func(*args, **(kwargs or {}))
        copied = name in ("_to_copy", "copy_") and isinstance(args[0], Tensor) and result.device != args[0].device
        if name in READS or "unique" in name or masked or copied:
            self.counts[name] += 1
        return result
