"""The map in CONTRIBUTING.md is the house as it is."""

import house


def test_the_rooms_and_the_way_of_a_call_are_drawn_from_the_code():
    assert house.page() == house.PAGE.read_text(encoding="utf-8"), "run python tools/house.py"
