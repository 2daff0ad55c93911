"""One number of points for all clients: who decides it, who is left out, and what it is good for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from fedbary.protocols.interpolation.server import LEAST_SUPPORT, common_support
from fedbary.protocols.messages import Reply
from fedbary.valuation.rows import RowRules

NUMBERS = st.lists(st.integers(1, 200), min_size=1, max_size=40)


def table_of(rows, seed, copies=1):
    rng = np.random.default_rng(seed)
    table = fb.Table.from_arrays(rng.normal(size=(rows, 3)), rng.integers(0, 2, rows))
    return table.take(np.concatenate([np.zeros(copies - 1, dtype=int), np.arange(rows)]))


def supports(result):
    return result.history.groupby("client")["support"].unique().explode().to_dict()


# --- the rule -----------------------------------------------------------------------------------------


@given(NUMBERS, st.integers(1, 200))
def test_it_is_the_largest_that_nine_of_ten_allow(said, asked):
    allowed = [min(one, asked) for one in said]  # nobody says more than was asked for
    least = min(asked, LEAST_SUPPORT)
    found, counted = common_support(allowed, asked), [one for one in allowed if one >= least]
    enough = lambda size: sum(one >= size for one in counted) >= 0.9 * len(counted)  # noqa: E731
    assert least <= found <= asked
    if counted:
        assert enough(found)
        assert found == max(counted) or not enough(found + 1)


@given(NUMBERS, st.integers(1, LEAST_SUPPORT - 1), st.integers(0, 10))
def test_who_allows_too_few_has_no_say(said, few, liars):
    asked = 200
    assert common_support([*said, *[few] * liars], asked) == common_support(said, asked)


@given(NUMBERS, st.integers(0, 1000))
def test_the_order_of_clients_does_not_matter(said, seed):
    shuffled = np.random.default_rng(seed).permutation(said).tolist()
    assert common_support(shuffled, 200) == common_support(said, 200)


# --- a federation -------------------------------------------------------------------------------------


# A row that is there twice has twice the mass, so half as many points may be sent; in what is released without a
# reference it is there once.
@pytest.mark.parametrize(("reference", "points"), [(table_of(120, 9), 15), (None, 30)])
def test_all_clients_use_the_smallest_ones_points(reference, points):
    tables = {"a": table_of(300, 1), "b": table_of(150, 2), "copied": table_of(150, 3, copies=2)}
    result = fb.value(tables, reference, protocol="interpolation", seed=0)
    assert supports(result) == dict.fromkeys(tables, points)
    assert not result.failed


@pytest.mark.parametrize(("rows", "asked", "few"), [(30, 100, [6]), (50, 100, []), (30, 6, [])])
def test_a_coordinator_is_told_where_a_small_client_leaves_few_points(rows, asked, few):
    tables = {"a": table_of(100, 1), "b": table_of(rows, 2)}
    result = fb.value(tables, table_of(120, 9), protocol=fb.Interpolation(support=asked, rounds=2), seed=0)
    notes = [note for note in result.notes if note.code == "protocols.few-points"]
    assert [note.public["support"] for note in notes] == few


def test_one_small_client_of_ten_is_reported_and_changes_nothing_for_the_others():
    reference = table_of(120, 99)
    large = {f"c{i}": table_of(100, i) for i in range(9)}
    alone = fb.value(large, reference, protocol="interpolation", seed=0)
    result = fb.value({**large, "small": table_of(60, 50)}, reference, protocol="interpolation", seed=0)
    assert list(result.failed) == ["small"]
    note = result.outcomes["small"].notes[0]
    assert note.code == "protocols.too-small-for-support"
    assert note.public == {"allowed": 12, "support": 20}
    np.testing.assert_array_equal(result.clients["distance"][:9], alone.clients["distance"])


@pytest.mark.parametrize(("says", "points"), [(1, 20), (LEAST_SUPPORT - 1, 20), (LEAST_SUPPORT, LEAST_SUPPORT)])
def test_what_a_client_says_cannot_ruin_a_federation_of_three(says, points):
    """One that says 1 is left out; the least that it can bring about is the least support."""
    settings, tables = fb.Interpolation(rounds=2), {f"c{i}": table_of(100, i) for i in range(3)}
    server = settings.server(list(tables), table_of(120, 99), settings.space(None), rules=RowRules(), seed=0)
    clients = {name: settings.client(table, rules=RowRules(), seed=0) for name, table in tables.items()}
    while tasks := server.tasks():
        replies = {name: clients[name].answer(message) for name, message in tasks.items()}
        if tasks["c0"].kind == "start":
            replies["c2"] = Reply(0, {"rows": 100, "allowed": says})
        server.absorb(replies)
    result = server.result()
    assert list(result.failed) == ([] if says >= LEAST_SUPPORT else ["c2"])
    assert supports(result)["c0"] == supports(result)["c1"] == points


@pytest.mark.parametrize("reference", [table_of(60, 3), None])
def test_where_nobody_has_enough_rows_everybody_is_told_so(reference):
    result = fb.value({"a": table_of(20, 1), "b": table_of(24, 2)}, reference, protocol="interpolation", seed=0)
    assert {outcome.notes[0].code for outcome in result.outcomes.values()} == {"protocols.too-small-for-support"}


def test_half_as_many_clean_rows_stand_about_as_far_away(digits):
    """With a number of points of their own, 250 rows stood 8 to 12 percent farther than 500 of the same source."""
    ratios = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(digits))
        parts = {"half": digits.take(order[:250]), "whole": digits.take(order[250:750])}
        distance = fb.value(parts, digits.take(order[750:1250]), protocol="interpolation", seed=seed).clients[
            "distance"
        ]
        ratios.append(distance[0] / distance[1])
    assert abs(np.mean(ratios) - 1.0) < 0.03
