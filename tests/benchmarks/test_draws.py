"""The benchmark of draws runs, and its slow ways draw the same tokens."""

from benchmarks import draws


def test_draws_are_compared_and_both_ways_draw_the_same_tokens() -> None:
    answers = draws.answers(sizes={8: 30, 16: 20}, codes=32)
    assert [answer.case for answer in answers][:2] == ["x1, K = 8", "x1, K = 16"]
    assert all("100.00% of the tokens are the same" in answer.note for answer in answers)
    assert "grow with K to the power" in answers[1].note
