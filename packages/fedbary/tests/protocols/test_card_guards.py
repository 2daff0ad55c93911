"""Guards of an exact card: each attack reads rows off an unguarded card, and fails on a guarded one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codes import coded
from fedbary.data.table import Table
from fedbary.errors import DataError
from fedbary.protocols.cards.card import Card
from fedbary.protocols.cards.exact_card import exact_card
from fedbary.space.row_identity import winsorised
from guarded_cards import guarded_card

ROWS = 200
LONE = 7


def cells(seed: int = 0, rows: int = ROWS, width: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, width))


def table_of(columns: dict[str, object], labels: object = None, rows: int = ROWS) -> Table:
    return Table(columns, ["a", "b"] * (rows // 2) if labels is None else labels)


def numbered(x: np.ndarray) -> dict[str, object]:
    return {f"a{j}": x[:, j] for j in range(x.shape[1])}


def raw(card: Card) -> tuple[np.ndarray, np.ndarray, float]:
    """What a receiver knows: second moment and sum about the origin, and the number of rows."""
    moved = card.about(np.zeros(card.width))
    return moved.second, moved.sums.sum(axis=0), float(moved.counts.sum())


def combined(card: Card, combination: np.ndarray, constant: float = 0.0) -> np.ndarray:
    """Σ ⟨v, z⟩ z, less a constant: a row, where ⟨v, z⟩ is that constant in all others."""
    second, total, _ = raw(card)
    return second @ combination - constant * total


def lone_column() -> tuple[Table, np.ndarray]:
    x = cells()
    mark = np.zeros(ROWS)
    mark[LONE] = 1.0
    return table_of({**numbered(x), "mark": mark}), x[LONE]


def test_a_single_one_in_a_column_is_not_a_row_of_the_second_moment() -> None:
    table, row = lone_column()
    read = combined(exact_card(table), np.array([0.0, 0, 0, 0, 1]))[:4]
    assert np.allclose(read, row)
    guarded = guarded_card(table)
    assert guarded.full
    assert np.all(guarded.second[4] == 0.0)
    assert np.all(guarded.sums[:, 4] == 0.0)


def test_a_single_missing_cell_is_not_marked() -> None:
    x = cells()
    hollow = x[:, 0].copy()
    hollow[LONE] = np.nan
    table = table_of({**numbered(x[:, 1:]), "y": hollow})
    exact = exact_card(table)
    assert exact.columns[-1].lacks
    assert np.allclose(combined(exact, np.eye(5)[4])[:3], x[LONE, 1:])
    assert not guarded_card(table).columns[-1].lacks


def test_the_only_cell_that_is_there_is_not_told() -> None:
    x = cells()
    hollow = np.full(ROWS, np.nan)
    hollow[LONE] = 73.0
    table = table_of({**numbered(x), "y": hollow})
    assert exact_card(table).centre[4] == 73.0
    guarded = guarded_card(table)
    assert not np.any(np.isclose(guarded.centre[4:], 73.0))


def test_rare_levels_have_no_name_and_no_complement() -> None:
    x = cells()
    levels = np.array(["red", "blue"] * (ROWS // 2), dtype=object)
    levels[LONE] = "violet"
    table = table_of({**numbered(x), "colour": levels})
    exact = exact_card(table)
    places = {level: 4 + at for at, level in enumerate(exact.columns[-1].levels)}
    assert np.allclose(combined(exact, np.eye(7)[places["violet"]])[:4], x[LONE])
    guarded = guarded_card(table)
    assert guarded.columns[-1].levels == ("blue", "red")
    second, total, rows = raw(guarded)
    # Rows that are neither red nor blue: there is none, so that nothing is left by subtraction.
    assert rows - total[4:].sum() == pytest.approx(0.0, abs=1e-9)
    assert np.allclose(total - second[4] - second[5], 0.0, atol=1e-9)


def test_many_rare_levels_are_other_together() -> None:
    levels = np.array(["red", "blue"] * (ROWS // 2), dtype=object)
    levels[:10] = [f"name {i}" for i in range(10)]
    guarded = guarded_card(table_of({**numbered(cells()), "colour": levels}))
    assert guarded.columns[-1].levels == ("blue", "red")
    _, total, rows = raw(guarded)
    assert rows - total[4:].sum() == pytest.approx(10.0)


def test_a_small_class_is_not_named_and_no_sum_of_few_rows() -> None:
    x = cells()
    labels = np.array(["a", "b"] * (ROWS // 2), dtype=object)
    labels[LONE] = "rare illness"
    table = table_of(numbered(x), labels)
    exact = exact_card(table).about(np.zeros(4))
    assert np.allclose(exact.sums[exact.classes.index("rare illness")], x[LONE])
    guarded = guarded_card(table)
    assert guarded.classes == ("a", "b")
    assert guarded.counts.sum() == ROWS - 1


def test_a_lone_value_of_a_class_is_not_its_sum() -> None:
    x = cells()
    labels = np.repeat(["a", "b"], ROWS // 2)
    dose = np.where(labels == "a", np.arange(ROWS), 0.0)
    dose[-1] = 41.5
    table = table_of({**numbered(x), "dose": dose}, labels)
    exact = exact_card(table).about(np.zeros(5))
    assert exact.sums[1, 4] == pytest.approx(41.5)
    assert guarded_card(table).about(np.zeros(5)).sums[1, 4] == pytest.approx(0.0, abs=1e-8)


def test_one_huge_cell_does_not_make_the_second_moment_its_row() -> None:
    x = cells()
    x[LONE, 0] = 1e6
    table = table_of(numbered(x))

    def read(card: Card) -> np.ndarray:
        return np.asarray(card.second[0] / np.sqrt(card.second[0, 0]))[1:]

    row = (x - x.mean(axis=0))[LONE, 1:]
    assert np.allclose(read(exact_card(table)), row, atol=1e-2)
    guarded = guarded_card(table)
    assert np.abs(read(guarded) - row).max() > 0.5
    assert guarded.second[0, 0] < 1e3 * ROWS


def test_a_pair_that_one_row_has_is_not_told() -> None:
    x = cells(rows=400)
    one, two = np.zeros(400), np.zeros(400)
    one[:40], two[39:80] = 1.0, 1.0
    table = table_of({**numbered(x), "one": one, "two": two}, rows=400)
    assert raw(exact_card(table))[0][4, 5] == pytest.approx(1.0)
    guarded = guarded_card(table)
    assert guarded.second[4, 5] == pytest.approx(0.0, abs=1e-9)
    assert np.diag(guarded.second) == pytest.approx(np.diag(exact_card(table).second))


def test_what_a_pair_of_levels_hides_the_other_levels_do_not_tell() -> None:
    x = cells(rows=600, width=2)
    levels = np.array(["p", "q", "r"] * 200, dtype=object)
    mark = np.zeros(600)
    mark[1::3][:30] = 1.0
    mark[2::3][:30] = 1.0
    mark[0] = 1.0  # the only one with level p
    table = table_of({**numbered(x), "level": levels, "mark": mark}, rows=600)
    second, total, _ = raw(exact_card(table))
    assert total[5] - second[5, 3] - second[5, 4] == pytest.approx(1.0)
    second, total, _ = raw(guarded_card(table))
    assert abs(total[5] - second[5, 3] - second[5, 4] - 1.0) > 5.0


@pytest.mark.parametrize("kind", ["difference", "complement"])
def test_two_columns_that_differ_in_one_row_do_not_single_it_out(kind: str) -> None:
    x = cells(rows=400)
    one = (np.arange(400) % 4 == 0).astype(float)
    two = one.copy()
    two[LONE] = 1.0
    if kind == "complement":
        two = 1.0 - two
    table = table_of({**numbered(x), "one": one, "two": two}, rows=400)
    sign, constant = (-1.0, 0.0) if kind == "difference" else (1.0, 1.0)
    v = np.array([0, 0, 0, 0, 1.0, sign])
    assert np.allclose(-combined(exact_card(table), v, constant)[:4], x[LONE])
    read = -combined(guarded_card(table), v, constant)[:4]
    assert np.abs(read - x[LONE]).max() > 0.5


@pytest.mark.parametrize("few", [[LONE], [LONE, 100]], ids=["one row", "two rows"])
def test_a_combination_of_columns_that_holds_in_all_rows_but_few(few: list[int]) -> None:
    x = cells(rows=400)
    total = x[:, 0] + 2 * x[:, 1] - x[:, 2]
    total[few] += 3.0
    table = table_of({**numbered(x), "total": total}, rows=400)
    v = np.array([-1.0, -2.0, 1.0, 0.0, 1.0])
    assert np.allclose(combined(exact_card(table), v)[:4] / 3.0, x[few].sum(axis=0))
    guarded = guarded_card(table)
    assert guarded.counts.sum() == 400 - len(few)
    assert np.abs(combined(guarded, v)).max() < 1e-6


def test_a_column_that_is_the_class_in_all_rows_but_one() -> None:
    x = cells(rows=400)
    labels = np.repeat(["a", "b"], 200)
    ward = (labels == "a").astype(float)
    ward[300] = 1.0
    table = table_of({**numbered(x), "ward": ward}, labels)

    def read(card: Card) -> np.ndarray:
        moved = card.about(np.zeros(5))
        return np.asarray(moved.second[4] - moved.sums[0])

    assert np.allclose(read(exact_card(table))[:4], x[300])
    assert np.abs(read(guarded_card(table))).max() < 1e-8


def test_few_rows_for_many_columns_tell_no_products() -> None:
    x = cells(rows=60, width=30)
    table = table_of(numbered(x), rows=60)
    assert exact_card(table).full
    assert guarded_card(table).second.shape == (30,)
    assert guarded_card(table_of(numbered(cells(rows=150, width=30)), rows=150)).full


def test_a_number_as_label_is_guarded_as_a_column() -> None:
    x = cells()
    label = x[:, 0] + 0.1 * x[:, 1]
    label[LONE] = 1e6
    card = guarded_card(Table(numbered(x), label), task="regression")
    assert card.kind == "number"
    squares = np.diag(card.second)
    assert squares[-1] < 1e4


def test_no_class_of_enough_rows_is_refused() -> None:
    with pytest.raises(DataError, check=coded("schema.too-few-in-a-group")):
        guarded_card(Table({"x": np.arange(8.0)}, list("aabbccdd")))
    with pytest.raises(DataError, check=coded("schema.too-few-rows")):
        guarded_card(Table({"x": np.arange(3.0)}, list("aab")))


def test_without_anything_rare_the_card_is_exact() -> None:
    table = table_of(numbered(cells()))
    exact, guarded = exact_card(table, name="me"), guarded_card(table, name="me")
    for part in ("centre", "counts", "sums", "second"):
        assert np.allclose(getattr(exact, part), getattr(guarded, part), atol=1e-9)
    assert (guarded.name, guarded.rows) == (exact.name, exact.rows)


seeds = st.integers(0, 2**31)


def mixed(seed: int, rows: int = 120) -> dict[str, np.ndarray]:
    """Numbers with heavy tails, holes and few values; levels of all frequencies."""
    rng = np.random.default_rng(seed)
    heavy = rng.standard_t(1.5, size=rows)
    hollow = rng.normal(size=rows)
    hollow[rng.random(rows) < rng.choice([0.01, 0.3])] = np.nan
    sparse = np.where(rng.random(rows) < rng.choice([0.02, 0.1, 0.6]), rng.normal(size=rows), 0.0)
    binary = (rng.random(rows) < rng.choice([0.02, 0.2])).astype(float)
    levels = rng.choice(list("pqrstu"), size=rows, p=[0.5, 0.3, 0.1, 0.05, 0.03, 0.02]).astype(object)
    return {"heavy": heavy, "hollow": hollow, "sparse": sparse, "binary": binary, "levels": levels}


def labels_for(seed: int, rows: int = 120) -> np.ndarray:
    return np.random.default_rng([seed, 1]).choice(list("abcd"), size=rows, p=[0.5, 0.3, 0.17, 0.03])


def assert_same(one: Card, two: Card, scale: np.ndarray | float = 1.0, shift: np.ndarray | float = 0.0) -> None:
    assert (one.columns, one.classes, one.full) == (two.columns, two.classes, two.full)
    assert np.array_equal(one.counts, two.counts)
    assert np.allclose(one.centre * scale + shift, two.centre, atol=1e-6)
    assert np.allclose(one.sums * scale, two.sums, atol=1e-6 * ROWS * np.max(scale))
    square = np.multiply.outer(scale, scale) if one.full and np.ndim(scale) else np.asarray(scale) ** 2
    assert np.allclose(one.second * square, two.second, rtol=1e-6, atol=1e-5 * np.max(square))


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_order_and_copies_change_nothing(seed: int) -> None:
    columns, labels = mixed(seed), labels_for(seed)
    rng = np.random.default_rng([seed, 2])
    order = rng.permutation(np.concatenate([np.arange(120), rng.integers(0, 120, size=60)]))
    again = Table({name: values[order] for name, values in columns.items()}, labels[order])
    assert_same(guarded_card(Table(columns, labels)), guarded_card(again))


@settings(max_examples=25, deadline=None)
@given(seeds, st.floats(0.125, 8.0), st.floats(-5.0, 5.0))
def test_units_change_nothing(seed: int, factor: float, shift: float) -> None:
    columns, labels = mixed(seed), labels_for(seed)
    factor = 2.0 ** round(np.log2(factor))
    moved = {**columns, "heavy": columns["heavy"] * factor, "sparse": columns["sparse"] * factor}
    one, two = guarded_card(Table(columns, labels)), guarded_card(Table(moved, labels))
    scale, start = np.ones(one.width), 0
    for column in one.columns:
        if column.name in ("heavy", "sparse"):
            scale[start] = factor
        start += column.coordinates
    assert_same(one, two, scale)
    shifted = guarded_card(Table({**columns, "heavy": columns["heavy"] + shift}, labels))
    assert np.allclose(shifted.sums, one.sums, atol=1e-6)
    assert np.allclose(shifted.second, one.second, atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from([3, 5, 8]))
def test_a_guarded_card_is_a_covariance_of_groups(seed: int, least: int) -> None:
    card = guarded_card(Table(mixed(seed), labels_for(seed)), min_group=least)
    assert card.counts.min() >= least
    _, total, _ = raw(card)
    if card.full:
        scale = np.sqrt(np.maximum(np.diag(card.second), 1e-12))
        assert np.linalg.eigvalsh(card.second / np.outer(scale, scale)).min() > -1e-9
    start = 0
    for column in card.columns:
        if column.kind == "categorical":
            # Every level, and none of them, has no row or so many, in every class.
            by_class = card.about(np.zeros(card.width)).sums[:, start : start + column.coordinates]
            counts = np.column_stack([by_class, card.counts - by_class.sum(axis=1)])
            assert np.all((counts < 0.5) | (counts > least - 0.5))
        start += column.coordinates
    assert np.isfinite(total).all()


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(2, 12), st.integers(30, 200), st.floats(0.7, 4.0))
def test_no_cell_makes_up_more_than_its_share(seed: int, least: int, rows: int, tails: float) -> None:
    x = np.random.default_rng(seed).standard_t(tails, size=(rows, 3)) + 1000.0
    plain = winsorised(x, least)
    squares = (plain - plain.mean(axis=0)) ** 2
    assert (squares.max(axis=0) <= squares.sum(axis=0) / min(least, rows / 2) * (1 + 1e-6)).all()
    inside = np.abs(x - np.median(x, axis=0)) < np.median(np.abs(x - np.median(x, axis=0)), axis=0)
    assert np.array_equal(plain[inside], x[inside])
