"""No step of a sampler waits for the device: nothing is read back, and no size depends on values.

There may be no GPU here, so the loops run on a CPU as they would elsewhere, and what would wait is counted.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from waits import Waits

from pipeline.flow import device
from pipeline.flow.allowed import Allowed
from pipeline.flow.clamp import Clamp
from pipeline.flow.closed_forms import metric
from pipeline.flow.correctors import Corrector
from pipeline.flow.errors import FlowError
from pipeline.flow.paths import Path, build_path, example_path
from pipeline.flow.sampler import sample
from pipeline.flow.vocabulary import Vocabulary

CRYSTAL = Vocabulary([0, 0, 0, 0, 1, 1, 1, 2, -1])  # two kinds of data, a pad, a mask
KINDS = torch.tensor([0, 1, 0, 1, 2]).expand(6, -1)


WAITS = Waits()


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "is_host", lambda tensor: False)
    for name in ("tolist", "cpu", "numpy"):  # no operation of torch's on a CPU
        monkeypatch.setattr(Tensor, name, counted(getattr(Tensor, name)))


def counted(method: Callable[..., Any]) -> Callable[..., Any]:
    def count(*arguments: Any) -> Any:
        WAITS.counts[method.__name__] += 1
        return method(*arguments)

    return count


def waits_per_step(path: Path, model: Callable[..., Tensor] | None = None, **options: Any) -> float:
    """Return how often the host waits between two evaluations of the network, on average."""
    size, seen = path.vocabulary.size, []

    def asked(x: Tensor, t: Tensor) -> Tensor:
        seen.append(WAITS.counts.total())
        return model(x, t) if model else torch.zeros(*x.shape, size)

    if path.vocabulary.kinds > 1:
        options["kinds"] = KINDS
    else:
        options["shape"] = (6, 5)
    sample(asked, path, steps=2, generator=torch.Generator().manual_seed(0), **options)  # fills the path's tables
    seen.clear()
    with WAITS:
        sample(asked, path, steps=8, generator=torch.Generator().manual_seed(0), **options)
    assert len(seen) > 3
    return (seen[-1] - seen[0]) / (len(seen) - 1)


def test_the_count_notices_what_waits() -> None:
    def careless(x: Tensor, t: Tensor) -> Tensor:
        x[x == 3], x[x.nonzero().unbind(-1)], x.unique(), float(t[0]), bool(t[0] > 0), t.tolist(), t.cpu()
        return torch.zeros(*x.shape, 9)

    assert waits_per_step(example_path("mask", CRYSTAL), careless, way="steps") == 7


@pytest.mark.parametrize("vocabulary", [Vocabulary.single(5), Vocabulary.single(4, specials=1), CRYSTAL])
@pytest.mark.parametrize("velocity", ["kinetic_optimal", "campbell", "power_infinity", "power"])
def test_steps_on_metric_paths_never_wait(velocity: str, vocabulary: Vocabulary) -> None:
    assert waits_per_step(build_path("metric", vocabulary), velocity=velocity) == 0


@pytest.mark.parametrize("way", ["steps", "events"])
@pytest.mark.parametrize("name", ["mask", "uniform", "statistics"])
@pytest.mark.parametrize("vocabulary", [Vocabulary.single(4, specials=1), CRYSTAL])
def test_steps_and_events_on_mixture_paths_never_wait(name: str, way: str, vocabulary: Vocabulary) -> None:
    assert waits_per_step(example_path(name, vocabulary), way=way) == 0


@pytest.mark.parametrize("name", ["mask", "uniform", "metric", "kindwise", "geodesic"])
@pytest.mark.parametrize("corrector", [None, Corrector(0.5)])
def test_steps_with_a_corrector_never_wait(name: str, corrector: Corrector | None) -> None:
    assert waits_per_step(example_path(name, CRYSTAL), corrector=corrector, way="steps") == 0


@pytest.mark.parametrize("name", ["mask", "uniform", "metric", "kindwise"])
@pytest.mark.parametrize("noised", [False, True])
def test_given_tokens_never_wait(name: str, noised: bool) -> None:
    fixed = torch.tensor([True, True, False, False, True])
    clamp = Clamp(torch.tensor([1, 5, 0, 4, 7]).expand(6, -1), fixed.expand(6, -1), noised)
    assert waits_per_step(example_path(name, CRYSTAL), clamp=clamp, way="steps") == 0


@pytest.mark.parametrize("way", ["steps", "events"])
@pytest.mark.parametrize("name", ["mask", "uniform"])
def test_restricted_tokens_never_wait(name: str, way: str) -> None:
    sets = torch.arange(9) % 2 == torch.tensor([[0], [1]])
    allowed = Allowed(sets, torch.tensor([0, 1, 1, 0, 1]).expand(6, -1))
    assert waits_per_step(example_path(name, CRYSTAL), allowed=allowed, way=way) == 0


def test_a_step_among_very_many_tokens_waits_once_for_the_number_that_may_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metric, "LARGEST_TABLE", 4)
    assert waits_per_step(build_path("metric", Vocabulary.single(5), a=0.9, c=3.0)) == 1


@pytest.mark.parametrize("name", ["mask", "metric"])
@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_bad_logits_are_noticed_all_the_same(name: str, value: float) -> None:
    path = example_path(name, CRYSTAL)
    with pytest.raises(FlowError, match="logits"):
        waits_per_step(path, lambda x, t: torch.full((*x.shape, 9), value if bool(t[0] > 0.3) else 0.0), way="steps")
