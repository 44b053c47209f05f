"""Linear layers give the same products by either library, with the same gradients."""

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from pipeline.networks import linear as module
from pipeline.networks.linear import Linear, linear, onednn_is_faster

pytestmark = pytest.mark.skipif(not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="torch without oneDNN")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have every product go by oneDNN that suits it, and count them."""
    counted: list[int] = []
    times = module._times

    def counting(features: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        counted.append(1)
        return times(features, weight, bias)

    monkeypatch.setattr(module, "onednn_is_faster", lambda: True)
    monkeypatch.setattr(module, "_times", counting)
    return counted


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(400, 96), (4, 100, 96), (1, 400, 96)])
def test_both_libraries_give_the_same_values_and_gradients(
    shape: tuple[int, ...], bias: bool, calls: list[int]
) -> None:
    torch.manual_seed(0)
    layer, features = Linear(96, 64, bias=bias), torch.randn(shape, requires_grad=True)
    direction = torch.randn(*shape[:-1], 64)
    wanted = (features, *layer.parameters())
    result = layer(features)
    gradients = torch.autograd.grad(result, wanted, direction)
    assert len(calls) == 3
    expected = functional.linear(features, layer.weight, layer.bias)
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-5)
    for found, known in zip(gradients, torch.autograd.grad(expected, wanted, direction), strict=True):
        torch.testing.assert_close(found, known, rtol=0, atol=1e-4)


def test_small_products_and_other_types_go_by_torch(calls: list[int]) -> None:
    assert linear(torch.ones(10, 96), torch.ones(64, 96)).shape == (10, 64)
    assert linear(torch.ones(0, 96), torch.ones(64, 96)).shape == (0, 64)
    assert linear(torch.ones(400, 96).double(), torch.ones(64, 96).double()).shape == (400, 64)
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(torch.ones(400, 96), torch.ones(64, 96)).dtype == torch.bfloat16
    assert not calls


def test_gradients_of_what_needs_none_are_not_computed(calls: list[int]) -> None:
    weight = torch.ones(64, 96, requires_grad=True)
    linear(torch.ones(400, 96), weight).sum().backward()
    assert len(calls) == 2, "the product, and the gradient of the weight"


def test_processors_of_intel_keep_torchs_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    answers = {}
    for maker in ("GenuineIntel", "AuthenticAMD"):
        monkeypatch.setattr(module, "CPU_INFO", tmp_path / maker)
        (tmp_path / maker).write_text(f"vendor_id\t: {maker}\n", encoding="utf-8")
        onednn_is_faster.cache_clear()
        answers[maker] = onednn_is_faster()
    onednn_is_faster.cache_clear()
    assert answers == {"GenuineIntel": False, "AuthenticAMD": True}
