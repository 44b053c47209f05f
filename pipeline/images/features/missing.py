"""The error for features that are not available; it lists the alternatives."""

from pipeline.errors import KinoflowError

_WAYS = """or set scoring.frechet_distance.features to one of
  {name: inception, path: /path/to/file.pt}   the usual network, as a TorchScript file on this machine
  {name: cifar_resnet}                        a classifier of CIFAR-10 (3 MB)
  {name: efficientnet_lite0}                  a classifier of ImageNet that comes from a package registry (19 MB)
  {name: classifier}                          a small one that is trained on the experiment's own images"""


class FeatureError(KinoflowError):
    """Features that are not available: which ones, why, and what to choose instead."""

    def __init__(self, features: str, reason: str) -> None:
        super().__init__(f"scoring.frechet_distance.features = {features}: {reason}; {_WAYS}")
