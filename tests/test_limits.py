"""The core does not grow unnoticed: limits stand in ``limits.toml``, and raising one needs a reason there."""

import limits


def test_no_room_is_larger_than_its_limit():
    assert limits.broken(limits.measured()) == [], "merge, unite or delete; or raise the limit with its reason"


def test_fb_value_enters_no_more_functions_than_its_limit():
    assert limits.broken({"hops": limits.hops()}) == []


def test_limits_fall_and_never_rise_by_themselves():
    text = "[files]\ncore = 9  # a reason\ntop = 5\n[lines]\ncore = 500\n"
    found = {"files": {"core": 8, "top": 6}, "lines": {"core": 401}}
    assert limits.lowered(text, found) == "[files]\ncore = 8  # a reason\ntop = 5\n[lines]\ncore = 450\n"


def test_a_room_without_a_limit_is_named():
    assert limits.broken({"lines": {"attic": 1}}) == ["lines of attic: 1, allowed nothing"]
