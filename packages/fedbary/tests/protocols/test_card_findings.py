"""Findings in cards: the median of the others, and what a share of missing cells is compared with."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.protocols.cards.findings import medians_of_others
from fedbary.valuation.verdict import COLUMN_OFF, CONSTANT, LABEL_AGAIN


@pytest.mark.parametrize("seed", range(8))
def test_the_median_of_the_others_is_that_of_the_array_without_oneself(seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 6, (rng.integers(2, 9), 4)).astype(float)
    points[rng.random(points.shape) < 0.2] = np.nan
    points[:2] = [[1.0] * 4, [2.0] * 4]
    points[2:, 0] = np.nan
    found = medians_of_others(points)
    for place in range(len(points)):
        np.testing.assert_array_equal(found[place], np.nanmedian(np.delete(points, place, axis=0), axis=0))


def test_nobody_else_has_no_median():
    assert np.isnan(medians_of_others(np.array([[1.0], [np.nan]]))).tolist() == [[True], [False]]


@pytest.mark.parametrize(("clean", "code"), [(None, "more-missing"), (200, "much-missing")])
def test_missing_cells_are_compared_with_the_reference_or_with_the_median_client(clean, code):
    rng = np.random.default_rng(0)

    def made(rows, missing):
        codes = rng.integers(0, 2, rows)
        points = rng.standard_normal((rows, 4)) + 3.0 * codes[:, None]
        points[rng.random(points.shape) < missing] = np.nan
        return fb.Table({name: points[:, place] for place, name in enumerate("abcd")}, codes)

    clients = {f"c{number}": made(200, 0.05) for number in range(3)} | {"holes": made(200, 0.4)}
    reference = None if clean is None else made(clean, 0.0)
    result = fb.value(clients, reference, protocol="cards", seed=0)
    reasons = {opinion.client: opinion.reasons for opinion in result.verdict()}["holes"]
    note = next(note for note in reasons if note.code == f"verdict.{code}")
    assert note.facts["usual"] == pytest.approx(0.0 if clean else 0.05, abs=0.02 if clean is None else 0.0)


def test_names_that_one_client_writes_in_its_own_way_are_found():
    rng = np.random.default_rng(1)

    def made(sexes, classes):
        codes = rng.integers(0, 2, 80)
        columns = {"size": rng.normal(size=80) + 3.0 * codes, "sex": np.array(sexes)[rng.integers(0, 2, 80)]}
        return fb.Table(columns, np.array(classes)[codes])

    usual = {name: made(["female", "male"], ["benign", "malignant"]) for name in ("north", "south")}
    result = fb.value(usual | {"west": made(["Female", "Male"], ["benign", "malignant"])}, seed=0)
    (note,) = [note for note in result.outcomes["west"].notes if note.code == "protocols.card-level-coding"]
    assert (note.facts["column"], note.facts["meant"]) == ("sex", ("female", "male"))
    assert {opinion.client: opinion.advice.name for opinion in result.verdict()}["west"] == "LOOK"
    assert not result.outcomes["north"].notes
    result = fb.value(usual | {"west": made(["female", "male"], ["0", "1"])}, seed=0)
    note, *more = result.outcomes["west"].notes
    assert (note.code, note.facts["classes"]) == ("schema.unknown-classes", ("0", "1"))
    assert [(one.code, one.facts["label"]) for one in more] == [("judging.own-label", "0"), ("judging.own-label", "1")]


def off(frames):
    """The columns that each client's card is blamed for."""
    result = fb.value(frames, protocol="cards", seed=0)
    assert not result.failed
    notes = {name: [note for note in one.notes if note.code == COLUMN_OFF] for name, one in result.outcomes.items()}
    return {name: [note.facts["column"] for note in found] for name, found in notes.items() if found}


def bookings(rows, rng):
    """Columns of which most are nearly always 0, some of them in every row of many clients."""
    label = rng.random(rows) < 0.3
    shares = {"repeated": 0.03, "baby": 0.008, "island": 0.004}
    rare = {name: rng.random(rows) < share for name, share in shares.items()}
    return pd.DataFrame(
        {
            "lead": rng.gamma(0.8, 120, rows),
            "rate": rng.normal(100, 45, rows) + 20 * label,
            "waiting": (rng.random(rows) < 0.03) * rng.integers(20, 391, rows),
            "cancelled": (rng.random(rows) < 0.05) * rng.geometric(0.4, rows) ** 2,
            "gain": (rng.random(rows) < 0.08) * np.exp(rng.normal(8, 1.2, rows)),
            **{name: values.astype(float) for name, values in rare.items()},
            "label": np.where(label, "cancelled", "kept"),
        }
    )


@pytest.mark.parametrize("sizes", [[150] * 24, [400] * 5, [100, 200, 300, 500, 800]])
def test_nobody_is_blamed_for_columns_that_are_nearly_always_zero(sizes):
    rng = np.random.default_rng(0)
    assert off({f"c{place}": bookings(rows, rng) for place, rows in enumerate(sizes)}) == {}


@pytest.mark.parametrize("column", ["lead", "rate", "cancelled", "gain", "repeated"])
@pytest.mark.parametrize("unit", [1000.0, 0.001])
def test_another_unit_is_seen_also_of_rare_values(column, unit):
    rng = np.random.default_rng(1)
    frames = {f"c{place}": bookings(400, rng) for place in range(5)}
    frames["c2"] = frames["c2"].assign(**{column: frames["c2"][column] * unit})
    assert off(frames) == {"c2": [column]}


def test_a_share_that_is_turned_round_is_seen_and_one_that_is_larger_is_not():
    rng = np.random.default_rng(2)
    frames = {f"c{place}": bookings(400, rng) for place in range(5)}
    assert off({**frames, "c2": frames["c2"].assign(repeated=(rng.random(400) < 0.2).astype(float))}) == {}
    assert off({**frames, "c2": frames["c2"].assign(repeated=1.0 - frames["c2"]["repeated"])}) == {"c2": ["repeated"]}


@pytest.mark.parametrize("constant", [0.0, 1.0, 40.0])
def test_a_column_that_is_constant_at_one_client_alone_is_no_other_unit(constant):
    rng = np.random.default_rng(3)
    made = lambda: {"age": rng.normal(40, 20, 300), "x": rng.normal(size=300), "label": ["a", "b"] * 150}  # noqa: E731
    frames = {f"c{place}": pd.DataFrame(made()) for place in range(4)}
    assert off({**frames, "c0": frames["c0"].assign(age=constant)}) == {}
    assert off({**frames, "c0": frames["c0"].assign(x=constant / 40)}) == {}


@pytest.mark.parametrize("seed", range(3))
def test_a_harmless_site_effect_is_no_other_unit(seed):
    rng = np.random.default_rng(seed)
    frames = {}
    for place in range(5):
        codes = rng.integers(0, 3, 300)
        points = (rng.normal(size=(300, 6)) + 1.2 * np.eye(3, 6)[codes]) * np.exp(rng.uniform(-0.5, 0.5, 6))
        points += rng.uniform(-1.5, 1.5, 6)
        frames[f"c{place}"] = pd.DataFrame(points, columns=list("abcdef")).assign(label=[f"k{code}" for code in codes])
    assert off(frames) == {}


def _patients(rng, rows=200):
    ill = rng.integers(0, 2, rows)
    columns = {
        "income": np.exp(rng.normal(10.0, 0.5, rows) + 0.3 * ill),
        "age": rng.normal(50.0 + 5.0 * ill, 12.0),
        "ratio": rng.gamma(2.0, 0.15, rows) + 0.1 * ill,
        "visits": (rng.random(rows) < 0.02).astype(float),  # a rare event, which a site may never have
    }
    return pd.DataFrame({**columns, "label": np.where(ill, "ill", "well")})


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize(
    ("column", "change", "code", "factor"),
    [
        ("age", lambda frame: 45.0, CONSTANT, None),
        ("income", lambda frame: 0.0, CONSTANT, None),
        ("ratio", lambda frame: (frame["label"] == "ill").astype(float), LABEL_AGAIN, None),
        ("income", lambda frame: frame["income"] / 1000.0, COLUMN_OFF, 1 / 1000.0),
        ("income", lambda frame: frame["income"] * 25.4, COLUMN_OFF, 25.4),
        ("ratio", lambda frame: frame["ratio"] * 100.0, COLUMN_OFF, 100.0),
        ("age", lambda frame: frame["age"] + 273.15, COLUMN_OFF, None),
    ],
)
def test_a_planted_column_is_named(column, change, code, factor, reference):
    rng = np.random.default_rng(3)
    clients = {f"c{number}": _patients(rng) for number in range(5)}
    clients["c1"][column] = change(clients["c1"])
    result = fb.value(clients, _patients(rng) if reference else None, seed=0)
    reasons = {opinion.client: opinion.reasons for opinion in result.verdict()}
    (note,) = [one for one in reasons["c1"] if one.code in (COLUMN_OFF, CONSTANT, LABEL_AGAIN)]
    assert (note.code, note.facts["column"]) == (code, column)
    assert note.facts.get("factor") == (None if factor is None else pytest.approx(factor, rel=0.2))
    others = [one for name in clients if name != "c1" for one in reasons[name]]
    assert not [one for one in others if one.code in (COLUMN_OFF, CONSTANT, LABEL_AGAIN)]


def test_a_constant_column_changes_no_verdict_and_a_rare_event_is_none():
    rng = np.random.default_rng(4)
    clients = {f"c{number}": _patients(rng) for number in range(5)}
    clients["c1"]["age"] = 45.0
    clients["c2"]["visits"] = 0.0
    opinions = {opinion.client: opinion for opinion in fb.value(clients, seed=0).verdict()}
    assert opinions["c1"].advice == "include"
    assert opinions["c1"].reasons[-1].code == CONSTANT
    assert not [one for one in opinions["c2"].reasons if one.code == CONSTANT]


def test_classes_of_a_row_or_two_make_no_column_the_label():
    rng = np.random.default_rng(5)
    names = np.array([f"kind {number}" for number in range(60)])
    clients = {
        f"c{number}": fb.Table({"a": rng.normal(size=60), "b": rng.normal(size=60)}, names) for number in range(4)
    }
    clients["c0"] = fb.Table({"a": rng.normal(size=300), "b": rng.normal(size=300)}, np.repeat(names, 5))
    notes = [note for outcome in fb.value(clients, seed=0).outcomes.values() for note in outcome.notes]
    assert not [note for note in notes if note.code in (CONSTANT, LABEL_AGAIN)]
