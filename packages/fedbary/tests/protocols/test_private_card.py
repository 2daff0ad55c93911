"""Private cards: what one row can move, what it cannot, and what leaves."""

import random
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fedbary as fb
from codes import coded
from fedbary.errors import SchemaError
from fedbary.protocols.cards import private_card as module
from fedbary.protocols.cards.placing import missing_share, placed
from fedbary.protocols.cards.private_card import (
    GRID,
    noise_variance,
    private_card,
    whole_points,
    whole_sums,
    with_noise,
)
from fedbary.space.encode import PublicCoordinates
from fedbary.space.fit import public_schema
from fedbary.valuation.verdict import Advice

pytest.importorskip("dp_accounting")

PUBLIC = fb.Table(
    {
        "age": [30.0, 40.0, 50.0, np.nan] * 5,
        "city": ["Rome", "Oslo", None, "Rome"] * 5,
        "scan": np.arange(60.0).reshape(20, 3) % 7,
    },
    ["ill", "well"] * 10,
)
SCHEMA = public_schema(PUBLIC)
HARDLY_NOISE = 1e9


def moved(one, two):
    """Σ Δ²/variance between two releases, in units where rows have norm 1 and σ = 1; exact."""
    total = Fraction(0)
    squares = [int(value) ** 2 for value in one.counts - two.counts]
    total += Fraction(sum(squares), 2)
    total += Fraction(sum(int(value) ** 2 for value in (one.sums - two.sums).ravel()), GRID**2)
    change = one.second - two.second
    for row in range(len(change)):
        total += Fraction(int(change[row, row]) ** 2, 2 * GRID**4)
        total += Fraction(sum(int(value) ** 2 for value in change[row, :row]), GRID**4)
    return total


def table(rows):
    """Cells as they come from files: a column with any text is text."""
    ages, cities, scans, labels = zip(*rows, strict=True)
    text = any(isinstance(age, str) for age in ages)
    age = np.array([None if a is None else str(a) for a in ages], dtype=object) if text else np.array(ages, dtype=float)
    return fb.Table(
        {"age": age, "city": np.array(cities, dtype=object), "scan": np.array(scans, dtype=float)}, list(labels)
    )


ROW = st.tuples(
    st.one_of(st.sampled_from([0.0, 1.0, 40.0, 1e99, -1e99, "1", "1.0", "abc", None]), st.floats(-100, 100)),
    st.sampled_from(["Rome", "Oslo", "Bonn", None]),
    st.tuples(*[st.one_of(st.floats(-5, 5), st.sampled_from([1e90, float("nan")]))] * 3),
    st.sampled_from(["ill", "well", "dead"]),
)


@given(st.lists(ROW, min_size=1, max_size=6), ROW, st.data())
@example([("1", "Rome", (0, 0, 0), "ill"), ("1.0", "Rome", (0, 0, 0), "ill"), (3.0, "Rome", (0, 0, 0), "ill")],
         ("abc", "Rome", (0, 0, 0), "ill"), None)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_replacing_a_row_moves_the_release_by_at_most_two(rows, other, data):
    place = len(rows) - 1 if data is None else data.draw(st.integers(0, len(rows) - 1))
    neighbour = [*rows[:place], other, *rows[place + 1 :]]
    assert moved(whole_sums(table(rows), SCHEMA), whole_sums(table(neighbour), SCHEMA)) <= 4


EXTREMES = [(1e-100, 1e-100), (1e100, 1e-100), (1e-100, 1e100), (1e100, 1e100), (1.0, 1e-100)]


@pytest.mark.parametrize(("clip", "scale"), EXTREMES)
def test_no_schema_makes_a_row_weigh_more_or_a_card_fail(clip, scale, caplog):
    columns = tuple(replace(one, scale=(scale,) * len(one.scale)) for one in SCHEMA.columns)
    hostile = fb.Schema.from_json(replace(SCHEMA, columns=columns, clip=clip).to_json())
    rows = [
        (40.0, "Rome", (1, 2, 3), "ill"),
        (1e99, None, (np.nan, 1e90, -1e90), "well"),
        ("x", "Bonn", (0, 0, 0), "?"),
    ]
    for place in range(3):
        for other in rows:
            neighbour = [*rows[:place], other, *rows[place + 1 :]]
            assert moved(whole_sums(table(rows), hostile), whole_sums(table(neighbour), hostile)) <= 4
    assert np.isfinite(private_card(table(rows), hostile, epsilon=1.0, delta=1e-6).sums).all()
    assert not caplog.text


@pytest.mark.parametrize("width", [2, 3, 64])
def test_the_sensitivity_is_attained_within_a_class_and_across_classes(width):
    columns = {"x": np.random.default_rng(0).standard_normal((50, width))}
    schema = public_schema(fb.Table(columns, ["a", "b"] * 25))
    far, straight = np.zeros((2, width)), np.zeros((2, width))
    far[:, 0] = 1e5, -1e5
    straight[0, 0] = straight[1, 1] = 1e5

    def sums(point, label):
        return whole_sums(fb.Table({"x": point[None]}, [label]), schema)

    assert float(moved(sums(far[0], "a"), sums(far[1], "a"))) == pytest.approx(4, abs=1e-3)
    assert float(moved(sums(straight[0], "a"), sums(straight[1], "b"))) == pytest.approx(4, abs=1e-3)
    assert float(moved(sums(far[0], "a"), sums(far[0], "b"))) == pytest.approx(3, abs=1e-3)
    assert float(moved(sums(far[0], "a"), sums(far[0], "c"))) == pytest.approx(2, abs=1e-3)


@given(
    st.lists(st.lists(st.floats(allow_nan=True), min_size=5, max_size=5), min_size=1, max_size=5),
    st.floats(1e-3, 1e3),
)
def test_no_point_is_longer_than_the_grid(rows, clip):
    whole = whole_points(np.array(rows).T, clip)
    assert all(sum(int(value) ** 2 for value in line) <= GRID**2 for line in whole)


def test_long_points_keep_their_direction():
    points = np.random.default_rng(0).standard_normal((600, 400)) * 3.0
    whole = whole_points(points, 5.0)
    lengths = np.sqrt((whole**2).sum(axis=1))
    assert lengths.max() <= GRID
    assert lengths.min() > 0.999 * GRID
    cosine = (whole * points.T).sum(axis=1) / lengths / np.linalg.norm(points, axis=0)
    assert cosine.min() > 1 - 1e-5


def test_a_row_is_the_same_whole_numbers_beside_any_others():
    rng = np.random.default_rng(1)
    public = fb.Table({"x": rng.standard_normal((300, 40))}, rng.integers(0, 3, 300))
    schema = public_schema(public, coordinates=7)
    alone = np.vstack(
        [whole_points(PublicCoordinates(schema).points(public.take([row])), schema.clip) for row in range(300)]
    )
    together = whole_points(PublicCoordinates(schema).points(public), schema.clip)
    assert np.array_equal(alone, together)


def test_copies_count_once_in_whatever_order():
    rng = np.random.default_rng(2)
    rows = fb.Table({"x": rng.standard_normal((200, 4))}, rng.integers(0, 3, 200))
    schema = public_schema(rows)
    once = whole_sums(rows, schema)
    copied = whole_sums(rows.take(rng.permutation(np.r_[0:200, 0:50])), schema)
    assert moved(once, copied) == 0


def test_chunks_change_nothing(monkeypatch):
    whole = whole_sums(PUBLIC, SCHEMA)
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", 3)
    assert moved(whole, whole_sums(PUBLIC, SCHEMA)) == 0


def test_a_card_with_hardly_any_noise_holds_the_moments_of_the_clipped_rows():
    rng = np.random.default_rng(3)
    rows = fb.Table({"x": rng.standard_normal((200, 4))}, rng.integers(0, 3, 200))
    schema = public_schema(rows)
    card = private_card(rows, schema, name="a", epsilon=HARDLY_NOISE, delta=1e-6)
    points = PublicCoordinates(schema).points(rows)
    points = (points / np.maximum(np.sqrt((points**2).sum(axis=0)) / schema.clip, 1.0)).T
    corners = np.eye(3)[PublicCoordinates(schema).codes(rows)]
    assert card.counts == pytest.approx(corners.sum(axis=0), abs=0.01)
    assert card.sums == pytest.approx(corners.T @ points, abs=0.02)
    assert card.second == pytest.approx(points.T @ points, abs=0.05)
    assert (card.rows, card.classes, card.release.clip) == (200, ("0", "1", "2"), schema.clip)
    moments = placed(card, schema)
    assert moments.sums.shape == (3, schema.value_width)
    assert moments.noise.product == pytest.approx(card.release.sigma**2 * schema.clip**4)


def test_all_public_classes_are_sent_and_a_foreign_one_adds_nothing():
    card = private_card(
        table([(40.0, "Rome", (0, 0, 0), "dead")] * 3), SCHEMA, name="a", epsilon=HARDLY_NOISE, delta=1e-6
    )
    assert card.classes == ("ill", "well")
    assert card.counts == pytest.approx([0, 0], abs=0.01)
    assert card.second == pytest.approx(np.zeros(card.second.shape), abs=0.1)
    assert np.array_equal(card.second, card.second.T)


def test_missing_cells_are_read_off_the_card():
    rng = np.random.default_rng(4)
    columns = {name: rng.standard_normal(3000) for name in "abc"}
    schema = replace(public_schema(fb.Table(columns, rng.integers(0, 2, 3000))), clip=10.0)
    holes = {name: np.where(rng.random(3000) < 0.3, np.nan, values) for name, values in columns.items()}
    card = private_card(fb.Table(holes, rng.integers(0, 2, 3000)), schema, name="a", epsilon=HARDLY_NOISE, delta=1e-6)
    assert missing_share(card, schema) == pytest.approx(0.3, abs=0.02)
    lacking = public_schema(PUBLIC)
    assert PublicCoordinates(lacking).width == lacking.value_width + 3  # age, city, and all others together
    sent = private_card(PUBLIC, replace(lacking, clip=10.0), name="a", epsilon=HARDLY_NOISE, delta=1e-6)
    assert missing_share(sent, lacking) == pytest.approx(10 / 100, abs=0.01)


def test_a_number_as_label_is_the_last_coordinate():
    rng = np.random.default_rng(5)
    x = rng.standard_normal(500)
    rows = fb.Table({"x": x}, 50.0 + 10.0 * x + rng.standard_normal(500))
    schema = replace(public_schema(rows), clip=10.0)
    card = private_card(rows, schema, name="a", epsilon=HARDLY_NOISE, delta=1e-6)
    assert (card.kind, card.classes, card.width) == ("number", ("",), 3)
    moments = placed(card, schema)
    assert moments.sums.shape == (1, 2)
    correlation = moments.second[0, 1] / np.sqrt(moments.second[0, 0] * moments.second[1, 1])
    assert correlation == pytest.approx(np.corrcoef(x, rows.labels)[0, 1], abs=1e-3)


def test_a_failure_inside_is_no_answer_about_rows(monkeypatch, caplog):
    def broken(*_):
        raise ZeroDivisionError("row 17")

    monkeypatch.setattr(module, "whole_sums", broken)
    card = private_card(PUBLIC, SCHEMA, name="a", epsilon=1.0, delta=1e-6)
    assert np.isfinite(card.second).all()
    assert "ZeroDivisionError" in caplog.text


def test_what_refuses_is_the_schema():
    with pytest.raises(SchemaError, check=coded("schema.no-clip")):
        private_card(PUBLIC, fb.fit_schema(PUBLIC), name="a", epsilon=1.0, delta=1e-6)
    wide = public_schema(fb.Table({"x": np.eye(3, 1030)}, ["a", "b", "a"]), coordinates="none")
    with pytest.raises(SchemaError, check=coded("schema.too-wide-for-cards")):
        private_card(fb.Table({"x": np.eye(3, 1030)}, ["a", "b", "a"]), wide, name="a", epsilon=1.0, delta=1e-6)
    with pytest.raises(SchemaError, check=coded("schema.columns-missing")):
        private_card(fb.Table({"y": [1.0]}, ["a"]), SCHEMA, name="a", epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_best_attacker_gains_what_epsilon_allows_and_not_more(epsilon):
    """The likelihood ratio of two neighbours that are 2 apart, over releases with seeded noise."""
    schema = public_schema(fb.Table({"x": np.random.default_rng(0).standard_normal((50, 2))}, ["a", "b"] * 25))
    one, two = (whole_sums(fb.Table({"x": np.array([[sign * 1e5, 0.0]])}, ["a"]), schema) for sign in (1, -1))
    variance, trials, below = noise_variance(epsilon, 1e-6), 1500, random.Random(0).randrange
    seen = np.zeros((2, trials))
    for world, sums in enumerate((one, two)):
        for trial in range(trials):
            noisy = with_noise(sums, variance, below=below)
            seen[world, trial] = (moved(noisy, two) - moved(noisy, one)) / (2 * variance)
    ratios = np.sort(seen.ravel())
    threshold = ratios[len(ratios) // 2]
    hit, wrong = (seen > threshold).mean(axis=1)
    allowed = (np.exp(epsilon) - 1 + 2e-6) / (np.exp(epsilon) + 1)
    sigma = float(variance) ** 0.5
    exact = 2 * _normal(1 / sigma) - 1  # shift 2, noise σ
    assert hit - wrong == pytest.approx(exact, abs=0.05)
    assert hit - wrong < allowed


def _normal(value):
    from scipy.stats import norm

    return float(norm.cdf(value))


@pytest.fixture
def seeded(monkeypatch):
    """Noise that is the same in every run of the tests."""
    monkeypatch.setattr(module, "with_noise", partial(with_noise, below=random.Random(0).randrange))


@pytest.mark.usefixtures("seeded")
def test_a_private_federation_values_rows_at_home_and_tells_nothing_else(tmp_path):
    rng = np.random.default_rng(6)
    centres = 2.0 * rng.standard_normal((3, 4))

    def made(count):
        codes = rng.integers(0, 3, count)
        return centres[codes] + rng.standard_normal((count, 4)), codes

    points, codes = made(200)
    public_schema(fb.Table({"x": points}, codes)).save(tmp_path / "schema.json")
    clients, wrong = {}, {}
    for number in range(4):
        points, codes = made(600)
        wrong[f"c{number}"] = rng.random(600) < 0.1
        clients[f"c{number}"] = fb.Table({"x": points}, np.where(wrong[f"c{number}"], (codes + 1) % 3, codes))
    protocol = fb.Cards(epsilon=4.0, schema=str(tmp_path / "schema.json"))
    result = fb.value(clients, protocol=protocol, engine=fb.LocalEngine(workers=1))
    assert not result.failed
    assert result.settings["weights"] is None  # what clients would choose is another release
    for name, mask in wrong.items():
        scores = result.rows(name)["label_score"]
        assert scores[mask].mean() > scores[~mask].mean() + 1.0


@pytest.mark.usefixtures("seeded")
def test_noise_alone_makes_nobody_suspicious_and_half_of_the_cells_missing_are_seen(tmp_path):
    rng = np.random.default_rng(7)
    centres = 2.0 * rng.standard_normal((3, 4))

    def made(count):
        codes = rng.integers(0, 3, count)
        points = centres[codes] + rng.standard_normal((count, 4))
        return fb.Table({name: points[:, place] for place, name in enumerate("abcd")}, codes)

    public_schema(made(300)).save(tmp_path / "schema.json")
    clients = {f"c{number}": made(800) for number in range(6)}
    holes = {name: np.where(rng.random(800) < 0.5, np.nan, cells) for name, cells in clients["c0"].columns.items()}
    clients["c0"] = clients["c0"].replace(columns=holes)
    protocol = fb.Cards(epsilon=4.0, schema=str(tmp_path / "schema.json"))
    result = fb.value(clients, protocol=protocol, engine=fb.LocalEngine(workers=1))
    advice = {opinion.client: opinion for opinion in result.verdict()}
    assert {advice[f"c{number}"].advice for number in range(1, 6)} == {Advice.INCLUDE}
    assert "verdict.more-missing" in {note.code for note in advice["c0"].reasons}
    missing = result.clients.set_index("client")["missing"]
    assert missing["c0"] == pytest.approx(0.5, abs=0.1)
    assert missing.drop("c0").max() == 0.0


def test_a_schema_of_very_many_classes_does_not_keep_an_owner_busy():
    public = public_schema(fb.Table({f"x{at}": [0.0, 1.0, 3.0] for at in range(100)}, ["a", "b", "a"]))
    many = replace(public, label=replace(public.label, classes=tuple(f"{code:06d}" for code in range(20_000))))
    with pytest.raises(SchemaError, check=coded("schema.too-many-sums")):
        module.require_public(many)
