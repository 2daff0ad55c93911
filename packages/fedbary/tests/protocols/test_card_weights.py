"""Robust weights: liars lose theirs, honest clients keep it, whatever the units and the order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbary.protocols.cards.class_moments import ClassMoments, Noise
from fedbary.protocols.cards.weights import robust_weights

CLASSES, WIDTH = 4, 6
CENTRES = 2.5 * np.random.default_rng(7).standard_normal((CLASSES, WIDTH))


def moments(points: np.ndarray, codes: np.ndarray, noise: Noise | None = None) -> ClassMoments:
    counts = np.bincount(codes, minlength=CLASSES).astype(float)
    sums = np.zeros((CLASSES, points.shape[1]))
    np.add.at(sums, codes, points)
    return ClassMoments(counts, sums, points.T @ points, *([noise] if noise else []))


def rows(seed: int, count: int = 200, shares: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = rng.choice(CLASSES, count, p=shares)
    return CENTRES[codes] + rng.standard_normal((count, WIDTH)), codes


def liar(kind: str, seed: int) -> ClassMoments:
    points, codes = rows(seed)
    rng = np.random.default_rng([seed, 1])
    if kind == "random labels":
        return moments(points, rng.permutation(codes))
    if kind == "swapped labels":
        return moments(points, (codes + 1) % CLASSES)
    if kind == "noisy":
        return moments(points + 6.0 * rng.standard_normal(points.shape), codes)
    return moments(points + 30.0 * rng.standard_normal(WIDTH), codes)  # shifted


def test_honest_clients_keep_their_weight_whatever_their_classes() -> None:
    rng = np.random.default_rng(3)
    parts = [moments(*rows(seed, shares=rng.dirichlet(np.ones(CLASSES)))) for seed in range(10)]
    found = robust_weights(parts)
    assert found.cards == pytest.approx(1.0)
    assert found.classes.all()
    assert found.slopes == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("kind", ["random labels", "swapped labels", "noisy", "shifted"])
@pytest.mark.parametrize("liars", [1, 4])
@pytest.mark.parametrize("diagonal", [False, True])
def test_a_minority_of_liars_loses_its_say(kind: str, liars: int, diagonal: bool) -> None:
    parts = [liar(kind, seed) for seed in range(liars)] + [moments(*rows(seed)) for seed in range(50, 60 - liars)]
    if diagonal:
        parts = [part.diagonal() if place % 2 else part for place, part in enumerate(parts)]
    found = robust_weights(parts)
    counted = (found.cards[:, None] * found.classes).max(axis=1)
    assert (counted[:liars] < 0.2).all()
    assert found.cards[liars:] == pytest.approx(1.0, abs=0.05)
    assert found.classes[liars:].mean() > 0.95


def test_one_of_three_that_writes_another_unit_leaves_the_others_their_say() -> None:
    points, codes = rows(0)
    parts = [moments(points * 100.0, codes), moments(*rows(1)), moments(*rows(2))]
    found = robust_weights(parts)
    assert found.cards[0] < 0.1
    assert found.cards[1:] == pytest.approx(1.0)


def test_one_forged_class_is_left_out_and_the_rest_of_the_card_counts() -> None:
    parts = [moments(*rows(seed)) for seed in range(6)]
    forged = parts[0]
    sums = forged.sums.copy()
    sums[2] += 8.0 * forged.counts[2]
    parts[0] = ClassMoments(forged.counts, sums, forged.second + 64.0 * forged.counts[2] * np.eye(WIDTH))
    found = robust_weights(parts)
    assert not found.classes[0, 2]
    assert found.classes[1:].all()


def test_claiming_many_rows_gives_forgers_no_majority() -> None:
    """Four of ten agree on a wrong order of classes, and claim ten times the rows of the others."""
    rng, parts = np.random.default_rng(4), []
    for seed in range(10):
        part = moments(*rows(seed, shares=rng.dirichlet(np.ones(CLASSES))))
        if seed < 4:
            forged = 10.0 * part.counts[:, None] * np.roll(part.means, 1, axis=0)
            scatter = 10.0 * part.within() + (forged / np.maximum(part.counts, 1.0)[:, None] / 10.0).T @ forged
            part = ClassMoments(10.0 * part.counts, forged, scatter)
        parts.append(part)
    found = robust_weights(parts)
    assert (found.cards[:4] < 0.2).all()
    assert found.cards[4:] == pytest.approx(1.0)


def test_the_slope_is_the_share_of_labels_that_are_not_random() -> None:
    parts = []
    for place, share in enumerate([0.0, 0.0, 0.0, 0.2, 0.4]):
        points, codes = rows(place, 4000)
        wrong = np.random.default_rng(place).random(len(codes)) < share
        codes[wrong] = (codes[wrong] + np.random.default_rng(place).integers(1, CLASSES, wrong.sum())) % CLASSES
        parts.append(moments(points, codes))
    expected = [1.0, 1.0, 1.0, 1.0 - 0.2 * 4 / 3, 1.0 - 0.4 * 4 / 3]
    assert robust_weights(parts).slopes == pytest.approx(expected, abs=0.05)


def test_the_reference_is_trusted_and_two_cards_cannot_contradict_each_other() -> None:
    parts = [liar("random labels", 0), *(moments(*rows(seed)) for seed in range(50, 54))]
    assert robust_weights(parts).cards[0] == 0.0
    assert robust_weights(parts, trusted=[0]).cards[0] == 1.0
    assert robust_weights(parts[:2]).cards == pytest.approx(1.0)
    assert len(robust_weights([]).cards) == 0


def test_what_is_left_of_a_card_without_a_class_is_the_card_of_its_other_rows() -> None:
    """Up to the scatter, which a card knows for all classes together."""
    points, codes = rows(1, 4000)
    part, others = moments(points, codes), moments(points[codes != 2], codes[codes != 2])
    weights = robust_weights([part, part, part])
    classes = weights.classes.copy()
    classes[0, 2] = False
    left = type(weights)(np.array([0.5, 1.0, 1.0]), classes, weights.slopes).applied([part, part, part])
    assert left[0].counts == pytest.approx(0.5 * others.counts)
    assert left[0].sums == pytest.approx(0.5 * others.sums)
    assert left[0].within() / left[0].rows == pytest.approx(others.within() / others.rows, abs=0.1)
    assert left[1].second is part.second or left[1].second == pytest.approx(part.second)


def test_noise_of_differential_privacy_costs_no_honest_client_its_weight() -> None:
    sigma = 10.0
    rng, parts = np.random.default_rng(0), []
    for seed in range(10):
        exact = liar("random labels", seed) if seed < 2 else moments(*rows(seed, 600))
        triangle = np.triu(sigma * rng.standard_normal((WIDTH, WIDTH)), 1)
        second = exact.second + triangle + triangle.T + np.diag(np.sqrt(2) * sigma * rng.standard_normal(WIDTH))
        parts.append(
            ClassMoments(
                exact.counts + np.sqrt(2) * sigma * rng.standard_normal(CLASSES),
                exact.sums + sigma * rng.standard_normal((CLASSES, WIDTH)),
                second,
                Noise(2 * sigma**2, sigma**2, sigma**2),
            )
        )
    found = robust_weights(parts)
    assert (found.cards[:2] < 0.2).all()
    assert (found.cards[2:] > 0.95).all()


def test_numbers_as_labels() -> None:
    coefficients = np.array([1.0, -2.0, 0.5, 0.0, 0.0])
    parts = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        features = rng.standard_normal((300, 5))
        labels = features @ coefficients + 0.5 * rng.standard_normal(300)
        if seed < 3:
            labels = rng.permutation(labels)
        joint = np.column_stack([features, labels])
        parts.append(ClassMoments(np.array([300.0]), joint.sum(axis=0)[None], joint.T @ joint))
    found = robust_weights(parts, numeric=True)
    assert (found.cards[:3] < 0.2).all()
    assert (found.cards[3:] > 0.95).all()
    assert robust_weights([part.diagonal() for part in parts], numeric=True).cards == pytest.approx(1.0)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), unit=st.floats(0.01, 100.0))
def test_order_units_and_position_change_nothing(seed: int, unit: float) -> None:
    rng = np.random.default_rng(seed)
    clouds = [rows(seed * 20 + place, 60) for place in range(6)]
    clouds[0] = (clouds[0][0], rng.permutation(clouds[0][1]))
    order = rng.permutation(6)
    found = robust_weights([moments(*cloud) for cloud in clouds])
    moved = robust_weights([moments(unit * (points + 2.0), codes) for points, codes in (clouds[i] for i in order)])
    assert moved.cards == pytest.approx(found.cards[order], abs=1e-5)
    assert moved.slopes == pytest.approx(found.slopes[order], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("sigma", [0.5, 3.0, 30.0, 300.0])
def test_noise_of_differential_privacy_excuses_what_it_explains(sigma):
    """Honest cards keep their weight on average whatever the noise, and all weights stay between 0 and 1."""
    weights = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        centres, parts = np.random.default_rng(1).standard_normal((4, 6)), []
        for _ in range(8):
            codes = rng.integers(0, 4, 300)
            points = (centres[codes] + rng.standard_normal((300, 6))) / 3.0
            corners = np.eye(4)[codes]
            products = np.tril(rng.standard_normal((6, 6)), -1)
            products = products + products.T + np.sqrt(2.0) * np.diag(rng.standard_normal(6))
            parts.append(
                ClassMoments(
                    corners.sum(axis=0) + np.sqrt(2.0) * sigma * rng.standard_normal(4),
                    corners.T @ points + sigma * rng.standard_normal((4, 6)),
                    points.T @ points + sigma * products,
                    Noise(2.0 * sigma**2, sigma**2, sigma**2),
                )
            )
        weights.append(robust_weights(parts).cards)
    assert np.isfinite(weights).all()
    assert np.min(weights) >= 0.0
    assert np.max(weights) <= 1.0
    assert np.mean(weights) > 0.8
