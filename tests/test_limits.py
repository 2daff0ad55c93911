"""The core does not grow unnoticed: limits stand in ``limits.toml``, and raising one needs a reason there."""

import limits


def test_no_room_is_larger_than_its_limit():
    assert limits.broken(limits.measured()) == [], "merge, unite or delete; or raise the limit with its reason"


def test_fb_value_enters_no_more_functions_than_its_limit():
    assert limits.broken({"hops": limits.hops()}) == []


def test_limits_fall_and_never_rise_by_themselves():
    text = "[lines]\ncore = 100  # a reason\ntop = 5\n"
    assert limits.lowered(text, {"lines": {"core": 90, "top": 9}}) == "[lines]\ncore = 90  # a reason\ntop = 5\n"


def test_a_room_without_a_limit_is_named():
    assert limits.broken({"lines": {"attic": 1}}) == ["lines of attic: 1, allowed nothing"]
