"""EfficientNet-Lite0 (M. Tan and Q. Le, 2019): an ImageNet classifier with 4.7 million weights and no gates.

The names are those of the published weights. Letters in shapes: B images of H rows and W columns.
"""

from torch import Tensor, nn
from torch.nn import functional

SIDE = 224  # pixels per side of the images that it was trained on
FEATURES = 1280
CLASSES = 1000
_STEM = 32
_EPSILON = 1e-3  # of the norms; PyTorch's own is smaller

# Factor by which a block widens, channels, kernel size, stride of the first block, number of blocks.
_STAGES = (
    (1, 16, 3, 1, 1),
    (6, 24, 3, 2, 2),
    (6, 40, 5, 2, 2),
    (6, 80, 3, 2, 3),
    (6, 112, 5, 1, 3),
    (6, 192, 5, 2, 4),
    (6, 320, 3, 1, 1),
)


class SameConvolution(nn.Conv2d):
    """A convolution that gives ceil(side / stride) pixels per side; an odd pad goes to the right and the bottom.

    The weights were trained with this padding; a symmetric one would shift features by one pixel at each stride.
    """

    def __init__(self, before: int, after: int, size: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__(before, after, size, stride, groups=groups, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        height, width = (_pads(side, self.kernel_size[0], self.stride[0]) for side in features.shape[-2:])
        return super().forward(functional.pad(features, (*width, *height)))


def _pads(side: int, size: int, stride: int) -> tuple[int, int]:
    """Return how many zeros go before and after the pixels of a side."""
    pads = max(0, (-(-side // stride) - 1) * stride + size - side)
    return pads // 2, pads - pads // 2


class Block(nn.Module):
    """Widens each pixel, convolves channel by channel and narrows again, with a shortcut if the shape is the same."""

    def __init__(self, widening: int, before: int, after: int, size: int, stride: int) -> None:
        super().__init__()
        wide = widening * before
        self.widens, self.has_shortcut = widening > 1, stride == 1 and before == after
        if self.widens:
            self._expand_conv = SameConvolution(before, wide, 1)
            self._bn0 = nn.BatchNorm2d(wide, eps=_EPSILON)
        self._depthwise_conv = SameConvolution(wide, wide, size, stride, groups=wide)
        self._bn1 = nn.BatchNorm2d(wide, eps=_EPSILON)
        self._project_conv = SameConvolution(wide, after, 1)
        self._bn2 = nn.BatchNorm2d(after, eps=_EPSILON)

    def forward(self, features: Tensor) -> Tensor:
        wide = functional.relu6(self._bn0(self._expand_conv(features))) if self.widens else features
        wide = functional.relu6(self._bn1(self._depthwise_conv(wide)))
        narrow: Tensor = self._bn2(self._project_conv(wide))
        return narrow + features if self.has_shortcut else narrow


class EfficientNetLite0(nn.Module):
    """Sixteen blocks between two convolutions, then a linear classifier."""

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem = SameConvolution(3, _STEM, 3, 2)
        self._bn0 = nn.BatchNorm2d(_STEM, eps=_EPSILON)
        blocks, before = [], _STEM
        for widening, after, size, stride, count in _STAGES:
            for number in range(count):
                blocks.append(Block(widening, before, after, size, 1 if number else stride))
                before = after
        self._blocks = nn.Sequential(*blocks)
        self._conv_head = SameConvolution(before, FEATURES, 1)
        self._bn1 = nn.BatchNorm2d(FEATURES, eps=_EPSILON)
        self._fc = nn.Linear(FEATURES, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """Return the features of normalised images [B, 3, H, W] after pooling, [B, 1280]."""
        features = self._blocks(functional.relu6(self._bn0(self._conv_stem(images))))
        return functional.relu6(self._bn1(self._conv_head(features))).mean(dim=(2, 3))
