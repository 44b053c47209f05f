"""The elements up to plutonium, and how far apart they are chemically.

The distance is the number of places between two elements in the modified Pettifor scale, the order of
H. Glawe, A. Sanna, E. K. U. Gross and M. A. L. Marques, New J. Phys. 18, 093011 (2016), CC-BY 3.0. They count how often
one element takes the place of another in known inorganic crystals, and order the elements so that those that replace
each other are close together. A probability path between elements needs just this: on its way to Na, a token passes
through K and Li, not through Ne and Mg as it would in the order of atomic numbers. No two elements share a place, as
they might by electronegativity or radius. The scale's elements beyond plutonium (Am to Lr) are left out.
"""

import numpy as np

from pipeline.crystals.crystal import Floats

_BY_NUMBER = """
H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru
Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At
Rn Fr Ra Ac Th Pa U Np Pu
"""
_BY_CHEMISTRY = """
He Ne Ar Kr Xe Rn Fr Cs Rb K Na Li Ra Ba Sr Ca Eu Yb Lu Tm Y Er Ho Dy Tb Gd Sm Pm Nd Pr Ce La Ac Th Pa U Np Pu Sc Zr Hf
Ti Ta Nb V Cr Mo W Re Tc Os Ru Ir Rh Pt Pd Au Ag Cu Ni Co Fe Mn Mg Zn Cd Hg Be Al Ga In Tl Pb Sn Ge Si B C N P As Sb Bi
Po Te Se S O At I Br Cl F H
"""

SYMBOLS = tuple(_BY_NUMBER.split())
LAST = len(SYMBOLS)  # 94, the last element that has a token
NUMBERS = {symbol: number for number, symbol in enumerate(SYMBOLS, start=1)}


def element_distances() -> Floats:
    """Return the distances between the elements of Z = 1 .. 94, [94, 94], at most 1 and zero only on the diagonal."""
    order = _BY_CHEMISTRY.split()
    places = np.array([order.index(symbol) for symbol in SYMBOLS], dtype=np.float64)
    return np.abs(places[:, None] - places) / (LAST - 1)
