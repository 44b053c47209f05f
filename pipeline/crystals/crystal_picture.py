"""A picture of a crystal: its cell and shaded atoms, seen along its first side from slightly right and above."""

from __future__ import annotations

from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.crystals.crystal import Crystal, Floats
from pipeline.crystals.elements import SYMBOLS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

AZIMUTH, ELEVATION = 20.0, 14.0  # degrees
RADIUS = 0.5  # of an atom, in covalent radii
ON_A_FACE = 0.015  # an atom this close to a face, as a share of the cell's side, is drawn on the opposite face, too
PIECES = 24  # per edge, so that atoms can hide some of it
SHADES = 9  # discs per atom
FOG = 0.35  # how much of their colour the farthest atoms lose
EDGE = np.array([0.35, 0.35, 0.35])
PER_LINE = 6  # elements below a picture
ELEMENT_WIDTH, LINE_WIDTH = 0.19, 1.2  # of one element at most, and of a line, as shares of the picture's width


def draw_crystal(axes: Axes, crystal: Crystal) -> None:
    """Draw the crystal, as large as fits, and a legend of its elements; colours are Jmol's."""
    from ase.data import covalent_radii
    from ase.data.colors import jmol_colors
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Polygon

    matrix = crystal.structure().lattice.matrix
    numbers, fractions = _with_images(crystal)
    corners = np.array(list(product((0.0, 1.0), repeat=3))) @ matrix
    centre, view = corners.mean(0), _view()
    atoms = (fractions @ matrix - centre) @ view.T  # right, up, towards the viewer
    corners = (corners - centre) @ view.T
    radii = RADIUS * covalent_radii[numbers]
    far = min(corners[:, 2].min(), (atoms[:, 2] - radii).min())
    near = max(corners[:, 2].max(), (atoms[:, 2] + radii).max())
    layers: list[tuple[float, list[Patch]]] = []
    for place, radius, number in zip(atoms, radii, numbers, strict=True):
        fog = FOG * (near - place[2]) / (near - far)
        layers.append((float(place[2]), _atom(place, float(radius), jmol_colors[number], fog)))
    for middle, ends in _pieces(corners, atoms, radii):
        edge = _fogged(EDGE, FOG * (near - middle[2]) / (near - far))
        line = Polygon(ends[:, :2], closed=False, fill=False, edgecolor=edge, linewidth=0.8)
        layers.append((float(middle[2]), [line]))
    layers.sort(key=lambda layer: layer[0])
    axes.add_collection(PatchCollection([patch for _, patches in layers for patch in patches], match_original=True))
    low = np.minimum(corners[:, :2].min(0), (atoms[:, :2] - radii[:, None]).min(0))
    high = np.maximum(corners[:, :2].max(0), (atoms[:, :2] + radii[:, None]).max(0))
    middle, half = (low + high) / 2, 0.52 * float((high - low).max())
    axes.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half), aspect="equal")
    axes.set_axis_off()
    _legend(axes, [int(z) for z in dict.fromkeys(crystal.numbers.tolist())], jmol_colors)


def _with_images(crystal: Crystal) -> tuple[np.ndarray, Floats]:
    """Return the atoms in the cell, with images on the opposite face for those on a face, as is customary."""
    numbers, fractions = crystal.numbers, crystal.fractions % 1.0
    for axis, step in product(range(3), (1.0, -1.0)):
        place = fractions[:, axis]
        on_face = np.abs(place) <= ON_A_FACE if step > 0 else (place >= 1 - ON_A_FACE) & (place < 1)
        images = fractions[on_face] + step * np.eye(3)[axis]
        numbers, fractions = np.concatenate([numbers, numbers[on_face]]), np.concatenate([fractions, images])
    return numbers, fractions


def _view() -> Floats:
    """Return the unit vectors to the right, up, and towards the viewer; the third side of a cell points up."""
    azimuth, elevation = np.radians(AZIMUTH), np.radians(ELEVATION)
    towards = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    return np.stack([right, np.cross(towards, right), towards])


def _atom(place: Floats, radius: float, colour: Floats, fog: float) -> list[Patch]:
    """Return discs from a dark rim to a highlight at the upper left; together they look like a ball."""
    from matplotlib.patches import Circle

    discs: list[Patch] = []
    for share in np.linspace(0, 1, SHADES):
        shift = 0.38 * radius * share
        shade = colour * (0.72 + 0.28 * min(1.0, 2 * share))
        shade = shade + (1 - shade) * 0.75 * max(0.0, 2 * share - 1) ** 1.5
        size = radius * (1 - 0.93 * share**0.9)
        rim = _fogged(0.35 * colour, fog) if share == 0 else "none"
        disc = Circle((place[0] - shift, place[1] + shift), size, facecolor=_fogged(shade, fog), edgecolor=rim)
        disc.set_linewidth(0.5 if share == 0 else 0.0)
        discs.append(disc)
    return discs


def _pieces(corners: Floats, atoms: Floats, radii: Floats) -> list[tuple[Floats, Floats]]:
    """Return the pieces of the cell's edges outside all atoms: the middle and both ends of each."""
    pieces = []
    for first, second in combinations(range(8), 2):
        if (first ^ second).bit_count() == 1:
            for start, end in pairwise(np.linspace(corners[first], corners[second], PIECES + 1)):
                middle = (start + end) / 2
                if (np.linalg.norm(atoms - middle, axis=1) > radii).all():
                    pieces.append((middle, np.stack([start, end])))
    return pieces


def _fogged(colour: Floats, fog: float) -> tuple[float, ...]:
    return tuple(np.clip(colour + (1 - colour) * fog, 0, 1).tolist())


def _legend(axes: Axes, elements: list[int], colours: Floats) -> None:
    """Write the elements below the picture, each beside a disc of its colour; in two lines if there are many."""
    rows = 1 if len(elements) <= PER_LINE else 2
    length = -(-len(elements) // rows)
    size = 6.5 if length <= PER_LINE else 5.0
    step = min(ELEMENT_WIDTH, LINE_WIDTH / length)
    style: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False, "zorder": 3}
    for position, z in enumerate(elements):
        row, column = divmod(position, length)
        left = 0.5 + step * (column - min(length, len(elements) - row * length) / 2) + 0.025
        up = -0.055 - 0.07 * row
        rim: dict[str, Any] = {"markeredgecolor": 0.35 * colours[z], "markeredgewidth": 0.4}
        axes.plot(left, up, "o", color=colours[z], markersize=0.65 * size, **rim, **style)
        axes.text(left + 0.03, up - 0.003, SYMBOLS[z - 1], size=size, va="center_baseline", color="0.2", **style)
