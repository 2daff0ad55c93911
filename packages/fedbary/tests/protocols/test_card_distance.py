"""Distances by cards: certified from below against exact transport of the rows, and zero only for equal moments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbary.protocols.cards.class_moments import ClassMoments
from fedbary.protocols.cards.distance import _JointSpace, barycenter, distances, spread
from fedbary.protocols.cards.weights import Weights, robust_weights
from fedbary.transport import solve

CLASSES = 3


def moments(points: np.ndarray, codes: np.ndarray) -> ClassMoments:
    counts = np.bincount(codes, minlength=CLASSES).astype(float)
    sums = np.zeros((CLASSES, points.shape[1]))
    np.add.at(sums, codes, points)
    return ClassMoments(counts, sums, points.T @ points)


def numbers(joint: np.ndarray) -> ClassMoments:
    return ClassMoments(np.array([float(len(joint))]), joint.sum(axis=0)[None], joint.T @ joint)


def believed(parts: list[ClassMoments]) -> Weights:
    return Weights(np.ones(len(parts)), np.ones((len(parts), len(parts[0].counts)), dtype=bool), np.ones(len(parts)))


def cloud(rng: np.random.Generator, rows: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    codes = rng.choice(CLASSES, rows, p=rng.dirichlet(np.ones(CLASSES)))
    return rng.exponential(size=(rows, width)) * rng.uniform(0.1, 3.0, width) + codes[:, None], codes


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), width=st.integers(1, 4), diagonal=st.booleans())
def test_the_distance_is_certified_from_below(seed: int, width: int, diagonal: bool) -> None:
    rng = np.random.default_rng(seed)
    (one, own), (two, its) = cloud(rng, 15, width), cloud(rng, 22, width)
    part, target = moments(one, own), moments(two, its)
    if diagonal:
        part, target = part.diagonal(), target.diagonal()
    space = _JointSpace.of(target, numeric=False)
    metric = np.diag(space.metric) if diagonal else space.metric
    placed = [np.hstack([points @ metric, space.label.T[codes]]) for points, codes in ((one, own), (two, its))]
    assert distances([part], target)[0] <= solve(*placed).distance + 1e-6


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), diagonal=st.booleans())
def test_it_is_certified_with_numbers_as_labels(seed: int, diagonal: bool) -> None:
    rng = np.random.default_rng(seed)
    one, two = rng.exponential(size=(14, 3)), rng.standard_normal((20, 3))
    part, target = (numbers(joint).diagonal() if diagonal else numbers(joint) for joint in (one, two))
    space = _JointSpace.of(target, numeric=True)
    metric = np.diag(space.metric) if diagonal else space.metric
    placed = [np.hstack([joint[:, :2] @ metric, joint[:, 2:] @ space.label]) for joint in (one, two)]
    assert distances([part], target, numeric=True)[0] <= solve(*placed).distance + 1e-6


def test_label_coordinates_are_as_far_apart_as_one_hot_ones() -> None:
    rng = np.random.default_rng(0)
    space = _JointSpace.of(moments(*cloud(rng, 50, 2)), numeric=False)
    apart = np.linalg.norm(space.label.T[:, None] - space.label.T[None], axis=2)
    assert apart[~np.eye(CLASSES, dtype=bool)] == pytest.approx(apart[0, 1])


def test_equal_clients_are_at_zero_and_flipped_labels_are_seen_by_products() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, CLASSES, 600)
    points = 3.0 * np.eye(CLASSES)[codes] + rng.standard_normal((600, CLASSES))
    clean, random = moments(points, codes), moments(points, rng.permutation(codes))
    parts = [clean, clean, clean, random]
    target = barycenter(parts[:3], believed(parts[:3]))
    found = distances(parts, target)
    assert found[:3] == pytest.approx(0.0, abs=1e-3)
    assert found[3] > 0.5
    assert distances([part.diagonal() for part in parts], target)[3] == pytest.approx(0.0, abs=1e-3)


def test_the_target_of_equal_cards_is_their_card_and_liars_do_not_move_it() -> None:
    rng = np.random.default_rng(1)
    part = moments(*cloud(rng, 400, 4))
    target = barycenter([part, part], believed([part, part]))
    assert target.counts == pytest.approx(part.counts / part.rows)
    assert target.sums == pytest.approx(part.sums / part.rows)
    assert target.second == pytest.approx(part.second / part.rows, abs=1e-6)
    liar = moments(*cloud(np.random.default_rng(2), 100, 4))
    weights = Weights(np.array([1.0, 1.0, 0.0]), np.ones((3, CLASSES), dtype=bool), np.ones(3))
    assert barycenter([part, part, liar], weights).second == pytest.approx(target.second, abs=1e-6)
    assert spread(target) > 0.0
    assert spread(target.diagonal()) > 0.0


def test_a_card_without_rows_has_no_distance() -> None:
    part = moments(*cloud(np.random.default_rng(1), 40, 2))
    nothing = ClassMoments(np.zeros(CLASSES), np.zeros((CLASSES, 2)), np.zeros((2, 2)))
    found = distances([part, nothing], part)
    assert np.isnan(found[1])
    assert found[0] == pytest.approx(0.0, abs=1e-6)
    assert barycenter([part, part, part, nothing], robust_weights([part, part, part, nothing])).rows == pytest.approx(1)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), unit=st.floats(0.01, 100.0))
def test_order_and_units_change_nothing(seed: int, unit: float) -> None:
    rng = np.random.default_rng(seed)
    clouds = [cloud(rng, 50, 3) for _ in range(4)]
    parts = [moments(*own) for own in clouds]
    scaled = [moments(unit * points, codes) for points, codes in clouds[::-1]]
    found = distances(parts, barycenter(parts, believed(parts)))
    again = distances(scaled, barycenter(scaled, believed(scaled)))
    assert again[::-1] == pytest.approx(found, rel=1e-4, abs=1e-5)
