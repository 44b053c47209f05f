"""The sizes of atoms that networks start from."""

import math
from collections.abc import Callable

import pytest
from known_crystals import rock_salt, wurtzite

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.networks.sizes import volumes_of_elements

SPREAD = 0.13  # standard deviation of the logarithm among the structures that the volumes were fitted to


@pytest.mark.parametrize("known", [rock_salt, wurtzite])
def test_the_atoms_of_known_crystals_fill_their_cells(known: Callable[[], Crystal]) -> None:
    crystal, volumes = known(), volumes_of_elements()
    filled = sum(float(volumes[number - 1]) for number in crystal.numbers)
    assert abs(math.log(filled / crystal.structure().volume)) < 2 * SPREAD


def test_there_is_one_for_each_element_and_they_grow_down_a_group() -> None:
    volumes = volumes_of_elements().tolist()
    assert len(volumes) == 94
    assert min(volumes) > 0
    for group in ((3, 11, 19, 37), (9, 17, 35, 53)):  # lithium to rubidium, fluorine to iodine
        sizes = [volumes[number - 1] for number in group]
        assert sizes == sorted(sizes)
