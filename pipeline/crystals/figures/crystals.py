"""Pictures of crystals of each run, and how far above the convex hull its relaxed crystals are.

On the left is one row per run, and the data for comparison: first the crystals with the lowest energy above the hull,
then others that are structurally valid, then any. A crystal is shown relaxed if possible, otherwise as generated.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from pipeline.config import REFERENCES, Strict
from pipeline.crystals.crystal import Crystal, Integers
from pipeline.crystals.crystal_picture import draw_crystal
from pipeline.crystals.energy_strips import FARTHEST, Strip, colour_of, draw_strips, signed
from pipeline.crystals.tokens import decode
from pipeline.errors import KinoflowError
from pipeline.report.exhibit import Exhibit
from pipeline.tokens.token_data import TokenData

if TYPE_CHECKING:  # every command reads the options of figures, but few draw one
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# All in inches.
PICTURE, COLUMN, ROW = 1.45, 1.75, 2.1  # side of a picture, and its width and height with texts
HEADING, NAME, MARGIN = 0.62, 0.4, 0.15
LEAST_WIDTH = 3.4  # of the pictures, so that the text above them fits
STRIPS_WIDTH, STRIP_HEIGHT, BELOW_STRIPS = 5.2, 0.85, 0.8
REASON = 34  # characters of a reason that fit above a picture
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


class Options(Strict):
    """The size of the figure, and how many crystals it shows."""

    dpi: int = Field(150, ge=1, description="dots per inch")
    per_run: int = Field(4, ge=1, description="crystals shown of each run")


class Shown(NamedTuple):
    """A crystal that can be drawn, and what is written above it."""

    crystal: Crystal
    formula: str
    note: str


def draw(exhibits: Sequence[Exhibit], data: TokenData, options: Options) -> Figure:
    """Return the figure."""
    from matplotlib.figure import Figure

    exhibits = sorted(exhibits, key=lambda exhibit: exhibit.run in REFERENCES)  # references last
    rows = [exhibit for exhibit in exhibits if exhibit.run not in REFERENCES or exhibit.run == "data"]
    pictures = max(NAME + options.per_run * COLUMN, LEAST_WIDTH)
    width = pictures + STRIPS_WIDTH + 3 * MARGIN
    height = HEADING + max(len(rows) * ROW, len(exhibits) * STRIP_HEIGHT + BELOW_STRIPS) + MARGIN
    figure = Figure(figsize=(width, height), dpi=options.dpi)

    def place(left: float, top: float, wide: float, high: float) -> Axes:
        """Return axes at a distance in inches from the left and the top of the figure."""
        return figure.add_axes((left / width, 1 - (top + high) / height, wide / width, high / height))

    for row, exhibit in enumerate(rows):
        top = HEADING + row * ROW
        name = REFERENCES.get(exhibit.run, exhibit.run)
        size = min(10.0, 72 * ROW / (0.7 * len(name)))
        middle = 1 - (top + ROW / 2) / height
        style: dict[str, Any] = {"size": size, "weight": "bold", "color": colour_of(exhibit.run in REFERENCES)}
        figure.text(0.6 * NAME / width, middle, name, ha="center", va="center", rotation=90, **style)
        found, reasons = _crystals_of(exhibit, options.per_run)
        for column in range(max(1, len(found))):
            left = NAME + column * COLUMN + (COLUMN - PICTURE) / 2
            axes = place(left, top + 0.36, PICTURE, PICTURE)
            if found:
                _draw_picture(axes, found[column])
            else:
                _say_why(axes, reasons, pictures - NAME)
    strips = [_strip_of(exhibit) for exhibit in exhibits]
    left, high = pictures + 2 * MARGIN, height - HEADING - BELOW_STRIPS
    draw_strips(place(left, HEADING, STRIPS_WIDTH, high), strips, STRIPS_WIDTH, high)
    outside = f"◂ n or n ▸: so many are below −{-FARTHEST[0]:g} or above {FARTHEST[1]:g} eV/atom"
    for at, title, explanation in (
        (NAME, "Crystals, lowest energy first", "relaxed where possible; each cell fills its frame"),
        (left, "energies above the convex hull", outside),
    ):
        figure.text(at / width, 1 - 0.14 / height, title, size=11, weight="bold", va="top")
        figure.text(at / width, 1 - 0.36 / height, explanation, size=8, va="top", color="0.35")
    return figure


def formula_text(formula: str) -> str:
    """Return a formula such as Na4Cl8 in its lowest terms, with subscripts: NaCl₂."""
    counts = {element: int(count or 1) for element, count in re.findall(r"([A-Z][a-z]?)(\d*)", formula)}
    divisor = math.gcd(*counts.values())
    lowest = {element: count // divisor for element, count in counts.items()}
    return "".join(f"{element}{count if count > 1 else ''}" for element, count in lowest.items()).translate(SUBSCRIPTS)


def _crystals_of(exhibit: Exhibit, count: int) -> tuple[list[Shown], Counter[str]]:
    """Return the first crystals that can be drawn, and how many samples before them cannot, by reason."""
    reasons: Counter[str] = Counter()

    def drawable() -> Iterator[Shown]:
        relaxed, structures = _relaxed_of(exhibit), exhibit.tables.get("structures")
        for position in _order_of(exhibit).tolist():
            row = {} if structures is None else structures.iloc[position].to_dict()
            crystal, reason = relaxed(row.get("id")), ""
            if crystal is None:
                crystal, reason = decode(exhibit.samples.tokens[position])
            if crystal is None or reason:
                reasons[reason] += 1
            else:
                yield _shown(crystal, row)

    return list(islice(drawable(), count)), reasons


def _order_of(exhibit: Exhibit) -> Integers:
    """Return the positions of the samples in the order in which they are shown."""
    structures, count = exhibit.tables.get("structures"), len(exhibit.samples.tokens)
    if structures is None:
        return np.arange(count)
    if len(structures) != count:
        wrong = f"{count} samples, but a table of {len(structures)} structures"
        raise KinoflowError(f"{exhibit.run}: {wrong}; make the table again")
    energies = structures["energy_above_hull"].to_numpy(np.float64)
    energies = np.where(np.isfinite(energies), energies, np.inf)
    return np.lexsort((~_flags(structures["structural_valid"]), energies))


def _relaxed_of(exhibit: Exhibit) -> Callable[[str | None], Crystal | None]:
    """Return a function from a sample's id to its relaxed crystal, or to None if there is none that can be drawn."""
    from pipeline.crystals.table import crystal_of

    frame = exhibit.tables.get("relaxed")
    place_of = {} if frame is None else {id: place for place, id in enumerate(frame["id"])}

    def relaxed(id: str | None) -> Crystal | None:
        if frame is None or id not in place_of:
            return None
        row = {str(name): value for name, value in frame.iloc[place_of[id]].items()}
        crystal = crystal_of(row) if len(row["numbers"]) else None
        if crystal is None or not np.isfinite(crystal.fractions).all():
            return None
        try:
            crystal.structure()
        except ValueError:  # the relaxation ended in a cell that cannot exist
            return None
        return crystal

    return relaxed


def _shown(crystal: Crystal, row: dict[str, Any]) -> Shown:
    from pipeline.crystals.table import formula_of

    formula = formula_text(formula_of(crystal.composition))
    if not row:
        return Shown(crystal, formula, "")
    energy = float(row["energy_above_hull"])
    if math.isfinite(energy):
        mark = "" if _is_true(row["converged"]) else " ○"
        return Shown(crystal, formula, rf"$E_\mathrm{{hull}}$ = {signed(energy)} eV/atom{mark}")
    reasons = [row["relax_reason"], row["hull_reason"]] if _is_true(row["relaxed"]) else ["not relaxed"]
    reason = next((reason for reason in reasons if isinstance(reason, str) and reason), "no energy")
    return Shown(crystal, formula, reason if len(reason) <= REASON else f"{reason[: REASON - 1]}…")


def _draw_picture(axes: Axes, shown: Shown) -> None:
    size = min(9.0, 72 * COLUMN / (0.72 * len(shown.formula)))
    text: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
    axes.annotate(shown.formula, (0.5, 1), (0, 12), size=size, ha="center", **text)
    axes.annotate(shown.note, (0.5, 1), (0, 3), size=7, color="0.25", ha="center", **text)
    draw_crystal(axes, shown.crystal)


def _say_why(axes: Axes, reasons: Counter[str], width: float) -> None:
    """Write the most frequent reasons, in lines that are not longer than `width` inches."""
    lines = ["No sample is a crystal:", *(f"{count:,} × {reason}" for reason, count in reasons.most_common(3))]
    text = "\n".join(textwrap.fill(line, int(15 * width)) for line in lines)
    axes.text(0, 0.5, text, size=8, va="center", color="0.25")
    axes.set_axis_off()


def _strip_of(exhibit: Exhibit) -> Strip:
    structures, label = exhibit.tables.get("structures"), REFERENCES.get(exhibit.run, exhibit.run)
    if structures is None:
        return Strip(label, np.empty(0), np.empty(0, bool), 0, exhibit.run in REFERENCES)
    energies = structures["energy_above_hull"].to_numpy(np.float64)
    known, converged = np.isfinite(energies), _flags(structures["converged"])
    attempted = int(_flags(structures["attempted"]).sum())
    return Strip(label, energies[known], converged[known], attempted, exhibit.run in REFERENCES)


def _flags(column: pd.Series[Any]) -> NDArray[np.bool_]:
    return np.array([_is_true(value) for value in column], dtype=bool)


def _is_true(value: object) -> bool:
    """Return whether a cell of a column of booleans is true; a missing value is not."""
    return value in (True,)
