"""Worth: Shapley's axioms on cards, games whose answers are known, and the models that rows themselves would give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from fedbary.data.table import Table
from fedbary.protocols.cards import Cards
from fedbary.protocols.cards.class_moments import ClassMoments, Noise
from fedbary.protocols.cards.worth import (
    Judge,
    drawn_judge,
    play_worth,
    public_directions,
    reference_judge,
    utility,
)
from fedbary.space.fit import fit_schema
from fedbary.space.options import Space

CLASSES, WIDTH = 3, 5
CENTRES = 2.0 * np.random.default_rng(5).standard_normal((CLASSES, WIDTH))
EMPTY = ClassMoments(np.zeros(CLASSES), np.zeros((CLASSES, WIDTH)), np.zeros((WIDTH, WIDTH)))


def moments(points: np.ndarray, codes: np.ndarray) -> ClassMoments:
    counts = np.bincount(codes, minlength=CLASSES).astype(float)
    sums = np.zeros((CLASSES, points.shape[1]))
    np.add.at(sums, codes, points)
    return ClassMoments(counts, sums, points.T @ points)


def rows(seed: int, count: int, only: tuple[int, ...] = (0, 1, 2)) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = rng.choice(only, count)
    return CENTRES[codes] + rng.standard_normal((count, WIDTH)), codes


def everything(players: int) -> np.ndarray:
    return (np.arange(2**players)[:, None] >> np.arange(players)) & 1 == 1


JUDGE = Judge(*rows(99, 300))
SCHEMA = fit_schema(Table({"x": [0.0, 1.0, 2.0]}, ["a", "b", "c"]), Space(labels="onehot"))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(["full", "diagonal", "noisy"]), narrow=st.booleans())
def test_axioms(seed: int, kind: str, narrow: bool) -> None:
    rng = np.random.default_rng(seed)
    parts = {f"c{place}": moments(*rows(seed * 7 + place, int(rng.integers(2, 60)))) for place in range(4)}
    parts["copy"] = parts["c0"]
    parts["nobody"] = EMPTY
    if kind == "diagonal":
        parts = {name: part.diagonal() if name != "c1" else part for name, part in parts.items()}
    if kind == "noisy":
        noise = Noise(2.0, 1.0, 1.0)
        parts = {name: ClassMoments(part.counts, part.sums, part.second, noise) for name, part in parts.items()}
    options = Cards(coordinates=3 if narrow else 8)
    found = play_worth(parts, JUDGE, options, seed=0)
    value = dict(zip(found.clients, found.values, strict=True))
    game = utility(list(parts.values()), JUDGE, coordinates=options.coordinates or 0)
    empty, whole = game(np.array([[False] * 6, [True] * 6]))
    assert empty == pytest.approx(1.0 / CLASSES)
    assert sum(value.values()) == pytest.approx(whole - empty, abs=1e-9)
    assert value["nobody"] == 0.0
    assert value["copy"] == pytest.approx(value["c0"], abs=1e-9)
    assert (found.standard_errors == 0.0).all()


def test_a_client_that_nobody_hears_of_changes_nobody_s_worth() -> None:
    parts = {f"c{place}": moments(*rows(place, 40)) for place in range(4)}
    alone = play_worth(parts, JUDGE, Cards(), seed=0)
    among = play_worth({**parts, "nobody": EMPTY}, JUDGE, Cards(), seed=0)
    assert among.values[:4] == pytest.approx(alone.values, abs=1e-9)


def test_cards_of_a_coalition_are_worth_what_its_pooled_rows_are() -> None:
    """Exactly, not about: the game never looks at rows."""
    clouds = [rows(place, 30 + 10 * place) for place in range(3)]
    parts = [moments(*cloud) for cloud in clouds]
    found = utility(parts, JUDGE)(everything(3))
    for coalition, value in zip(everything(3)[1:], found[1:], strict=True):
        points, codes = (np.concatenate(both) for both in zip(*np.array(clouds, dtype=object)[coalition], strict=True))
        pooled = moments(points.astype(float), codes.astype(int))
        assert utility([pooled], JUDGE)(np.array([[True]]))[0] == value


def test_the_utility_is_the_mean_accuracy_of_a_discriminant_and_of_least_squares() -> None:
    points, codes = rows(3, 50)
    part = moments(points, codes)
    within = part.within() / 50
    within = 0.95 * within + 0.05 * np.trace(within) / WIDTH * np.eye(WIDTH)
    grand, share = points.mean(axis=0), part.counts / 50
    means = (part.sums + 2.0 * grand) / (part.counts + 2.0)[:, None]
    away = JUDGE.points[:, None] - means
    discriminant = np.log(share) - 0.5 * 0.3 * np.einsum("nkd,de,nke->nk", away, np.linalg.inv(within), away)
    apart = part.means - grand
    total = within + (share[:, None] * apart).T @ apart
    squares = share + (JUDGE.points - grand) @ np.linalg.solve(total, (share[:, None] * apart).T)
    expected = np.mean([(scores.argmax(axis=1) == JUDGE.labels).mean() for scores in (discriminant, squares)])
    assert utility([part], JUDGE)(np.array([[True]]))[0] == pytest.approx(expected)


def test_the_utility_of_one_class_is_its_share_of_the_judge() -> None:
    part = moments(*rows(1, 30, only=(1,)))
    assert utility([part], JUDGE)(np.array([[True]]))[0] == pytest.approx((JUDGE.labels == 1).mean())
    point = ClassMoments(
        np.array([0.0, 1.0, 0.0]), np.eye(CLASSES, WIDTH)[[2, 1, 0]] * [[0], [1], [0]], np.zeros((WIDTH, WIDTH))
    )
    assert utility([point], JUDGE)(np.array([[True]]))[0] == pytest.approx((JUDGE.labels == 1).mean())


def test_who_brings_what_nobody_has_is_worth_most() -> None:
    same = {f"c{place}": moments(*rows(place, 60, only=(0, 1))) for place in range(4)}
    found = play_worth({**same, "the third": moments(*rows(9, 60, only=(2,)))}, JUDGE, Cards(), seed=0)
    assert found.values.argmax() == 4


def test_random_labels_do_harm() -> None:
    points, codes = rows(8, 200)
    parts = {f"c{place}": moments(*rows(place, 40)) for place in range(4)}
    parts["random"] = moments(points, np.random.default_rng(0).permutation(codes))
    found = play_worth(parts, JUDGE, Cards(), seed=0)
    assert found.values.argmin() == 4
    assert found.shares[4] < 0.1


def test_without_products_the_judge_s_covariance_serves() -> None:
    clouds = {f"c{place}": rows(place, [10, 20, 40, 80][place]) for place in range(4)}
    full = {name: moments(*cloud) for name, cloud in clouds.items()}
    some = {name: part.diagonal() for name, part in full.items()}
    assert np.argsort(play_worth(some, JUDGE, Cards(), seed=0).values).tolist() == [0, 1, 2, 3]


def test_permutations_come_near_what_all_coalitions_give() -> None:
    parts = {f"c{place}": moments(*rows(place, 15 + 5 * place)) for place in range(9)}
    exact = play_worth(parts, JUDGE, Cards(), seed=0)
    sampled = play_worth(parts, JUDGE, Cards(exact_up_to=3, permutations=200), seed=0)
    assert (sampled.standard_errors > 0).all()
    assert (np.abs(sampled.values - exact.values) < 5.0 * sampled.standard_errors + 1e-9).all()
    assert sampled.values.sum() == pytest.approx(exact.values.sum(), abs=1e-9)


def test_numbers_are_explained_as_well_as_a_ridge_regression_of_the_rows_does() -> None:
    rng = np.random.default_rng(0)
    slope = rng.standard_normal(WIDTH)

    def table(count: int) -> np.ndarray:
        features = rng.standard_normal((count, WIDTH)) + 1.0
        return np.column_stack([features, features @ slope + rng.standard_normal(count)])

    judge_rows, tables = table(200), [table(20), table(50), table(10)]
    judge = Judge(judge_rows[:, :-1], judge_rows[:, -1])
    parts = [ClassMoments(np.array([float(len(t))]), t.sum(axis=0)[None], t.T @ t) for t in tables]
    found = utility(parts, judge)(everything(3))
    assert found[0] == 0.0
    penalty = 5.0 * judge.points.var(axis=0).mean()
    for coalition, value in zip(everything(3)[1:], found[1:], strict=True):
        pooled = np.vstack([own for own, inside in zip(tables, coalition, strict=True) if inside])
        model = Ridge(alpha=penalty).fit(pooled[:, :-1], pooled[:, -1])
        assert value == pytest.approx(model.score(judge.points, judge.labels), abs=1e-9)
    scores = play_worth(dict(zip("abc", parts, strict=True)), judge, Cards(), seed=0)
    assert scores.values.sum() == pytest.approx(found[-1], abs=1e-9)
    # A card without products says nothing about how the label depends on anything.
    assert play_worth({"a": parts[0].diagonal(), "b": parts[1]}, judge, Cards(), seed=0).values[0] == 0.0
    noisy = ClassMoments(parts[1].counts, parts[1].sums, parts[1].second, Noise(2.0, 1.0, 1.0))
    assert utility([noisy], judge)(np.array([[True]]))[0] == pytest.approx(found[2], abs=0.2)


def test_the_directions_are_the_judge_s_own() -> None:
    wide = np.random.default_rng(0).standard_normal((300, 40)) * 0.1
    codes = np.arange(300) % 3
    wide[:, 0] += codes == 1  # what tells classes apart
    wide[:, 1] += 3.0 * np.random.default_rng(1).standard_normal(300)  # what varies most
    found = public_directions(Judge(wide, codes), 4)
    assert found.shape == (40, 4)
    assert found.T @ found == pytest.approx(np.eye(4), abs=1e-9)
    assert np.linalg.norm(found[0]) > 0.9
    assert np.linalg.norm(found[1]) > 0.99
    numbers = public_directions(Judge(wide, wide[:, 0]), 4)
    assert np.linalg.norm(numbers[1]) > 0.99


def test_a_drawn_judge_has_the_moments_that_it_was_drawn_from() -> None:
    target = moments(*rows(1, 4000))
    for part in (target, target.diagonal()):
        judge = drawn_judge(part, seed=0)
        assert np.bincount(judge.labels).std() < 1.0
        means = np.stack([judge.points[judge.labels == code].mean(axis=0) for code in range(CLASSES)])
        assert means == pytest.approx(target.means, abs=0.2)
        assert (judge.points - target.means[judge.labels]).var(axis=0) == pytest.approx(1.0, abs=0.15)
    joint = np.random.default_rng(0).standard_normal((500, 3))
    drawn = drawn_judge(ClassMoments(np.array([500.0]), joint.sum(axis=0)[None], joint.T @ joint), seed=0, numeric=True)
    assert drawn.points.shape[1] == 2
    assert drawn.numeric


def test_a_judge_keeps_rows_of_known_classes_and_not_too_many() -> None:
    names = np.where(np.arange(12_000) % 2, "foreign", "b")
    judge = reference_judge(np.zeros((12_000, 2)), names, SCHEMA, seed=0)
    assert judge is not None
    assert len(judge.labels) == 5000
    assert (judge.labels == 1).all()
    assert reference_judge(np.zeros((2, 2)), np.array(["x", "y"]), SCHEMA, seed=0) is None
