"""A corruption changes exactly the rows in its mask, and as many as it says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codes import coded, parameter
from fedbary.data.corruptions import add_noise, duplicate_rows, flip_labels, repeat_row, shuffle_pixels
from fedbary.data.table import Table
from fedbary.errors import SettingsError

QUICK = settings(max_examples=25, deadline=None)
shares = st.floats(0, 1)
seeds = st.integers(0, 10**6)


def labelled(labels, **columns):
    return Table(columns or {"x": np.arange(len(labels))}, np.asarray(labels))


@QUICK
@given(
    labels=st.one_of(
        st.lists(st.integers(0, 4), min_size=1, max_size=60),
        st.lists(st.sampled_from(["cat", "dog", "eel"]), min_size=1, max_size=60),
        st.lists(st.booleans(), min_size=1, max_size=60),
    ).filter(lambda labels: len(set(labels)) > 1),
    share=shares,
    kind=st.sampled_from(["uniform", "pair"]),
    seed=seeds,
)
def test_flips_change_exactly_the_mask(labels, share, kind, seed):
    table = labelled(labels)
    spoilt, mask = flip_labels(table, share, kind=kind, seed=seed)
    assert mask.sum() == round(share * len(labels))
    np.testing.assert_array_equal(spoilt.labels != table.labels, mask)
    assert set(spoilt.labels.tolist()) <= set(labels)
    assert spoilt.labels.dtype == table.labels.dtype


def test_pair_flips_go_to_the_next_class():
    spoilt, _ = flip_labels(labelled(["a", "b", "c"]), 1.0, kind="pair")
    assert spoilt.labels.tolist() == ["b", "c", "a"]


def test_uniform_flips_reach_every_other_class_equally():
    spoilt, _ = flip_labels(labelled([0] * 30000), 1.0, classes=range(4))
    np.testing.assert_allclose(np.bincount(spoilt.labels) / 30000, [0, 1 / 3, 1 / 3, 1 / 3], atol=0.02)


def test_what_cannot_be_flipped():
    with pytest.raises(SettingsError, check=coded("data.one-class-to-flip")):
        flip_labels(labelled([0, 0]), 0.5)
    with pytest.raises(SettingsError, check=coded("data.class-not-listed")):
        flip_labels(labelled([0, 2]), 0.5, classes=[0, 1])
    with pytest.raises(SettingsError, check=parameter("share")):
        flip_labels(labelled([0, 1]), 1.5)
    with pytest.raises(SettingsError, check=parameter("kind")):
        flip_labels(labelled([0, 1]), 0.5, kind="odd")
    with pytest.raises(SettingsError, check=coded("data.pair-flips-need-classes")):
        flip_labels(labelled([0.5, 1.5]), 0.5, kind="pair")


@QUICK
@given(values=st.lists(st.sampled_from([0.5, 1.5, 2.5, 3.5, 7.25]), min_size=1, max_size=40), seed=seeds)
def test_quantities_are_exchanged_so_that_every_label_changes_if_it_can(values, seed):
    spoilt, mask = flip_labels(labelled(values), 1.0, seed=seed)
    assert sorted(spoilt.labels.tolist()) == sorted(values)
    np.testing.assert_array_equal(spoilt.labels != values, mask)
    most = max(values.count(value) for value in values)
    if most <= len(values) / 2:
        assert mask.all()


@QUICK
@given(rows=st.integers(1, 50), share=shares, seed=seeds)
def test_noise_changes_exactly_the_mask(rows, share, seed):
    table = labelled(
        np.zeros(rows, int),
        number=np.linspace(0, 1, rows),
        flat=np.ones(rows),
        flag=np.ones(rows, bool),
        text=np.array(["t"] * rows),
        block=np.arange(rows * 3, dtype=np.float32).reshape(rows, 3),
    )
    noisy, mask = add_noise(table, share, seed=seed)
    assert mask.sum() == round(share * rows)
    for name in ("number", "flat"):
        np.testing.assert_array_equal(noisy.columns[name] != table.columns[name], mask)
    np.testing.assert_array_equal((noisy.columns["block"] != table.columns["block"]).any(axis=1), mask)
    assert noisy.columns["block"].dtype == np.float32
    for name in ("flag", "text"):
        np.testing.assert_array_equal(noisy.columns[name], table.columns[name])


def test_noise_is_measured_in_standard_deviations():
    rng = np.random.default_rng(0)
    wide = rng.normal(scale=10, size=20000)
    block = rng.normal(scale=[3.0, 4.0], size=(20000, 2))
    table = labelled(np.zeros(20000, int), wide=wide, flat=np.full(20000, 5.0), block=block)
    noisy, _ = add_noise(table, 1.0, sigma=0.5)
    assert np.std(noisy.columns["wide"] - wide) == pytest.approx(5, rel=0.03)
    assert np.std(noisy.columns["flat"]) == pytest.approx(0.5, rel=0.03)
    scale = 0.5 * np.sqrt((9 + 16) / 2)
    np.testing.assert_allclose(np.std(noisy.columns["block"] - block, axis=0), scale, rtol=0.03)


def test_noise_leaves_missing_values_missing():
    noisy, mask = add_noise(labelled([0, 1, 1], x=[1.0, np.nan, 3.0], gone=[np.nan] * 3), 1.0)
    assert mask.all()
    assert noisy.missing() == {"x": 1, "gone": 3}


def test_noise_of_nothing_changes_nothing():
    table = labelled([0, 1], x=[1.0, 2.0])
    noisy, mask = add_noise(table, 1.0, sigma=0)
    assert not mask.any()
    assert noisy.columns["x"].tolist() == [1.0, 2.0]
    with pytest.raises(SettingsError, check=coded("data.nothing-numeric")):
        add_noise(labelled([0, 1], t=["a", "b"]), 0.5)
    with pytest.raises(SettingsError, check=parameter("sigma")):
        add_noise(table, 0.5, sigma=-1)


@QUICK
@given(rows=st.integers(1, 40), share=shares, seed=seeds)
def test_shuffled_images_keep_their_pixels_and_every_other_column(rows, share, seed):
    images = np.arange(rows * 50, dtype=np.float32).reshape(rows, 50)
    table = labelled(np.zeros(rows, int), image=images, number=np.arange(rows))
    shuffled, mask = shuffle_pixels(table, share, seed=seed)
    assert mask.sum() == round(share * rows)
    np.testing.assert_array_equal((shuffled.columns["image"] != images).any(axis=1), mask)
    np.testing.assert_array_equal(np.sort(shuffled.columns["image"], axis=1), images)
    np.testing.assert_array_equal(shuffled.columns["number"], table.columns["number"])
    assert shuffled.columns["image"].dtype == np.float32


def test_every_image_is_shuffled_in_its_own_way():
    image = np.arange(30.0)
    shuffled, _ = shuffle_pixels(labelled([0, 1], x=np.array([image, image])), 1.0)
    assert (shuffled.columns["x"][0] != shuffled.columns["x"][1]).any()


def test_what_shuffling_cannot_change_is_not_marked():
    blank = np.array([[7.0] * 5, [np.nan] * 5])
    shuffled, mask = shuffle_pixels(labelled([0, 1], x=blank), 1.0)
    assert not mask.any()
    np.testing.assert_array_equal(shuffled.columns["x"], blank)
    with pytest.raises(SettingsError, check=coded("data.nothing-to-shuffle")):
        shuffle_pixels(labelled([0, 1], x=[1.0, 2.0]), 0.5)


@QUICK
@given(rows=st.integers(1, 40), share=shares, ids=st.sampled_from([None, "number", "text"]), seed=seeds)
def test_copies_are_marked_and_have_ids_of_their_own(rows, share, ids, seed):
    names = {None: None, "number": np.arange(rows) * 10, "text": np.array([f"r{i}" for i in range(rows)])}[ids]
    table = Table({"x": np.arange(rows)}, np.arange(rows), ids=names)
    longer, mask = duplicate_rows(table, share, seed=seed)
    assert mask.sum() == round(share * rows) == len(longer) - rows
    np.testing.assert_array_equal(longer.columns["x"][~mask], np.arange(rows))
    np.testing.assert_array_equal(longer.columns["x"], longer.labels)
    assert len(set(longer.columns["x"][mask])) == mask.sum()
    if ids:
        assert len(set(longer.row_names.tolist())) == len(longer)
        assert longer.row_names[:rows].tolist() == names.tolist()


def test_repeated_rows_are_numbered():
    table = Table({"x": [5, 7]}, [0, 1], ids=np.array(["a", "a#2"]))
    longer, mask = repeat_row(table, 0, 2)
    assert longer.row_names.tolist() == ["a", "a#2", "a#3", "a#4"]
    assert longer.labels.tolist() == [0, 1, 0, 0]
    assert mask.tolist() == [False, False, True, True]
    with pytest.raises(SettingsError, check=parameter("row")):
        repeat_row(table, 2, 1)
    with pytest.raises(SettingsError, check=parameter("times")):
        repeat_row(table, 0, -1)
