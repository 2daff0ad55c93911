"""Verdicts on made-up clients."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_results import advice, client, made, reasons

import fedbary as fb
from fedbary.notes import Note
from fedbary.valuation.outcome import Outcome, Status
from fedbary.valuation.verdict import Advice

INCLUDE, LOOK, LEAVE, UNKNOWN = Advice.INCLUDE, Advice.LOOK, Advice.LEAVE, Advice.UNKNOWN
shares = st.floats(0, 1)
BEST_FIRST = [INCLUDE, UNKNOWN, LOOK, LEAVE]


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ((0.02, 0.0, 0.06), INCLUDE),
        ((0.08, 0.05, 0.12), INCLUDE),
        ((0.1, 0.051, 0.15), LOOK),
        ((0.35, 0.3, 0.4), LOOK),
        ((0.4, 0.31, 0.5), LEAVE),
        ((0.1, 0.05, 0.2), INCLUDE),
        ((0.1, 0.05, 0.21), UNKNOWN),
    ],
)
def test_the_interval_of_the_share_of_bad_rows_decides(bad, expected):
    assert advice(made(client(bad=bad))) == {"c": expected}


def test_three_bad_clients_of_six_are_three_bad_clients():
    tables = [client(f"bad_{i}", bad=(0.7, 0.6, 0.8)) for i in range(3)]
    tables += [client(f"good_{i}", bad=(0.01, 0.0, 0.03)) for i in range(3)]
    assert advice(made(*tables)) == {t["client"]: LEAVE if "bad" in t["client"] else INCLUDE for t in tables}


def test_reasons_name_the_channel_with_its_numbers():
    labels = client("labels", bad=(0.31, 0.24, 0.38))
    features = client("features", bad=(0.31, 0.24, 0.38)) | {
        "wrong_labels": 0.0,
        "wrong_labels_low": 0.0,
        "odd_features": 0.3,
        "odd_features_low": 0.23,
        "odd_features_high": 0.37,
    }
    neither = client("neither", bad=(0.09, 0.06, 0.12)) | {"wrong_labels_low": 0.0, "odd_features": 0.04}
    result = made(labels, features, neither)
    assert reasons(result) == {
        "labels": ["verdict.wrong-labels"],
        "features": ["verdict.odd-features"],
        "neither": ["verdict.bad-rows"],
    }
    why = {opinion.client: opinion.why for opinion in result.verdict()}
    assert why["labels"] == "about 31 % of its labels are wrong (24–38 %)"
    assert why["features"] == "about 30 % of its rows have odd features (23–37 %)"


FINDINGS = {
    "schema.column-beyond": {"column": "income", "share": 1.0, "times": 1000.0},
    "schema.other-coding": {"found": ("GOOD",), "meant": ("good",)},
    "judging.blur": {"blur": 2.4, "columns": ("glucose",)},
    "judging.class-labels": {"label": "yes", "share": 0.5, "rows": 120, "meant": "no"},
    "judging.label-coding": {"found": ("1", "2"), "meant": ("0", "1")},
    "judging.label-means": {},
    "judging.label-shares": {"label": "dead", "stated": 1.0, "looks": 0.27},
}
STATEMENTS = {
    "schema.many-copies": {"share": 0.5},
    "judging.shift": {"shift": 3.0, "columns": ("glucose", "age")},
    "judging.own-label": {"label": "rare"},
    "judging.one-label": {"label": "rare"},
}


@pytest.mark.parametrize("code", FINDINGS)
def test_a_finding_is_looked_at_and_said_once(code):
    result = made(client("c", Note(code, FINDINGS[code]), bad=(0.0, 0.0, 0.02)))
    assert (advice(result), reasons(result)) == ({"c": LOOK}, {"c": [code]})


def test_a_small_client_that_lacks_every_class_is_small_and_a_large_one_is_looked_at():
    """Ten classes, of each of which fewer than five rows count for none: 40 rows may lack them all, 41 may not."""
    lacks = Note("schema.lacks-every-class", {"least": 5})
    schema = fb.fit_schema(fb.datasets.load("digits").test)
    few, many = (made(client("c", lacks, bad=(0.0, 0.0, 0.02), rows=rows)) for rows in (40, 41))
    assert reasons(replace(few, schema=schema)) == {"c": ["verdict.few-of-every-class"]}
    assert advice(replace(few, schema=schema)) == {"c": UNKNOWN}
    assert reasons(replace(many, schema=schema)) == {"c": ["verdict.hardly-a-class"]}
    assert advice(replace(many, schema=schema)) == {"c": LOOK}


@pytest.mark.parametrize("code", STATEMENTS)
def test_a_statement_stands_last_and_changes_no_verdict(code):
    said, finding = Note(code, STATEMENTS[code]), Note("judging.label-means")
    for bad, expected in (((0.0, 0.0, 0.02), INCLUDE), ((0.2, 0.1, 0.3), LOOK), ((0.1, 0.0, 0.4), UNKNOWN)):
        result = made(client("c", said, bad=bad))
        assert (advice(result), reasons(result)["c"][-1]) == ({"c": expected}, code)
    assert reasons(made(client("c", said, finding, bad=(0.0, 0.0, 0.02)))) == {"c": ["judging.label-means", code]}


def test_different_is_not_bad():
    """Clients whose values all lie elsewhere, by as much as may be, are all included."""
    away = [client(f"c{i}", Note("judging.shift", {"shift": 1.0 + i}), bad=(0.0, 0.0, 0.02)) for i in range(4)]
    result = made(*(one | {"shift": 1.0 + i, "blur": 1.2} for i, one in enumerate(away)))
    assert set(advice(result).values()) == {INCLUDE}


def test_missing_cells_count_beyond_those_of_the_reference():
    gaps = [client(f"{share}", bad=(0.0, 0.0, 0.02), missing=share) for share in (0.15, 0.16, 0.5)]
    assert advice(made(*gaps, reference_missing=0.1)) == {"0.15": INCLUDE, "0.16": LOOK, "0.5": LOOK}
    assert set(advice(made(*gaps, reference_missing=0.5)).values()) == {INCLUDE}


def test_nothing_can_be_said_where_nothing_was_estimated():
    result = made(client("known", bad=(0.0, 0.0, 0.02)), client("unknown", closeness=0.9))
    assert advice(result) == {"known": INCLUDE, "unknown": UNKNOWN}
    alone = made(client("unknown", closeness=0.9), client("other", closeness=0.9), reference_missing=0.0)
    assert set(advice(alone).values()) == {UNKNOWN}


def test_without_estimates_nothing_can_be_said_of_a_single_client():
    assert reasons(made(client())) == {"c": ["verdict.nobody-to-compare-with"]}
    assert advice(made(client(distance=np.nan), client("d"))) == {"c": UNKNOWN, "d": INCLUDE}
    assert advice(made(client(), values=[0.2])) == {"c": INCLUDE}


def test_without_estimates_clients_are_compared_with_each_other():
    close = made(*(client(f"c{i}", closeness=one) for i, one in enumerate((0.9, 0.89, 0.91, 0.6))))
    assert (advice(close)["c3"], reasons(close)["c3"]) == (LOOK, ["verdict.less-close"])
    (noted,) = (one.reasons[0].facts for one in close.verdict() if one.client == "c3")
    assert noted == {"closeness": 0.6, "median": pytest.approx(0.895)}
    alike = made(*(client(f"c{i}", closeness=one) for i, one in enumerate((0.9, 0.9, 0.9, 0.88))))
    assert set(advice(alike).values()) == {INCLUDE}
    distant = made(*(client(f"c{i}", distance=one) for i, one in enumerate((1.0, 1.1, 0.9, 5.0))))
    assert reasons(distant)["c3"] == ["verdict.far"]
    flagged = made(client("few", flagged=4), client("many", flagged=5))
    assert advice(flagged) == {"few": INCLUDE, "many": LOOK}


def test_neither_flags_nor_distance_speak_against_a_client_whose_rows_are_estimated_to_be_good():
    good, skewed = (client(name, bad=(0.0, 0.0, 0.02), flagged=6) for name in ("good", "skewed"))
    result = made(good, client("third", bad=(0.0, 0.0, 0.02)), skewed | {"distance": 9.0})
    assert set(advice(result).values()) == {INCLUDE}


@pytest.mark.parametrize(
    ("bad", "flagged", "expected"),
    [
        ((0.0, 0.0, 0.02), 8, ["verdict.many-flags"]),
        ((0.1, 0.0, 0.7), 59, ["verdict.could-be-anything"]),
        ((0.1, 0.0, 0.7), 60, ["verdict.many-flags"]),
        ((0.2, 0.1, 0.3), 36, ["verdict.wrong-labels", "verdict.many-flags"]),
        ((0.7, 0.6, 0.8), 70, ["verdict.wrong-labels"]),
        (None, 5, ["verdict.many-flags"]),
    ],
)
def test_flags_that_the_estimate_does_not_explain_are_never_praised(bad, flagged, expected):
    result = made(client("c", bad=bad, flagged=flagged), reference_missing=0.0)
    assert reasons(result) == {"c": expected}
    assert advice(result)["c"] is not INCLUDE


@given(st.tuples(shares, shares, shares), st.integers(0, 100))
def test_an_include_never_stands_beside_many_bad_or_flagged_rows(ends, flagged):
    low, share, high = sorted(ends)
    if advice(made(client(bad=(share, low, high), flagged=flagged)))["c"] is INCLUDE:
        assert high <= 0.2 + 1e-6
        assert flagged <= 25


def test_clear_harm_is_left_out_and_nothing_added_is_looked_at():
    clients = [client(f"c{i}") for i in range(4)]
    result = made(*clients, values=[0.3, 0.0, -0.1, -0.1], errors=[0.0, 0.0, 0.2, 0.01])
    assert advice(result) == {"c0": INCLUDE, "c1": LOOK, "c2": LOOK, "c3": LEAVE}


@pytest.mark.parametrize("status", [Status.FAILED, Status.REFUSED, Status.SILENT])
def test_a_failed_client_has_its_reason_without_what_is_private(status):
    why = Note("schema.too-few-rows", {"where": "ward.csv", "rows": 3, "least": 5})
    (opinion,) = made({"client": "x", "outcome": Outcome(status, (why,))}).verdict()
    assert (opinion.advice, opinion.reasons) == (Advice.NOT_VALUED, (why.redacted(),))
    assert "ward" not in opinion.why


def test_labels_that_are_written_otherwise_are_worth_a_look():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat(["benign", "malignant"], 30)
    loud = np.array([label.upper() for label in y])
    result = fb.value({"same": (X, y), "loud": (X, loud)}, (X + 0.01, y), seed=0)
    assert advice(result)["loud"] in (LOOK, Advice.NOT_VALUED)


NUMBERS = st.fixed_dictionaries(
    {"bad": st.tuples(shares, shares, shares).map(lambda three: (sorted(three)[1], min(three), max(three)))},
    optional={"missing": shares},
)


@given(st.lists(NUMBERS, min_size=2, max_size=6), st.randoms())
def test_the_order_of_clients_changes_no_verdict(numbers, random):
    clients = [client(f"c{i}", **one) for i, one in enumerate(numbers)]
    shuffled = random.sample(clients, len(clients))
    assert {one.client: one for one in made(*clients).verdict()} == {
        one.client: one for one in made(*shuffled).verdict()
    }
    ranks = [made(*some).ranking().set_index("client")["rank"].to_dict() for some in (clients, shuffled)]
    assert ranks[0] == ranks[1]


@given(NUMBERS, st.tuples(shares, shares, shares), shares)
def test_a_worse_number_never_gives_a_better_verdict(numbers, worse, more_missing):
    """Worse: each of the share of bad rows and its ends is at least as high, and so is the share of missing cells."""
    share, low, high = (old + extra * (1 - old) for old, extra in zip(numbers["bad"], sorted(worse), strict=True))
    bad = sorted((share, low, high))
    spoilt = {"bad": (bad[1], bad[0], bad[2]), "missing": max(numbers.get("missing", 0.0), more_missing)}
    places = [BEST_FIRST.index(advice(made(client(**one)))["c"]) for one in (numbers, spoilt)]
    assert places == sorted(places)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=5), st.floats(0, 0.3))
def test_a_lower_shapley_value_never_gives_a_better_verdict(values, error):
    ordered = sorted(values, reverse=True)
    clients = [client(f"c{i}") for i in range(len(ordered))]
    found = advice(made(*clients, values=ordered, errors=[error] * len(ordered)))
    for better, worse in pairwise(f"c{i}" for i in range(len(ordered))):
        assert BEST_FIRST.index(found[better]) <= BEST_FIRST.index(found[worse])
