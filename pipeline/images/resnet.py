"""Residual networks for small images (K. He et al., 2016, section 4.2), with the names of the published weights.

Letters in shapes: B images of H rows and W columns.
"""

from torch import Tensor, nn
from torch.nn import functional

from pipeline.images.sources.cifar10 import CLASSES

CHANNELS = (16, 32, 64)


class Block(nn.Module):
    """Two convolutions and a shortcut without weights, which skips pixels and pads channels with zeros."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.stride, self.added = stride, (after - before) // 2

    def forward(self, features: Tensor) -> Tensor:
        """Return the features after the block, with sides divided by its stride."""
        changed = self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(features)))))
        shortcut = features[:, :, :: self.stride, :: self.stride]
        zeros = (0, 0, 0, 0, self.added, self.added)  # before and after columns, rows, channels
        return functional.relu(changed + functional.pad(shortcut, zeros))


class CifarResNet(nn.Module):
    """A network of 6 n + 2 layers: n blocks at each of three sizes, then a linear classifier."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        blocks = (depth - 2) // 6
        self.conv1 = nn.Conv2d(3, CHANNELS[0], 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(CHANNELS[0])
        self.layer1 = _blocks(CHANNELS[0], CHANNELS[0], 1, blocks)
        self.layer2 = _blocks(CHANNELS[0], CHANNELS[1], 2, blocks)
        self.layer3 = _blocks(CHANNELS[1], CHANNELS[2], 2, blocks)
        self.linear = nn.Linear(CHANNELS[2], len(CLASSES))

    def forward(self, images: Tensor) -> Tensor:
        """Return the features of normalised images [B, 3, H, W] after pooling, [B, 64]."""
        features = functional.relu(self.bn1(self.conv1(images)))
        features = self.layer3(self.layer2(self.layer1(features)))
        return features.mean(dim=(2, 3))


def _blocks(before: int, after: int, stride: int, count: int) -> nn.Sequential:
    return nn.Sequential(Block(before, after, stride), *(Block(after, after, 1) for _ in range(count - 1)))
