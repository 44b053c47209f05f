"""The kind of chemistry of a composition: energy models err more in some than in others."""

from collections.abc import Iterable

CHEMISTRIES = ("oxide", "halide", "chalcogenide", "pnictide", "intermetallic", "other")
# The elements that are not metals, by falling electronegativity (Pauling), each with what it makes of a compound.
_ANIONS = {9: "halide", 8: "oxide", 17: "halide", 7: "pnictide", 36: "other", 35: "halide", 53: "halide", 54: "other"}
_ANIONS |= {16: "chalcogenide", 34: "chalcogenide", 6: "other", 1: "other", 85: "halide", 15: "pnictide"}
_ANIONS |= {33: "pnictide", 52: "chalcogenide", 51: "pnictide", 5: "other", 32: "other", 14: "other"}
_ANIONS |= dict.fromkeys((2, 10, 18, 86), "other")  # noble gases without an electronegativity


def chemistry_of(numbers: Iterable[int]) -> str:
    """Return which of the CHEMISTRIES the elements Z make: that of the most electronegative one that is no metal.

    So an oxyfluoride is a halide, and PtTe2 a chalcogenide, though Pt is the more electronegative. Several metals
    without any other element are an intermetallic. A pure element is `other`.
    """
    elements = {int(number) for number in numbers}
    if len(elements) < 2:
        return "other"
    return next((kind for z, kind in _ANIONS.items() if z in elements), "intermetallic")
