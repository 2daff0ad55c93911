"""The card of a large table is made a part at a time, and is the card of all its rows."""

import numpy as np
import pytest

import fedbary as fb
from fedbary.data.table import PART
from fedbary.protocols.cards.card import ARRAYS, joined
from fedbary.protocols.cards.exact_card import by_name, card_of_rows, exact_card, narrowed
from fedbary.space.row_identity import different_rows

ROWS = 1000


def mixed_table(kind: str, *, first_without: bool = False) -> fb.Table:
    """Large numbers, missing cells, levels and classes of which single parts have only some."""
    rng = np.random.default_rng(7)
    age = 50.0 + rng.normal(size=ROWS)
    age[rng.random(ROWS) < 0.2] = np.nan
    city = np.array(["Oslo", "Rome", "Bonn", None], dtype=object)[rng.integers(4, size=ROWS)]
    city[:300] = "Lima"
    scan = rng.normal(size=(ROWS, 3))
    scan[500:, 1][rng.random(500) < 0.3] = np.nan
    if first_without:
        age[:300] = np.nan
    labels = rng.normal(size=ROWS) if kind == "number" else np.sort(rng.integers(4, size=ROWS)).astype(str)
    columns = {"age": age, "city": city, "far": 1e6 + rng.normal(size=ROWS), "scan": scan}
    return fb.Table(columns, labels)


@pytest.mark.parametrize("kind", ["classes", "number"])
@pytest.mark.parametrize("first_without", [False, True])
def test_cards_of_parts_are_the_card_of_all_rows(kind, first_without):
    table = mixed_table(kind, first_without=first_without)
    whole = card_of_rows(table, kind)
    found = joined(card_of_rows(part, kind) for part in table.batches(rows=150))
    assert (found.columns, found.classes, found.rows) == (whole.columns, whole.classes, whole.rows)
    assert np.array_equal(found.counts, whole.counts)
    assert np.allclose(found.centre, whole.centre, rtol=1e-13, atol=0)
    assert np.allclose(found.sums, whole.sums, rtol=0, atol=1e-5)  # a million's last digit, times a thousand rows
    scale = np.sqrt(np.maximum(np.diag(whole.second), 1.0))
    assert np.allclose(found.second / np.outer(scale, scale), whole.second / np.outer(scale, scale), atol=1e-12)


@pytest.fixture(scope="module")
def large():
    """More rows than one part has, some of them twice."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(PART, 2))
    labels = rng.integers(3, size=PART)
    again = rng.choice(PART, size=PART // 2, replace=False)
    values, labels = np.vstack([rows, rows[again]]), np.concatenate([labels, labels[again]])
    return fb.Table({"late": values[:, 0], "early": values[:, 1]}, labels, ids=np.arange(len(values)))


def test_a_large_table_is_changed_part_by_part(large):
    different = different_rows(by_name(large))
    assert not by_name(large).in_memory
    assert len(different) == PART
    assert different.ids is None
    assert list(different.columns) == ["early", "late"]
    assert sum(map(len, different.batches())) == PART
    first = next(different.batches())
    assert np.array_equal(first.columns["late"], large.columns["late"][:PART])
    assert np.array_equal(different.take([5, 3]).columns["early"], large.columns["early"][[5, 3]])


def test_the_card_of_a_large_table_counts_copies_once(large):
    card = exact_card(large, task="classification")
    once = card_of_rows(large.take(np.arange(PART)).replace(ids=None), "classes")
    assert card.rows == len(large)
    assert card.counts.tolist() == once.counts.tolist()
    for name in ARRAYS:
        assert np.allclose(getattr(card, name), getattr(once, name), atol=1e-8)


def test_a_wide_block_is_narrowed_part_by_part(monkeypatch):
    table = fb.Table.from_arrays(np.random.default_rng(0).normal(size=(50, 1100)), np.arange(50) % 2)
    whole = narrowed(table).columns["x"]
    monkeypatch.setattr("fedbary.data.table.PART", 20)
    found = narrowed(table)
    assert not found.in_memory
    parts = [part.columns["x"] for part in found.batches(rows=20)]
    assert [part.shape for part in parts] == [(20, 257), (20, 257), (10, 257)]
    assert np.allclose(np.vstack(parts), whole)
