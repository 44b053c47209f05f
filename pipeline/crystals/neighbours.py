"""The neighbours of all sites of a structure, with weights, as pymatgen's CrystalNN finds them (Pan et al., 2021).

A neighbour shares a face of the Voronoi cell. Its weight grows with the solid angle of the face and with the difference
of electronegativities, and falls with the distance. pymatgen builds many objects per site; this needs only arrays.
Perfect crystals have faces of no size, whose angle is rounding. So the points, their order, and all sums are those of
pymatgen, to the last digit.
"""

import math
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pipeline.crystals.crystal import Floats, Integers

if TYPE_CHECKING:
    from pymatgen.core import Structure

RADIUS = 7.0  # A; atoms within it build the Voronoi cell of a site
FULL, NONE = 0.5, 1.0  # A beyond the sum of the radii: where the weight begins to fall, and where it is zero
DIAGONALS = np.array([[1.0, 1, 1], [-1, 1, 1], [1, -1, 1], [1, 1, -1]])
LARGEST_DIFFERENCE = 3.3  # of electronegativities


class Unusual(Exception):
    """A structure that needs pymatgen's own code: an element has no radius, atoms coincide, or a cell stays open."""


class Neighbours(NamedTuple):
    """The vectors [n, 3] from a site to its neighbours and their weights [n] in thousandths, the largest first."""

    vectors: Floats
    weights: Floats


class Faces(NamedTuple):
    """The faces of the Voronoi cell of a site."""

    vectors: Floats  # [f, 3], from the site to the atoms behind the faces
    atoms: Integers  # [f]
    angles: Floats  # [f], solid angles
    areas: Floats  # [f], A^2


def neighbours_of(structure: "Structure") -> list[Neighbours]:
    """Return the neighbours of each site; raise :class:`Unusual` if only pymatgen itself can tell."""
    values = np.array([_element(int(z)) for z in structure.atomic_numbers])
    return [_neighbours(faces_of(structure, site), site, values) for site in range(len(structure))]


def coordination(weights: Floats) -> dict[int, float]:
    """Return the share of each coordination number: the area of a quarter circle between one weight and the next.

    >>> coordination(np.array([1.0, 1.0]))
    {2: 1.0}
    """
    levels = list(dict.fromkeys(weights.tolist()))
    areas = [_area(level) / _area(1.0) for level in (*levels, 0.0)]
    counts = [int(np.count_nonzero(weights >= level)) for level in levels]
    return {count: more - less for count, (more, less) in zip(counts, pairwise(areas), strict=True)}


def faces_of(structure: "Structure", site: int) -> Faces:
    """Return the faces of the Voronoi cell of a site, from as many atoms around it as close the cell."""
    longest = float(_lengths(np.vecmat(DIAGONALS, structure.lattice.matrix)).max()) + 0.01
    radius = RADIUS
    while (faces := _faces_within(structure, site, radius)) is None:
        if radius >= longest:
            raise Unusual
        radius = min(2 * radius, longest + 0.001)
    return faces


def _faces_within(structure: "Structure", site: int, radius: float) -> Faces | None:
    """Return the faces of a cell by the atoms within a radius; None if these do not close it."""
    from scipy.spatial import QhullError, Voronoi

    lattice, centre = structure.lattice, structure[site].coords
    found: Any = lattice.get_points_in_sphere(structure.frac_coords, centre, radius, zip_results=False)
    around, distances, atoms, _ = found
    order = np.argsort(distances, kind="stable")
    points = np.vecmat(around[order], lattice.matrix)
    try:
        diagram = Voronoi(points)
    except QhullError:  # too few points, or all in one plane
        return None
    own = np.flatnonzero((diagram.ridge_points == 0).any(axis=1))
    corners = [diagram.ridge_vertices[face] for face in own]
    if any(-1 in face for face in corners):
        return None
    if not corners:  # another atom is at the same place
        raise Unusual
    triangles = np.array(
        [(number, face[0], *pair) for number, face in enumerate(corners) for pair in pairwise(face[1:])]
    )
    numbers, vertices = triangles[:, 0], diagram.vertices[triangles[:, 1:]]
    behind = diagram.ridge_points[own].sum(axis=1)  # the site itself is point 0
    halves = _lengths(points[0] - points[behind]) / 2
    angles: Any = np.bincount(numbers, _solid_angles(vertices - points[0]))
    volumes: Any = np.bincount(numbers, _volumes(vertices, points[0]))
    return Faces(points[behind] - centre, atoms[order][behind], angles, 3 * volumes / halves)


def _neighbours(faces: Faces, site: int, values: Floats) -> Neighbours:
    """Return the neighbours of a site from the faces of its cell and the electronegativities and radii of all atoms."""
    (electronegativity, radius), (others, radii) = values[site], values[faces.atoms].T
    weights = faces.angles / faces.angles.max() * (faces.angles / faces.areas)
    weights *= 1 + 3 * np.nan_to_num(np.sqrt(np.abs(electronegativity - others) / LARGEST_DIFFERENCE))
    if not np.isfinite(weights).all():
        raise Unusual
    order = np.argsort(-weights, kind="stable")
    beyond = [_nearness(*pair) for pair in zip(_lengths(faces.vectors), radius + radii, strict=True)]
    weights = weights / weights[order[0]] * beyond
    order = order[np.argsort(-weights[order], kind="stable")]
    rounded = np.round(weights[order], 3)
    return Neighbours(faces.vectors[order][rounded > 0], rounded[rounded > 0])


def _nearness(distance: float, radii: float) -> float:
    """Return 1 if two atoms touch, 0 if they are far apart, and between these half a wave of a cosine."""
    full, none = radii + FULL, radii + NONE
    if distance <= full:
        return 1.0
    return (math.cos((distance - full) / (none - full) * math.pi) + 1) * 0.5 if distance < none else 0.0


def _solid_angles(corners: Floats) -> Floats:
    """Return the solid angles of triangles [t, 3, 3] as seen from the origin (van Oosterom and Strackee, 1983)."""
    first, second, third = corners.swapaxes(0, 1)
    far, further, furthest = map(_lengths, (first, second, third))
    product = np.abs(np.vecdot(first, np.cross(second, third)))
    divisor = far * further * furthest + furthest * np.vecdot(first, second)
    divisor = divisor + further * np.vecdot(first, third) + far * np.vecdot(second, third)
    with np.errstate(divide="ignore", invalid="ignore"):
        halves = np.where(divisor == 0, np.where(product > 0, np.pi / 2, -np.pi / 2), np.arctan(product / divisor))
    return np.where(halves > 0, halves, halves + np.pi) * 2


def _volumes(corners: Floats, centre: Floats) -> Floats:
    """Return the volumes of the tetrahedra of triangles [t, 3, 3] and a point."""
    first, second, third = corners.swapaxes(0, 1)
    return np.abs(np.vecdot(centre - third, np.cross(first - third, second - third))) / 6


def _lengths(vectors: Floats) -> Floats:
    return np.sqrt(np.vecdot(vectors, vectors))


def _area(weight: float) -> float:
    """Return the area under the unit circle from 0 to a weight."""
    height = math.sqrt(1 - weight**2)
    return 0.5 * (weight * height + math.atan2(weight, height))


@cache
def _element(z: int) -> tuple[float, float]:
    """Return the electronegativity of an element, or NaN, and its covalent radius."""
    from pymatgen.core import Element
    from pymatgen.core.molecule_structure_comparator import CovalentRadius

    element = Element.from_Z(z)
    if element.symbol not in CovalentRadius.radius:
        raise Unusual
    return float(element.X), CovalentRadius.radius[element.symbol]
