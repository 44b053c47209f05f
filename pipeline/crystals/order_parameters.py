"""How much the neighbours of a site resemble common motifs, such as a tetrahedron.

These are the order parameters of Zimmermann and Jain (2020) that matminer's preset "ops" takes from pymatgen, computed
for many sites at once. Most put each neighbour j at the north pole and each other neighbour k on the prime meridian in
turn, and ask whether k and the rest (m) are at the polar angles (theta) and longitudes (phi) of the motif.

Perfect crystals have angles at the edges of case distinctions, where the last digit decides. So sums and functions are
those that pymatgen uses, to the last digit: `vecdot` for `inner`, and `math.acos`, which NumPy's differs from.
"""

import json
import math
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.crystals.crystal import Floats

Parameters = Mapping[str, float]
Booleans = NDArray[np.bool_]
Scored = tuple[Floats, NDArray[np.floating | np.bool_]]  # values and their weights
MOTIFS = Path(__file__).parent / "reference" / "motifs.json"
SMALL = 1e-12  # a vector this short has no direction, a weight this small does not count
_acos = np.frompyfunc(math.acos, 1, 1)


class Directions:
    """The angles between the unit vectors [s, n, 3] to the neighbours of s sites; their axes are s, j, k and m."""

    def __init__(self, units: Floats) -> None:
        self.units = units
        self.pairs: Booleans = ~np.eye(units.shape[1], dtype=bool)  # [j, k]: both differ

    @cached_property
    def cosines(self) -> Floats:
        """Of the angles between j and k, [s, j, k]."""
        return np.vecdot(self.units[:, :, None], self.units[:, None])

    @cached_property
    def theta(self) -> Floats:
        """The polar angles of k as seen from pole j, [s, j, k]."""
        return _angles(self.cosines)

    @cached_property
    def across(self) -> Floats:
        """The parts of k that are perpendicular to j, [s, j, k, 3]."""
        along = self.cosines / np.vecdot(self.units, self.units)[:, :, None]
        return self.units[:, None] - along[..., None] * self.units[:, :, None]

    @cached_property
    def lengths(self) -> Floats:
        """The lengths of these parts, [s, j, k]."""
        return np.sqrt(np.vecdot(self.across, self.across))

    @cached_property
    def phi(self) -> Floats:
        """The angles between the meridians of k and m, [s, j, k, m]."""
        meridians = self.across / np.where(self.lengths < SMALL, 1, self.lengths)[..., None]
        return _angles(np.vecdot(meridians[:, :, :, None], meridians[:, :, None]))

    @cached_property
    def triples(self) -> Booleans:
        """Whether j, k and m differ, and k is on a meridian, [s, j, k, m]."""
        differ = self.pairs[:, :, None] & self.pairs[:, None] & self.pairs
        return differ & (self.lengths >= SMALL)[..., None]

    @cached_property
    def turned(self) -> Booleans:
        """Whether m is on a meridian, too, [s, j, k, m]."""
        return self.triples & (self.lengths >= SMALL)[:, :, None]

    def best(self, meridian: Scored, others: Scored) -> Floats:
        """Return the largest weighted mean [s] over j and k: of the value of k, and of those of all m."""
        value, weight = (self.pairs * one + np.sum(rest, -1) for one, rest in zip(meridian, others, strict=True))
        means = np.divide(value, weight, out=np.zeros_like(value), where=weight > SMALL)
        return np.max(means, axis=(1, 2))


def order_parameters(vectors: Floats) -> Floats:
    """Return the order parameters [s, motifs] of s sites from the vectors [s, n, 3] to their n neighbours."""
    motifs = motifs_of(vectors.shape[1])
    directions = Directions(vectors / np.sqrt(np.vecdot(vectors, vectors))[..., None])
    values = [KINDS[kind](directions, parameters) for kind, parameters in motifs]
    return np.array(values).reshape(len(motifs), len(vectors)).T


@cache
def motifs_of(count: int) -> list[tuple[str, Parameters]]:
    """Return the kind and the parameters of each motif of a number of neighbours."""
    motifs = json.loads(MOTIFS.read_text(encoding="utf-8"))["motifs"].get(str(count), [])
    return [(kind, parameters) for _, kind, parameters in motifs]


def _single_bond(at: Directions, given: Parameters) -> Floats:
    return np.ones(len(at.units))


def _steinhardt(at: Directions, given: Parameters) -> Floats:
    """Return the bond order q_l of Steinhardt et al. (1983): sqrt(4 pi / (2l + 1) sum_m |mean Y_lm|^2)."""
    from scipy.special import sph_harm_y

    degree = int(given["l"])
    x, y, z = np.moveaxis(at.units, -1, 0)
    orders = np.arange(-degree, degree + 1)[:, None, None]
    means = sph_harm_y(degree, orders, np.arccos(np.clip(z, -1, 1)), np.arctan2(y, x)).mean(axis=-1)
    return np.sqrt(4 * np.pi / (2 * degree + 1) * np.sum(np.abs(means) ** 2, axis=0))


def _bent(at: Directions, given: Parameters) -> Floats:
    near = _gauss(given["IGW_TA"] * (at.theta / np.pi - given["TA"])) * at.pairs
    return np.sum(near, axis=(1, 2)) / np.sum(at.pairs)


def _around_angle(at: Directions, given: Parameters) -> Floats:
    return _ring(at, given, _gauss(given["IGW_TA"] * (at.theta / np.pi - given["TA"])))


def _pyramid(at: Directions, given: Parameters) -> Floats:
    return _ring(at, given, _equator(at.theta, given))


def _pentagon(at: Directions, given: Parameters) -> Floats:
    corner = np.where(at.theta <= given["TA"] * np.pi, 0.4, 0.8)
    return _ring(at, {"fac_AA": 1, "exp_cos_AA": 2}, _gauss(given["IGW_TA"] * (at.theta / np.pi - corner)))


def _ring(at: Directions, given: Parameters, near: Floats) -> Floats:
    """Return the best mean of how near k and m are to their polar angle, m weighted by its longitude."""
    return at.best((near, np.ones_like(near)), (near[:, :, None] * _turns(at, given) * at.turned, at.turned))


def _bipyramid(at: Directions, given: Parameters) -> Floats:
    return _with_south(at, given, _equator(at.theta, given))


def _hexagon(at: Directions, given: Parameters) -> Floats:
    near = _gauss(given["IGW_TA"] * (np.abs(at.theta / np.pi - 0.5) - given["TA"]))
    return _with_south(at, given, near)


def _see_saw(at: Directions, given: Parameters) -> Floats:
    return _with_south(at, given, _equator(at.theta, given), at.phi < 0.75 * np.pi)


def _with_south(at: Directions, given: Parameters, near: Floats, counts: Booleans | bool = True) -> Floats:
    """Return the best mean of a ring of neighbours and of one at the south pole."""
    north = at.theta < given["min_SPP"]
    pole = at.triples & ~north[:, :, None]
    ring = at.turned & north[:, :, :, None] & north[:, :, None] & counts
    others = near[:, :, None] * _turns(at, given) * ring + _south(at.theta, given)[:, :, None] * pole
    return at.best((near * north, north), (others, pole.astype(float) + ring))


def _cube(at: Directions, given: Parameters) -> Floats:
    """Return the order parameter of a body-centred cubic site."""
    south = at.theta >= given["min_SPP"]
    first = np.triu(at.pairs)  # j before k
    poles = given["w_SPP"] * _south(at.theta, given) * south
    tilt = (at.theta - np.pi / 2) / math.asin(1 / 3)
    side = np.where(at.theta > np.pi / 2, 1, -1)[..., None]
    rest = side * np.cos(3 * at.phi) / math.exp(-0.5) * (tilt * _gauss(tilt))[:, :, None]
    total = np.sum((poles + np.sum(rest * at.turned * ~south[..., None], -1)) * first, axis=(1, 2))
    count = at.units.shape[1]
    return total / (0.5 * count * (6 + (count - 2) * (count - 3)))


def _cuboctahedron(at: Directions, given: Parameters) -> Floats:
    south = at.theta >= given["min_SPP"]
    low, high = given["4"], given["2"]
    counts = at.turned & ((low < at.theta) & (at.theta < high))[..., None] & ~south[:, :, None]
    theta = np.broadcast_to(at.theta[:, :, None], at.phi.shape)
    middle, above, below = (low < theta) & (theta < high), theta < low, theta > high
    diagonal = _gauss(0.0556 * (np.cos(at.phi - 0.5 * np.pi) - 0.81649658))
    score = np.cos(at.phi) ** 2 * _gauss(given["5"] * (theta / np.pi - 0.5)) * middle
    for cap, angle in ((above, 1 / 3), (below, 2 / 3)):
        score = score + diagonal * _gauss(given["6"] * (theta / np.pi - angle)) * cap
    weight = given["w_SPP"] * south
    return at.best((weight * _south(at.theta, given), weight), (score * counts, counts & (middle | above | below)))


def _gauss(values: Floats) -> Floats:
    return np.exp(-0.5 * values * values)


def _equator(theta: Floats, given: Parameters) -> Floats:
    return _gauss(given["IGW_EP"] * (theta / np.pi - 0.5))


def _south(theta: Floats, given: Parameters) -> Floats:
    return _gauss(given["IGW_SPP"] * (theta / np.pi - 1))


def _turns(at: Directions, given: Parameters) -> Floats:
    """Return how well the longitudes [s, j, k, m] fit a motif of 2 fac_AA corners."""
    return np.cos(given["fac_AA"] * at.phi) ** given["exp_cos_AA"]


def _angles(cosines: Floats) -> Floats:
    return np.asarray(_acos(np.clip(cosines, -1, 1)), dtype=np.float64)


KINDS: dict[str, Callable[[Directions, Parameters], Floats]] = {
    "sgl_bd": _single_bond,
    "bent": _bent,
    **dict.fromkeys(("tri_plan_max", "tet_max"), _around_angle),
    **dict.fromkeys(("T", "tri_pyr", "sq_pyr", "pent_pyr", "hex_pyr"), _pyramid),
    **dict.fromkeys(("tri_bipyr", "pent_bipyr", "hex_bipyr", "oct_max", "sq_plan_max"), _bipyramid),
    "hex_plan_max": _hexagon,
    "see_saw_rect": _see_saw,
    "pent_plan_max": _pentagon,
    "bcc": _cube,
    "cuboct_max": _cuboctahedron,
    **dict.fromkeys(("q2", "q4", "q6"), _steinhardt),
}
