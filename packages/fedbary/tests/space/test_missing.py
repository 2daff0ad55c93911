"""Missing cells: they are counted and seen, they never bring a row nearer, and complete rows do not notice."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from fedbary.protocols.sketch import Sketch
from fedbary.space.columns import limits
from fedbary.space.description import describe
from fedbary.space.encode import features, missing_by_column
from fedbary.space.fit import agree
from fedbary.space.notes import count_cells
from fedbary.transport import solve
from fedbary.transport.solve import cost_matrix


def people(rows=80, seed=0, holes=0.0):
    """Numbers, categories and a block, and the class in all of them; each cell missing with probability ``holes``."""
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.5
    age, dose, scan = rng.normal(40 + 20 * ill, 9), rng.normal(size=rows), rng.normal(size=(rows, 3)) + ill[:, None]
    city = np.where(rng.random(rows) < 0.3 + 0.4 * ill, "Rome", "Oslo").astype(object)
    gone = rng.random((rows, 6)) < holes
    age[gone[:, 0]], dose[gone[:, 1]], city[gone[:, 2]], scan[gone[:, 3:]] = np.nan, np.nan, None, np.nan
    return fb.Table({"age": age, "dose": dose, "city": city, "scan": scan}, np.where(ill, "ill", "well"))


SPACES = [fb.Space(), Sketch().space(None), fb.Space(metric="total", labels="onehot", projection=3)]


def test_missing_cells_are_counted_by_row_column_and_share():
    table = people(2)
    scan = np.array([[np.nan, 1.0, np.nan], [0.0, 0.0, 0.0]])
    holes = table.replace(columns={**table.columns, "city": np.array([None, "Rome"], dtype=object), "scan": scan})
    schema = fb.fit_schema(people())
    assert missing_by_column(holes, schema).tolist() == [[0, 1, 0, 2], [0, 0, 0, 0]]
    cells = count_cells(holes, schema)
    assert cells.missing.tolist() == [3, 0]
    assert cells.share(schema) == 3 / 12


@pytest.mark.parametrize("space", SPACES, ids=["paper", "sketch", "projected"])
def test_complete_rows_are_as_far_apart_as_if_nothing_could_be_missing(space):
    strict = fb.fit_schema(people(), fb.Space(**{**vars(space), "missing": "refuse"}))
    schema = fb.fit_schema(people(), space)
    table = people(40, seed=1)
    found = features(table, schema)
    np.testing.assert_array_equal(found[:, : schema.value_width], features(table, strict))
    assert not found[:, schema.value_width :].any()
    assert schema.label.weight == strict.label.weight


@pytest.mark.parametrize("space", SPACES, ids=["paper", "sketch", "projected"])
@given(seed=st.integers(0, 1000))
def test_blanking_random_cells_never_brings_a_clean_table_nearer(space, seed):
    reference = people(150, seed=10_000 + seed)
    before = costs(people(60, seed), reference, space)
    for share in (0.05, 0.2, 0.6, 0.95):
        after = costs(people(60, seed, holes=share), reference, space)
        assert after[0] > before[0]
        assert after[1] > before[1]


@pytest.mark.parametrize("space", SPACES, ids=["paper", "sketch", "projected"])
@given(seed=st.integers(0, 1000))
def test_where_the_reference_lacks_cells_lacking_more_of_them_is_farther(space, seed):
    reference = people(150, seed=10_000 + seed, holes=0.2)
    alike, worse = (costs(people(60, seed, holes=share), reference, space)[0] for share in (0.2, 0.9))
    assert worse > alike


def costs(table, reference, space):
    """Squared distance to the reference, and mean squared distance to the nearest row of it."""
    schema = fb.fit_schema(reference, space)
    cloud, target = fb.embed(table, schema), fb.embed(reference, schema)
    nearest = cost_matrix(cloud.points, target.points, 2).min(axis=1)
    return solve(cloud.points, target.points, cloud.weights, target.weights).cost, cloud.weights @ nearest


@given(st.integers(0, 1000))
def test_columns_that_the_reference_never_lacks_need_one_mark(seed):
    """To a complete target, rows are as far as if each column had a mark of its own."""
    reference = people(seed=seed)
    schema = fb.fit_schema(reference, Sketch().space(None))
    listed = replace(schema, columns=tuple(replace(column, may_lack=True) for column in schema.columns))
    assert (schema.mark_width, listed.mark_width) == (1, 5)
    holes = people(30, seed, holes=0.4)
    found = [cost_matrix(features(holes, one), features(reference, one), 2) for one in (schema, listed)]
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-9)


def test_columns_that_the_reference_lacks_have_marks_of_their_own():
    schema = fb.fit_schema(people(holes=0.2))
    assert [column.may_lack for column in schema.columns] == [True] * 4
    few = people()
    few.columns["age"][:3] = np.nan
    assert not any(column.may_lack for column in fb.fit_schema(few).columns)  # three rows are no group


def test_without_a_reference_clients_say_which_columns_lack_cells():
    settings = Sketch().space(None)
    tables = {"a": people(), "b": people(seed=1), "holes": people(seed=2, holes=0.3)}
    whole, _ = agree({name: describe(tables[name], settings, min_group=5) for name in "ab"}, settings)
    schema, _ = agree({name: describe(table, settings, min_group=5) for name, table in tables.items()}, settings)
    assert (whole.mark_width, schema.mark_width) == (0, 4)
    assert [column.low for column in schema.columns] == [()] * 4


@given(st.integers(0, 10_000), st.integers(10, 200), st.sampled_from([1.0, 50.0]), st.integers(2, 6))
def test_limits_hold_every_cell_and_are_none_of_them(seed, rows, spread, least):
    rng = np.random.default_rng(seed)
    values = rng.lognormal(sigma=1.0, size=(rows, 1)) * spread - rng.integers(0, 3)
    values[rng.random(rows) < 0.2] = np.nan
    if np.isnan(values).sum() > rows - 2 * least:
        return
    found = limits(values, min_group=least)
    present = values[~np.isnan(values)]
    assert found.low[0] <= present.min() <= found.middle[0] <= present.max() <= found.high[0]
    assert not np.isin([found.low[0], found.middle[0], found.high[0]], present).any()


def test_a_constant_column_has_narrow_limits_and_a_short_one_none():
    found = limits(np.full((50, 1), 0.1), min_group=5)
    assert found.low[0] <= 0.1 <= found.high[0] < 0.2
    assert limits(np.arange(9.0)[:, None], min_group=5).high[0] == 1e100


def test_a_pixel_that_is_never_lit_may_be_lit():
    rng = np.random.default_rng(0)
    pixels = np.column_stack([np.zeros(100), rng.integers(0, 256, 100)]).astype(float)
    assert limits(pixels, min_group=5).high[0] > 255
