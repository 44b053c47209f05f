"""The whole step and the bare step of the demo's networks are measured in turns."""

from benchmarks.training_step import answers


def test_each_run_of_an_experiment_is_measured() -> None:
    found = answers(steps=4, experiments=("checkerboard",))
    assert {answer.case for answer in found} >= {"checkerboard, mask_linear", "checkerboard, metric"}
    assert all(0 < answer.least <= answer.ratio <= answer.largest for answer in found)
