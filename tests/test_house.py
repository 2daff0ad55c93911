"""The map in CONTRIBUTING.md is the house as it is."""

import house


def test_the_rooms_and_the_picture_are_made_from_the_layers():
    assert house.page() == house.PAGE.read_text(encoding="utf-8"), "run python tools/house.py"
    assert house.picture() == house.PICTURE.read_text(encoding="utf-8"), "run python tools/house.py"
