"""The map in CONTRIBUTING.md is the house as it is."""

import re

import pytest

import house


def test_the_rooms_and_the_picture_are_made_from_the_layers():
    assert house.page() == house.PAGE.read_text(encoding="utf-8"), "run python tools/house.py"
    assert house.picture() == house.PICTURE.read_text(encoding="utf-8"), "run python tools/house.py"


@pytest.mark.parametrize("package", house.SATELLITES)
def test_the_readme_of_a_satellite_names_all_that_is_in_it(package):
    text = (house.ROOT / "packages" / package / "README.md").read_text(encoding="utf-8")
    assert [name for name in house.inside(package) if not re.search(rf"\b{name}\b", text)] == []


def test_the_readme_of_the_core_names_its_rooms():
    text = (house.ROOT / "packages" / "fedbary" / "README.md").read_text(encoding="utf-8")
    rooms = [room for layer in house.layers() for room in layer if (house.CORE / room).is_dir()]
    assert [room for room in rooms if not re.search(rf"\b{room}\b", text)] == []
