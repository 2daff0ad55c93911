"""One walk for all folds; folds of different rows merge into that of all of them."""

import numpy as np
import pytest

import fedbary as fb
from fedbary.judging.judge import Judge
from fedbary.judging.model import JudgingModel
from fedbary.protocols.client import JudgeFold
from fedbary.space.fit import MomentsFold, table_moments
from fedbary.space.notes import CellFold, count_cells
from fedbary.space.points import CloudFold
from fedbary.space.walk import Batch, walk
from fedbary.valuation.rows import RowRules


def people(rows=240, seed=0, *, label="classes"):
    """Numbers, categories and a block with holes, and copies of the first rows at the end."""
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.5
    age, scan = rng.normal(40 + 20 * ill, 9), rng.normal(size=(rows, 3)) + ill[:, None]
    city = np.where(rng.random(rows) < 0.3 + 0.4 * ill, "Rome", "Oslo").astype(object)
    age[::7], city[::9], scan[::11, 1] = np.nan, None, np.nan
    labels = np.where(ill, "ill", "well") if label == "classes" else 3.0 * ill + rng.normal(size=rows)
    table = fb.Table({"age": age, "city": city, "scan": scan}, labels)
    return table.take(np.append(np.arange(rows), np.arange(40)))


def one_pass_and_merged(make, table, schema, cuts=(90, 91)):
    """A fold of batches one after the other, and folds of each batch that were merged."""
    pieces = [table.take(rows) for rows in np.split(np.arange(len(table)), cuts)]
    one, (first, *others) = make(), [make() for _ in pieces]
    for piece, fold in zip(pieces, [first, *others], strict=True):
        walk(piece, schema, one, fold)
    for other in others:
        first.merge(other)
    return one.done(), first.done()


@pytest.mark.parametrize("label", ["classes", "number"])
def test_counted_cells_merge(label):
    table, schema = people(label=label), fb.fit_schema(people(seed=1, label=label))
    whole, found = count_cells(table, schema), one_pass_and_merged(lambda: CellFold(schema), table, schema)
    for counts in found:
        np.testing.assert_array_equal(counts.missing, whole.missing)
        assert counts.lacking == whole.lacking
        assert {k: v.tolist() for k, v in counts.beyond.items()} == {k: v.tolist() for k, v in whole.beyond.items()}


@pytest.mark.parametrize("labels", ["onehot", "gaussian", "gaussian-full", "numeric"])
@pytest.mark.parametrize("projection", ["none", 3])
def test_clouds_merge_to_the_bit_and_are_the_points(labels, projection):
    label = "number" if labels == "numeric" else "classes"
    table = people(label=label)
    schema = fb.fit_schema(people(seed=1, label=label), fb.Space(labels=labels, metric="total", projection=projection))
    one, merged = one_pass_and_merged(lambda: CloudFold(schema), table, schema)
    for name in ("weights", "point_of_row", "first"):
        np.testing.assert_array_equal(getattr(merged, name), getattr(one, name))
    np.testing.assert_array_equal(merged.in_memory().points, one.in_memory().points)
    whole = fb.embed(table, schema)
    assert (one.rows, one.distinct) == (whole.rows, whole.distinct) == (280, 240)
    points = one.in_memory().points[one.point_of_row]
    np.testing.assert_allclose(points, whole.points[whole.point_of_row], atol=1e-7)  # roots


def test_moments_merge():
    table, schema = people(), fb.fit_schema(people(seed=1), fb.Space(labels="onehot"))
    whole, (one, merged) = table_moments(table, schema), one_pass_and_merged(lambda: MomentsFold(schema), table, schema)
    for name in ("mean", "second", "between"):
        np.testing.assert_array_equal(getattr(merged, name), getattr(one, name))
        np.testing.assert_allclose(getattr(one, name), getattr(whole, name), rtol=1e-12, atol=1e-12)


def test_judges_merge():
    settings = fb.Sketch(support=20)
    server = settings.server(["a"], people(seed=1), settings.space(None), rules=RowRules(), seed=0)
    message, table = server.tasks()["a"], people()
    schema = fb.Schema.from_json(message.scalars["schema"])
    model = JudgingModel.from_arrays(message.arrays, width=schema.encoded_width)
    one, merged = one_pass_and_merged(
        lambda: JudgeFold(Judge(model, len(table)), schema, projected=False), table, schema
    )
    weights = one.own_weights()
    np.testing.assert_array_equal(merged.own_weights(), weights)
    np.testing.assert_array_equal(merged.judged(weights).features, one.judged(weights).features)


def test_rows_are_encoded_once_for_all_folds(monkeypatch):
    table, schema = people(), fb.fit_schema(people(seed=1))
    seen = []

    class Sees:
        def add(self, batch: Batch) -> None:
            seen.append(batch.encoded)

        def merge(self, other):
            raise AssertionError

        def done(self):
            raise AssertionError

    monkeypatch.setattr(fb.Table.batches, "__defaults__", (100,))
    walk(table, schema, Sees(), Sees())
    assert [len(rows) for rows in seen] == [100, 100, 100, 100, 80, 80]
    assert all(one is other for one, other in zip(seen[::2], seen[1::2], strict=True))
