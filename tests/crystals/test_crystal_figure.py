"""The figure of crystals and their energies."""

import io
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.energy_strips import FARTHEST, swarm
from pipeline.crystals.figures.crystals import Options, draw, formula_text
from pipeline.crystals.table import rejected_row, row_of
from pipeline.crystals.tokens import BEGIN, FIRST_ANGLE, encode, vocabulary
from pipeline.errors import KinoflowError
from pipeline.report.exhibit import Exhibit
from pipeline.sampling.samples import SampleSet
from pipeline.tokens.token_data import TokenData

NAN = float("nan")
NAMES = [
    "mask_linear",
    "mask_kinetic_optimal",
    "metric",
    "uniform",
    "autoregressive",
    "data",
    "independent",
    "shuffled",
]


@cache
def salt(cation: int, anion: int = 17, side: float = 4.0) -> Crystal:
    fractions = np.array([[0.0, 0.0, 0.0], [0.5, 0.5, 0.5]])
    return Crystal("", np.full(3, side), np.full(3, 90.0), np.array([cation, anion]), fractions)


NO_CRYSTAL = np.full_like(encode(salt(11)), BEGIN)
tokens_of = cache(encode)


def structure(position: int, **values: Any) -> dict[str, Any]:
    known = {"id": f"s{position}", "structural_valid": True, "attempted": True, "relaxed": True, "converged": True}
    return known | {"relax_reason": "", "hull_reason": "", "energy_above_hull": NAN} | values


def exhibit(
    run: str, crystals: list[Crystal | None], rows: list[dict[str, Any]] | None, relaxed: Any = None
) -> Exhibit:
    tokens = np.stack([NO_CRYSTAL if crystal is None else tokens_of(crystal) for crystal in crystals])
    table = None if rows is None else pd.DataFrame([structure(place, **row) for place, row in enumerate(rows)])
    tables = {"structures": table, "relaxed": relaxed}
    given = {name: known for name, known in tables.items() if known is not None}
    return Exhibit(SampleSet(torch.from_numpy(tokens), {"run": run}), given)


def with_energies(run: str, energies: Any) -> Exhibit:
    rows = [{"energy_above_hull": float(energy)} for energy in energies]
    return exhibit(run, [salt(3 + place % 90) for place in range(len(rows))], rows)


def drawn(exhibits: list[Exhibit], **options: Any) -> Figure:
    tokens = torch.from_numpy(encode(salt(11)))[None]
    return draw(exhibits, TokenData(tokens, tokens, tokens, vocabulary(), {}), Options(**options))


def pictures(figure: Figure) -> list[list[str]]:
    """Return what is written in each picture: its title, its note, then the elements."""
    return [[text.get_text() for text in axes.texts] for axes in figure.axes[:-1]]


def titles(figure: Figure) -> list[str]:
    return [texts[0] for texts in pictures(figure)]


def strip_texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[-1].texts]


def dots(axes: Axes) -> int:
    return sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() == "o")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "formula, text", [("Na4Cl4", "NaCl"), ("Al2O3", "Al₂O₃"), ("C12H24", "CH₂"), ("Si8", "Si"), ("K1Mn12", "KMn₁₂")]
)
def test_formulas_are_in_lowest_terms_with_subscripts(formula: str, text: str) -> None:
    assert formula_text(formula) == text


def test_lowest_energies_come_first_then_valid_crystals_then_any_and_no_others() -> None:
    cations: list[Crystal | None] = [salt(3), None, salt(11), salt(19), salt(37), salt(55)]
    rows = [
        {"structural_valid": False},
        {"structural_valid": True, "attempted": False, "relaxed": False},
        {"structural_valid": True},
        {"energy_above_hull": 0.3},
        {"energy_above_hull": -0.2, "structural_valid": False},
        {"structural_valid": True},
    ]
    figure = drawn([exhibit("run", cations, rows)], per_run=6)
    assert titles(figure) == ["RbCl", "KCl", "NaCl", "CsCl", "LiCl"]


def test_as_many_crystals_are_shown_of_each_run_as_asked_for_and_of_no_reference_but_the_data() -> None:
    figure = drawn(
        [with_energies(name, [0.1, 0.2, 0.3]) for name in ("data", "first", "independent", "second")], per_run=2
    )
    assert len(pictures(figure)) == 3 * 2
    names = [text.get_text() for text in figure.texts[:3]]
    assert names == ["first", "second", "held-out data"]
    assert [text for text in strip_texts(figure) if text in {*names, "independent columns"}] == [
        *names,
        "independent columns",
    ]


def test_a_picture_says_the_energy_or_why_there_is_none() -> None:
    rows = [
        {"energy_above_hull": 0.1234},
        {"energy_above_hull": 0.2, "converged": False, "relax_reason": "step limit"},
        {"converged": False, "relax_reason": "exploded: the volume is more than ten times as large as before"},
        {"hull_reason": "no reference for Pu"},
        {"attempted": False, "relaxed": False, "converged": None},
    ]
    figure = drawn([exhibit("run", [salt(11)] * 5, rows)], per_run=5)
    energy, unfinished, exploded, no_reference, not_relaxed = (texts[1] for texts in pictures(figure))
    assert energy == r"$E_\mathrm{hull}$ = +0.123 eV/atom"
    assert unfinished == r"$E_\mathrm{hull}$ = +0.200 eV/atom ○"
    assert exploded.startswith("exploded: the volume")
    assert exploded.endswith("…")
    assert (no_reference, not_relaxed) == ("no reference for Pu", "not relaxed")


def test_the_relaxed_structure_is_drawn_where_there_is_one_that_can_be_drawn() -> None:
    relaxed = pd.DataFrame(
        [
            row_of(Crystal("s1", np.full(3, 4.0), np.full(3, 90.0), np.array([55, 35]), salt(55).fractions)),
            rejected_row("s2", "failed: worker died"),
            row_of(Crystal("s3", np.full(3, 4.0), np.array([10.0, 20, 90]), np.array([55, 35]), salt(55).fractions)),
        ]
    )
    figure = drawn([exhibit("run", [salt(3), salt(11), salt(19), salt(37)], [{}] * 4, relaxed)])
    assert titles(figure) == ["LiCl", "CsBr", "KCl", "RbCl"]
    assert pictures(figure)[1][2:] == ["Cs", "Br"]


def test_atoms_on_faces_are_drawn_on_the_opposite_faces_too() -> None:
    def discs(*fractions: float) -> int:
        crystal = Crystal("", np.full(3, 9.0), np.full(3, 90.0), np.array([11]), np.array([fractions]))
        figure = drawn([exhibit("run", [crystal], None)])
        paths = figure.axes[0].collections[0].get_paths()
        return sum(len(path.vertices) > 10 for path in paths)

    inside = discs(0.5, 0.5, 0.5)
    assert [discs(0, 0.5, 0.5), discs(0, 0.99, 0.5), discs(0, 0, 0)] == [2 * inside, 4 * inside, 8 * inside]


def test_without_tables_the_samples_are_drawn() -> None:
    figure = drawn([exhibit("run", [salt(11), None, salt(19)], None)])
    assert titles(figure) == ["NaCl", "KCl"]
    assert strip_texts(figure) == ["run", "none relaxed"]


def test_a_run_without_a_crystal_says_why() -> None:
    figure = drawn([exhibit("run", [None, None], None), exhibit("data", [salt(11)], None)])
    assert "2 × tokens that do not fit" in pictures(figure)[0][0]
    assert titles(figure)[1:] == ["NaCl"]


def test_a_sample_whose_cell_cannot_exist_is_not_drawn() -> None:
    broken = exhibit("run", [salt(11)] * 2, None)
    broken.samples.tokens[0, 3:6] = FIRST_ANGLE + torch.tensor([10, 130, 90])
    assert titles(drawn([broken])) == ["NaCl"]
    broken.samples.tokens[1] = broken.samples.tokens[0]
    assert "2 × angles that do not close to a cell" in pictures(drawn([broken]))[0][0]


def test_strips_count_what_has_no_value_and_what_is_beyond_the_axis() -> None:
    energies = [0.0, 0.2, 0.4, NAN, FARTHEST[1] + 1, FARTHEST[1] + 9, FARTHEST[0] - 1]
    figure = drawn([with_energies("run", energies)])
    assert strip_texts(figure) == ["◂ 1", "2 ▸", "run", "7 relaxed, 1 without a value, median +0.300"]
    assert dots(figure.axes[-1]) == 3


def test_a_table_of_other_samples_is_refused() -> None:
    with pytest.raises(KinoflowError, match="run: 1 samples, but a table of 2 structures"):
        drawn([exhibit("run", [salt(11)], [{}] * 2)])


@pytest.mark.parametrize("count", [1, 7, 500])
def test_dots_of_a_column_lie_apart_and_within_the_strip(count: int) -> None:
    places = np.random.default_rng(count).normal(size=count)
    moves = swarm(places, width=0.1, spacing=0.05, half_height=0.25)
    assert np.abs(moves).max() <= 0.25 + 1e-9
    columns = np.floor(places / 0.1)
    for column in np.unique(columns):
        stack = np.sort(moves[columns == column])
        assert len(np.unique(stack)) == len(stack)
        assert abs(stack[0] + stack[-1]) <= np.diff(stack, append=stack[-1]).max() + 1e-9  # around the line


def boxes(figure: Figure) -> list[tuple[str, Bbox]]:
    """Return every text of the figure, with its place in pixels."""
    figure.draw_without_rendering()
    visible = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    shown = [text for text in visible if text.axes is None or text.axes.axison or text in text.axes.texts]
    return [(text.get_text(), text.get_window_extent()) for text in shown]


@pytest.mark.parametrize("names, count", [(NAMES, 4), (NAMES[:1], 4), (NAMES[4:], 10_000)], ids=["few", "one", "many"])
@pytest.mark.parametrize("per_run", [1, 4])
def test_no_two_texts_overlap_and_all_are_on_the_figure(names: list[str], count: int, per_run: int) -> None:
    energies = np.random.default_rng(0).normal(0.3, 3.0, size=(len(names), count))
    many = Crystal("", np.full(3, 9.0), np.full(3, 90.0), np.arange(40, 60), np.random.default_rng(0).random((20, 3)))
    exhibits = [with_energies(name, row) for name, row in zip(names, energies, strict=True)]
    exhibits.append(exhibit("large", [many] * 4, [{}] * 4))
    figure = drawn(exhibits, per_run=per_run)
    placed = boxes(figure)
    assert len(placed) > 4 * len(names)
    for place, (text, box) in enumerate(placed):
        assert figure.bbox.contains(*box.min), text
        assert figure.bbox.contains(*box.max), text
        others = [other for other, area in placed[place + 1 :] if box.overlaps(area)]
        assert not others, f"{text!r} overlaps {others}"


def test_equal_input_gives_equal_bytes() -> None:
    def png() -> bytes:
        stream = io.BytesIO()
        drawn([with_energies("run", [0.1, 0.3]), with_energies("data", [0.0])], dpi=40).savefig(stream, format="png")
        return stream.getvalue()

    assert png() == png()
