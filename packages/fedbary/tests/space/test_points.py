"""Points: label coordinates, duplicates, projection, whitening and the split of the reference."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded
from fedbary.notes import notes_from_text, notes_to_text
from fedbary.space.description import Description, describe
from fedbary.space.fit import agree, needs_moments, table_moments, with_moments
from fedbary.space.notes import fit_notes
from fedbary.space.row_identity import RARE, k_anonymous_rows, without_rare_values


def blobs(rows=120, width=4, seed=0, labels="abc"):
    rng = np.random.default_rng(seed)
    y = np.array(list(labels))[rng.integers(0, len(labels), rows)]
    X = rng.normal(size=(rows, width)) + 3 * np.array([ord(c) - ord("a") for c in y])[:, None]
    return fb.Table.from_arrays(X, y)


def test_gaussian_labels_are_each_class_mean_and_spread():
    table = blobs()
    schema = fb.fit_schema(table, fb.Space(scaling="none"))
    cloud = fb.embed(table, schema)
    rows = cloud.points[cloud.point_of_row]
    X = table.columns["x"]
    for name in "abc":
        mine = table.labels == name
        np.testing.assert_allclose(rows[mine, 5:9] - X[mine].mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(rows[mine, 9:] - X[mine].std(axis=0), 0, atol=1e-12)


def test_full_gaussian_labels_hold_the_root_of_the_covariance():
    table = blobs(width=3)
    schema = fb.fit_schema(table, fb.Space(scaling="none", labels="gaussian-full"))
    cloud = fb.embed(table, schema)
    rows = cloud.points[cloud.point_of_row]
    mine = table.labels == "b"
    root = rows[mine][0, 7:].reshape(3, 3)
    np.testing.assert_allclose(root @ root, np.cov(table.columns["x"][mine].T, ddof=0), atol=1e-10)


def test_two_onehot_labels_are_lambda_apart_and_lambda_is_the_expected_feature_distance():
    table = blobs()
    schema = fb.fit_schema(table, fb.Space(labels="onehot", metric="within"))
    cloud = fb.embed(table, schema)
    rows = cloud.points[cloud.point_of_row]
    features, labels = rows[:, :4], rows[:, 4:]
    a, b = (np.flatnonzero(table.labels == name)[0] for name in "ab")
    assert ((labels[a] - labels[b]) ** 2).sum() == pytest.approx(schema.label.weight)
    pairs = ((features[:, None] - features[None]) ** 2).sum(axis=2).mean()
    assert schema.label.weight == pytest.approx(pairs)


def test_numeric_labels_are_standardised_and_weighted():
    table = fb.datasets.load("diabetes").train
    schema = fb.fit_schema(table)
    assert schema.label.kind == "number"
    cloud = fb.embed(table, schema)
    column = cloud.points[cloud.point_of_row][:, -1] / np.sqrt(schema.label.weight)
    assert column.mean() == pytest.approx(0, abs=1e-9)
    assert column.std() == pytest.approx(1)


def test_absent_unknown_and_single_row_classes_are_ordinary():
    reference = blobs()
    client = fb.Table.from_arrays(np.random.default_rng(1).normal(size=(11, 4)), ["a"] * 5 + ["z"] * 5 + ["q"])
    for labels in ("gaussian", "gaussian-full", "onehot"):
        schema = fb.fit_schema(reference, fb.Space(labels=labels))
        assert np.isfinite(fb.embed(client, schema).points).all()
    lacks, unknown = fit_notes(client, schema)
    assert (lacks.code, lacks.facts["classes"]) == ("schema.lacks-classes", ("b", "c"))
    assert (unknown.code, unknown.facts["classes"]) == ("schema.unknown-classes", ("q", "z"))
    lacks, unknown = fit_notes(client, schema, min_group=5)
    assert (lacks.facts["least"], lacks.facts["classes"]) == (5, ("b", "c"))
    assert unknown.facts == {"count": 1, "classes": ("z",)}  # that there is a row of another class is not told


@given(st.integers(0, 1000), st.integers(1, 4))
def test_copying_or_shuffling_a_table_gives_the_same_measure(seed, copies):
    rng = np.random.default_rng(seed)
    table = blobs(30, seed=seed)
    schema = fb.fit_schema(table)
    cloud = fb.embed(table, schema)
    other = fb.embed(table.take(rng.permutation(np.tile(np.arange(30), copies))), schema)
    assert other.distinct == cloud.distinct
    assert other.rows == 30 * copies
    np.testing.assert_array_equal(other.weights, cloud.weights)
    np.testing.assert_allclose(other.points, cloud.points, atol=1e-12)


def test_the_residual_keeps_noise_off_the_manifold_visible():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 20))
    table = fb.Table.from_arrays(flat, np.arange(300) % 2)
    schema = fb.fit_schema(table, fb.Space(projection=3))
    noisy = fb.Table.from_arrays(flat + rng.normal(size=flat.shape), np.arange(300) % 2)
    residual = [fb.embed(t, schema).points[:, 3].mean() for t in (table, noisy)]
    assert residual[0] < 1e-6
    assert residual[1] > 1.0


def test_wide_data_is_projected_by_default():
    table = fb.Table.from_arrays(np.random.default_rng(0).normal(size=(100, 700)), np.arange(100) % 2)
    assert fb.fit_schema(table).value_width == 65
    assert fb.fit_schema(table, fb.Space(projection="none")).value_width == 700


@pytest.mark.parametrize(("metric", "classes"), [("within", True), ("total", True), ("within", False)])
def test_whitening_without_shrinkage_makes_the_covariance_the_identity(metric, classes):
    table = blobs(500)
    if not classes:
        table = fb.Table.from_arrays(table.columns["x"], np.random.default_rng(0).normal(size=500))
    schema = fb.fit_schema(table, fb.Space(metric=metric, labels="onehot" if classes else "numeric", shrinkage=0.0))
    cloud = fb.embed(table, schema)
    values = cloud.points[cloud.point_of_row][:, :4]
    if metric == "within" and classes:
        values = values - np.array([values[table.labels == name].mean(axis=0) for name in table.labels])
    np.testing.assert_allclose(np.cov(values.T, ddof=0), np.eye(4), atol=1e-8)


@pytest.mark.parametrize("metric", ["euclidean", "within"])
def test_a_schema_from_federated_sums_equals_the_one_of_the_pooled_table(metric):
    """Clients of one size: averages over clients are averages over rows."""
    table = blobs(200)
    parts = [table.take(np.arange(i, 200, 2)) for i in range(2)]
    settings = fb.Space(metric=metric, labels="onehot")
    pooled = dataclasses.replace(fb.fit_schema(table, settings), shared_mark=False)
    schema, out = agree({str(i): describe(part, settings) for i, part in enumerate(parts)}, settings)
    assert not out
    assert needs_moments(schema, settings)
    schema = with_moments(schema, settings, [table_moments(part, schema) for part in parts])
    if metric == "euclidean":
        ours, theirs = (fb.embed(table, s) for s in (schema, pooled))
        np.testing.assert_allclose(ours.points[ours.point_of_row], theirs.points[theirs.point_of_row], atol=1e-9)
    else:
        # Class means of the two halves differ a little, so the pooled within-class covariance does, too.
        assert np.linalg.norm(schema.whitening - pooled.whitening) < 0.05 * np.linalg.norm(pooled.whitening)


def test_clients_with_other_columns_are_left_out_with_the_reason():
    settings = fb.Space()
    tables = {name: blobs(seed=i) for i, name in enumerate("uvw")} | {"odd": blobs(width=5)}
    _, out = agree({name: describe(table, settings) for name, table in tables.items()}, settings)
    assert list(out) == ["odd"]
    assert out["odd"].code == "schema.columns-of-another-kind"


def test_small_classes_leave_no_trace_in_the_moments():
    table = blobs(100)
    marked = fb.Table.from_arrays(
        np.vstack([table.columns["x"], np.full((2, 4), 50.0)]), np.append(table.labels, ["rare", "rare"])
    )
    draft = fb.fit_schema(table)
    guarded, without = (table_moments(t, draft, min_group=5) for t in (marked, table))
    for name in ("mean", "second", "between"):
        np.testing.assert_allclose(getattr(guarded, name), getattr(without, name), atol=1e-12)


def test_five_copies_of_one_row_are_no_class_in_the_moments():
    """The attack: mean and between-class part have rank two together, so they show a class of two up to a sign."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(65, 4)), np.array(["a"] * 60 + ["rare"] * 5)
    X[60:] = X[60]
    table = fb.Table.from_arrays(X, y)
    draft = fb.fit_schema(table, fb.Space(metric="euclidean", labels="onehot", scaling="none", projection="none"))

    def read(min_group):
        found = table_moments(table, draft, min_group=min_group)
        sizes, directions = np.linalg.eigh(found.between - np.outer(found.mean, found.mean))
        share = 5 / 65
        off = directions[:, -1] * np.sqrt(max(sizes[-1], 0.0) / (share * (1 - share))) * (1 - share)
        return min(np.abs(found.mean + sign * off - X[60]).max() for sign in (1, -1))

    assert read(min_group=1) < 1e-6
    assert read(min_group=5) > 0.1
    with pytest.raises(fb.FedbaryError, check=coded("schema.no-class-with-enough-rows")):
        table_moments(table, draft, min_group=61)


def test_k_anonymous_rows_are_whole_groups_of_different_rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=30), np.r_[np.zeros(28), 7.0, 8.0], np.r_[np.zeros(20), np.full(10, np.nan)]])
    city = np.r_[np.repeat(["Ulm", "Bonn"], 10), ["Rare1", "Rare2", "Rare3"] * 2, ["Ulm"] * 4].astype(object)
    y = np.array(["a"] * 23 + ["b"] * 4 + ["c"] * 3)
    table = fb.Table({"age": X[:, 0], "sick": X[:, 1], "dose": X[:, 2], "city": city}, y)
    told = k_anonymous_rows(table.take(np.r_[np.arange(30), np.zeros(50, dtype=int)]), "classes", min_group=5)
    assert set(told.labels) == {"a"}
    assert len(told) == 23
    assert not told.columns["sick"].any()
    assert not told.columns["dose"].any()  # three missing of 23 would be a group of three
    assert set(told.columns["city"]) == {"Ulm"} | {"Bonn"}
    number = k_anonymous_rows(table.replace(labels=X[:, 0]), "number", min_group=5)
    assert len(number) == 30
    assert number.columns["sick"].max() == 0.0
    assert (number.columns["city"] == RARE).sum() == 6
    again = k_anonymous_rows(told, "classes", min_group=5)
    assert all((again.columns[name] == told.columns[name]).all() for name in told.columns)


def test_few_missing_numbers_are_filled_and_few_present_ones_left_out():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(20, 3))
    values[:3, 0], values[3:, 1], values[5:13, 2] = np.nan, np.nan, np.nan
    columns = {"few": values[:, 0], "scarce": values[:, 1], "many": values[:, 2]}
    told = k_anonymous_rows(fb.Table(columns, ["a"] * 20), "classes", min_group=5).columns
    assert [int(np.isnan(told[name]).sum()) for name in columns] == [0, 20, 8]
    middle = np.sort(values[3:, 0])[6:11].mean()
    np.testing.assert_allclose(told["few"][:3], middle)


def test_rows_that_differ_in_rare_texts_alone_are_one_row():
    table = fb.Table({"x": np.full(5, 1.7), "note": list("vwxyz")}, ["a"] * 5)
    with pytest.raises(fb.FedbaryError, check=coded("schema.too-few-in-a-group")):
        k_anonymous_rows(table, "classes", min_group=5)


def test_no_value_of_a_single_row_stands_for_a_column():
    values = np.array([[3.1], [4.1], [5.9], [2.6], [9.7]])
    np.testing.assert_array_equal(without_rare_values(values, 5), values)
    np.testing.assert_array_equal(
        without_rare_values(np.array([[0.0], [0.0], [0.0], [1.0], [2.0]]), 5), np.zeros((5, 1))
    )


def test_long_and_broken_names_are_cut_in_notes_and_refused_as_classes():
    rng = np.random.default_rng(0)
    names = np.repeat([c * 500 + "\n" for c in "uvwxyz"], 6)
    table = fb.Table.from_arrays(rng.normal(size=(36, 4)), names)
    notes = fit_notes(table, fb.fit_schema(blobs()), min_group=5)
    assert len(notes) == 2
    assert max(len(str(note)) for note in notes) < 250
    assert "\n" not in "".join(map(str, notes))
    assert list(map(str, notes_from_text(notes_to_text(notes)))) == list(map(str, notes))  # they can be sent
    with pytest.raises(fb.FedbaryError, check=coded("schema.label-looks-like-text")):
        describe(table, fb.Space(), min_group=5)
    honest = describe(blobs(), fb.Space())
    for name in ("x" * 201, "\x1b[2J", "\ud800"):
        with pytest.raises(fb.FedbaryError, check=coded("schema.description-unreadable")):
            Description.from_json(dataclasses.replace(honest, classes=(name,)).to_json())


@pytest.mark.parametrize("width", [3, 784])
def test_copies_are_one_point_whatever_the_rounding_of_matrix_products(width):
    """Equal rows can get different last bits from a matrix product, and guards that count rows would be fooled."""
    rng = np.random.default_rng(0)
    table = fb.Table.from_arrays(rng.normal(size=(300, width)), rng.integers(0, 2, 300))
    schema = fb.fit_schema(table, fb.Sketch().space(None))
    row = rng.normal(size=width)
    for copies in (5, 50, 53, 200):
        cloud = fb.embed(fb.Table.from_arrays(np.tile(row, (copies, 1)), np.zeros(copies, dtype=int)), schema)
        assert (cloud.rows, cloud.distinct) == (copies, 1)


def test_a_class_is_called_the_same_whatever_other_classes_a_party_has():
    from fedbary.space.labels import class_names

    assert class_names(np.array([0.0, 1.0, 2.5])).tolist() == ["0", "1", "2.5"]
    assert class_names(np.array([0.0, 1.0])).tolist() == ["0", "1"]
