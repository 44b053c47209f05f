"""The benchmark of optimisers relaxes the same crystals by each, and counts what fails."""

from pathlib import Path

import pytest
from ase.calculators.lj import LennardJones

from benchmarks import optimisers
from pipeline.crystals.crystal import Crystal


@pytest.fixture(autouse=True)
def no_generated_crystals(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(optimisers, "GENERATED", tmp_path / "none.parquet")
    monkeypatch.setattr(optimisers, "load_chgnet", lambda: LennardJones(sigma=2.3, epsilon=0.5, rc=6.0, smooth=True))
    monkeypatch.setattr(optimisers, "STEPS", 20)


def test_every_optimiser_is_compared_with_fire_on_the_same_crystals() -> None:
    found = optimisers.answers(crystals=1)
    assert [answer.ways[0] for answer in found] == ["FIRE"] * 5
    assert len({answer.ways[1] for answer in found}) == 5
    assert all("converge (FIRE:" in answer.note for answer in found)


def test_a_crystal_that_fails_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(atoms: object) -> None:
        raise RuntimeError("line search failed")

    start: Crystal = optimisers.disturbed(0)
    row = optimisers.relax_by(break_down, optimisers.load_chgnet(), start)  # type: ignore[arg-type]
    assert row["failure"] == "RuntimeError: line search failed"
    assert not row["converged"]
    note = optimisers.comparison("broken", [row | {"failure": ""}], [row]).note
    assert "0 converge (FIRE: 0), 1 fail" in note


def test_crystals_that_end_apart_are_looked_at_for_their_structure() -> None:
    row = optimisers.relax_by(optimisers.optimisers()["FIRE"], optimisers.load_chgnet(), optimisers.disturbed(0))
    row |= {"converged": True, "energy": -1.0, "end": optimisers.reduced(optimisers.disturbed(0))}
    others = [row, row | {"energy": -1.1}, row | {"energy": -1.1, "end": optimisers.reduced(optimisers.disturbed(1))}]
    note = optimisers.comparison("another", [row] * 3, others).note
    assert "3 both ways: 1 within 5 meV/atom, 2 lower, 0 higher, 1 of these in another structure" in note
