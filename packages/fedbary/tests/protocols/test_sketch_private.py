"""Private answers against a server that chooses schema and sketch: one row moves integers by what ε covers, no more."""

import logging
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import fedbary as fb
from codes import coded
from fedbary.errors import FedbaryError, PrivacyError, ProtocolError, SchemaError
from fedbary.guard.guarded_client import OF_THE_QUESTION
from fedbary.privacy.noise import GRID, row_costs
from fedbary.protocols.messages import Message
from fedbary.protocols.sketch.answer import noisy_costs, private_answer, released_sums, units_per_row
from fedbary.protocols.sketch.numbers import PublicJudge
from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.space.columns import BlockSpec, CategorySpec, ColumnSpec
from fedbary.space.encode import row_points
from fedbary.space.labels import LabelSpec
from fedbary.space.schema import Schema
from fedbary.transport.solve import cost_matrix
from fedbary.valuation.rows import RowRules

FIELDS = {"rows", "cost", "lower", "relaxed", "error", "noise"}


# --- one row moves the released integers by at most G, and by G times its mass --------------------------------------

NASTY = [0.0, -0.0, 1.0, 1e-300, 1e300, -1e300, 5e-324, 1e16, np.pi, 1e6, -1e6, 1e100]
CELLS = st.one_of(
    st.sampled_from(["a", "b", "", "nan", "1", "-1e400", None, "x" * 300]),
    st.floats(-1e100, 1e100, allow_nan=False),
    st.sampled_from(NASTY[:6]).filter(lambda number: abs(number) < 1e101),
)
ROWS = st.tuples(CELLS, CELLS, st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2), CELLS)


def column(cells):
    """As a file is read: numbers where all cells are, else text."""
    if any(isinstance(cell, str) for cell in cells):
        return np.array([None if cell is None else str(cell) for cell in cells], dtype=object)
    return np.array([np.nan if cell is None else cell for cell in cells], dtype=float)


def table_of(rows):
    first, second, block, label = zip(*rows, strict=True)
    labels = column(["" if cell is None else cell for cell in label])
    return fb.Table({"n": column(first), "c": column(second), "x": np.array(block)}, labels)


@st.composite
def questions(draw):
    """A schema and a sketch that no check has seen: numbers that overflow, cancel, vanish, or are no numbers."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))

    def numbers(*shape):
        loud = rng.choice(NASTY, shape)
        return np.where(rng.random(shape) < draw(st.sampled_from([0.0, 0.3, 1.0])), loud, rng.normal(size=shape))

    scales = tuple(draw(st.lists(st.sampled_from([1.0, 1e-100, 1e100, 3.0, 1e-304]), min_size=3, max_size=3)))
    columns = (
        ColumnSpec("n", "numeric", 1, *(tuple(numbers(1).tolist()), scales[:1], (), tuple(numbers(1).tolist()))),
        CategorySpec("c", categories=("a", "1", "other")[: draw(st.integers(0, 3))]),
        BlockSpec("x", "block", 2, *(tuple(numbers(2).tolist()), scales[1:], (), tuple(numbers(2).tolist()))),
    )
    columns = tuple(replace(one, absence=float(abs(numbers(1)[0])), may_lack=draw(st.booleans())) for one in columns)
    width = sum(one.coordinates for one in columns)
    projection = numbers(draw(st.integers(1, 3)), width) if draw(st.booleans()) else None
    features = width if projection is None else len(projection) + 1
    whitening = numbers(features, features) if draw(st.booleans()) else None
    weight = draw(st.sampled_from([0.0, 1.0, 1e300, 1e-300]))
    if draw(st.booleans()):
        label = LabelSpec("label", "number", "numeric", mean=float(numbers(1)[0]), scale=scales[0], weight=weight)
    else:
        label = LabelSpec("label", "classes", "onehot", ("a", "1"), weight=weight)
    schema = Schema(columns, label, draw(st.sampled_from(["refuse", "indicate"])), projection, whitening)
    points = draw(st.integers(1, 4))
    masses = rng.dirichlet(np.full(points, draw(st.sampled_from([0.02, 1.0])))) + 1e-9
    cap = draw(st.sampled_from([1.0, 1e-100, 1e100, 1e-5, 1e12]))
    return schema, SketchPoints(numbers(points, schema.point_width), masses / masses.sum(), np.zeros(points), cap)


def judges(schema):
    """Whatever a server may count rows by."""
    width = sum(one.coordinates for one in schema.columns)
    loud = st.sampled_from([0.0, 1.0, -3.0, 1e300, -1e-300])
    threshold = st.sampled_from([0.0, 1.0, GRID / 2, GRID])
    return st.builds(
        PublicJudge,
        hnp.arrays(np.float64, (2, width), elements=loud),
        hnp.arrays(np.float64, 2, elements=loud),
        st.just(("a", "1")),
        threshold,
        threshold,
    )


@given(questions(), st.lists(ROWS, min_size=1, max_size=9), ROWS, st.data())
def test_replacing_a_row_moves_the_released_integers_by_what_epsilon_covers(question, rows, other, data):
    schema, sketch = question
    place = data.draw(st.integers(0, len(rows) - 1))
    changed = [*rows[:place], other, *rows[place + 1 :]]
    costs = [row_costs(row_points(table_of(r), schema), sketch.points, sketch.cap) for r in (rows, changed)]
    assert ((costs[0] >= 0) & (costs[0] <= GRID) & (costs[0] == np.floor(costs[0]))).all()
    same = np.arange(len(rows)) != place
    np.testing.assert_array_equal(costs[0][same], costs[1][same])
    judge = data.draw(judges(schema))
    one, two = (released_sums(table_of(r), schema, sketch, judge) for r in (rows, changed))
    assert abs(one.nearest - two.nearest) <= GRID
    assert abs(one.transport - two.transport) <= GRID * units_per_row(len(rows))
    assert abs(one.counts.doubted - two.counts.doubted) <= 1
    assert abs(one.counts.odd - two.counts.odd) <= 1
    assert abs(one.counts.missing - two.counts.missing) <= schema.cells


def test_the_bounds_are_tight():
    schema = Schema(
        (ColumnSpec("n", "numeric", 1, (0.0,), (1.0,), (), (0.0,)),),
        LabelSpec("label", "classes", "onehot", weight=0.0),
    )
    sketch = SketchPoints(np.zeros((1, 2)), np.ones(1), np.zeros(1), 4.0)
    near, far = fb.Table({"n": np.zeros(10)}, ["a"] * 10), fb.Table({"n": np.append(np.zeros(9), 1e9)}, ["a"] * 10)
    one, two = (released_sums(table, schema, sketch) for table in (near, far))
    assert (two.nearest - one.nearest, two.transport - one.transport) == (GRID, GRID * 1024)


def test_costs_are_those_of_the_points(digits):
    schema = fb.fit_schema(digits, fb.Space(metric="within", labels="onehot"))
    cloud = fb.embed(digits, schema)
    points = cloud.points[:40]
    exact = np.minimum(cost_matrix(cloud.points, points, 2)[cloud.point_of_row] / 50.0, 1.0) * GRID
    found = row_costs(row_points(digits, schema), points, 50.0)
    assert np.abs(found - exact).max() <= 1.001


@pytest.mark.parametrize("projection", ["none", 20])
def test_a_row_costs_the_same_in_any_company(digits, projection):
    """To the last bit, before it is rounded down, at any place and beside any number of others."""
    schema = fb.fit_schema(digits, fb.Space(metric="within", labels="onehot", projection=projection))
    together = row_points(digits, schema)
    for rows in ([5], [1700, 5, 3], np.arange(5, 1700, 3), np.random.default_rng(0).permutation(len(digits))):
        np.testing.assert_array_equal(row_points(digits.take(rows), schema), together[:, rows])
        points = together[:, :37].T.copy()
        np.testing.assert_array_equal(
            row_costs(together[:, rows], points, 60.0), row_costs(together, points, 60.0)[rows]
        )


@pytest.mark.parametrize("rows", [1, 7, 1000, 2**22, 2**22 + 1, 2**33])
def test_all_quantities_stay_below_what_doubles_count_exactly(rows):
    units = units_per_row(rows)
    assert 1 <= units <= 1024
    if rows <= 2**32:
        assert rows * units * GRID <= 2**52


# --- an answer always comes ------------------------------------------------------------------------------------------


def message(schema, sketch):
    scalars = {"schema": schema.to_json(), "fingerprint": schema.fingerprint, "cap": sketch.cap}
    return Message(
        "sketch", 0, scalars, {"points": sketch.points, "weights": sketch.weights, "variances": sketch.variances}
    )


def centre(schema, cap=1.0):
    return SketchPoints(np.zeros((1, schema.point_width)), np.ones(1), np.zeros(1), cap)


def outcome(table, schema, **settings):
    """What a server sees: the form of a reply, or the code of a refusal."""
    client = fb.Sketch(epsilon=0.1, **settings).client(table, rules=RowRules(), seed=0)
    try:
        reply = client.answer(message(schema, centre(schema)))
    except FedbaryError as error:
        return error.code
    assert not reply.arrays
    assert not reply.notes
    return {name: type(value) for name, value in reply.scalars.items()}


def rows_with(**cells):
    """Forty rows like any others, but for the first."""
    rng = np.random.default_rng(0)
    columns = {"zip": rng.choice(["z1", "z2"], 40).astype(object), "income": np.round(rng.lognormal(10, 1, 40), 2)}
    labels = rng.choice(["a", "b"], 40).astype(object)
    for name, cell in cells.items():
        if name == "label":
            labels[0] = cell
        else:
            columns[name] = column([cell, *columns[name].tolist()[1:]])
    return fb.Table(columns, labels)


LOUD = 1.797e308
LABEL = LabelSpec("label", "classes", "onehot", weight=0.0)
INCOME = ColumnSpec("income", "numeric", 1, (0.0,), (1.0,), (), (0.0,))
QUESTIONS = {
    "plain": Schema((INCOME, CategorySpec("zip", categories=("z1",))), LABEL),
    "has anybody this zip code": Schema(
        (CategorySpec("zip", categories=("z9",)),), LABEL, whitening=np.array([[LOUD, 0], [0, 0]])
    ),
    "does anybody earn more": Schema((replace(INCOME, scale=(1e4 / LOUD,)),), LABEL),
    "does anybody earn exactly": Schema((CategorySpec("income", categories=("123.45",)),), LABEL),
    "is the label a number": Schema((INCOME,), LabelSpec("label", "number", "numeric")),
    "is a cell missing": Schema((INCOME,), LABEL, missing="refuse"),
    "labels of the client's own": Schema((INCOME,), LabelSpec("label", "classes", "gaussian")),
}
VICTIMS = {
    "nobody": {},
    "the zip code": {"zip": "z9"},
    "a fortune": {"income": 1e99},
    "the income": {"income": 123.45},
    "no income": {"income": None},
    "text": {"income": "a lot"},
    "another label": {"label": "7.5"},
    "a long label": {"label": "x" * 10_000},
    "no zip code": {"zip": None},
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_whether_and_in_which_form_there_is_an_answer_depends_on_the_question_alone(question):
    schema = QUESTIONS[question]
    seen = [outcome(rows_with(**victim), schema) for victim in VICTIMS.values()]
    assert all(one == seen[0] for one in seen)
    assert outcome(fb.Table({"zip": ["z1"] * 40, "income": np.ones(40)}, ["a"] * 40), schema) == seen[0]  # copies only
    refused = {
        "has anybody this zip code": "schema.beyond-bounds",
        "does anybody earn more": "schema.beyond-bounds",
        "labels of the client's own": "protocols.gaussian-labels-with-epsilon",
    }
    if question in refused:
        assert seen[0] == refused[question]
    else:
        assert set(seen[0]) == FIELDS


def test_declared_facts_are_refused_by_name():
    schema = QUESTIONS["plain"]
    assert outcome(rows_with().take(range(4)), schema) == "schema.too-few-rows"
    assert outcome(fb.Table({"zip": ["z1"] * 40}, ["a"] * 40), schema) == "schema.columns-missing"
    wide = fb.Table({"zip": ["z1"] * 40, "income": np.ones((40, 2))}, ["a"] * 40)
    assert outcome(wide, schema) == "schema.width"


@pytest.mark.parametrize("broken", ["row_points", "integer_flow"])
def test_a_failure_inside_is_the_owner_s_to_know_and_looks_like_an_answer(broken, monkeypatch, caplog):
    def fails(*_):
        raise ValueError("row 17 holds a secret")

    monkeypatch.setattr(f"fedbary.protocols.sketch.answer.{broken}", fails)
    schema = QUESTIONS["plain"]
    with caplog.at_level(logging.ERROR, logger="fedbary.owner"):
        found = private_answer(rows_with(), schema, centre(schema, cap=3.0), 1e6).costs
    assert (found.cost, found.relaxed) == (pytest.approx(3.0, rel=1e-3), pytest.approx(3.0, rel=1e-3))
    assert set(outcome(rows_with(), schema)) == FIELDS
    assert "row 17 holds a secret" in caplog.text


def test_row_values_that_cannot_be_computed_change_nothing_that_left():
    schema = replace(QUESTIONS["plain"], missing="refuse")
    client = fb.Sketch(epsilon=0.1).client(rows_with(income=None), rules=RowRules(), seed=0)
    question = message(schema, centre(schema))
    reply = client.answer(question)
    with pytest.raises(SchemaError, check=coded("schema.missing-values")):
        client.row_values()
    assert client.answer(question).scalars == reply.scalars


def test_with_coarsen_points_are_merged_by_the_declared_row_count_only():
    schema = QUESTIONS["plain"]
    points = np.zeros((3, schema.point_width))
    points[:, 0] = [0.0, 1.0, 50.0]
    sketch = SketchPoints(points, np.array([0.9, 0.08, 0.02]), np.zeros(3), 10.0)
    errors = set()
    for table in (rows_with(), rows_with(zip="z9"), fb.Table({"zip": ["z1"] * 40, "income": np.ones(40)}, ["a"] * 40)):
        client = fb.Sketch(epsilon=0.1, policy="coarsen").client(table, rules=RowRules(), seed=0)
        errors.add(client.answer(message(schema, sketch)).scalars["error"])
    assert len(errors) == 1
    assert errors != {sketch.error}


# --- what is released ------------------------------------------------------------------------------------------------


def test_numbers_stay_where_costs_can_be_and_noise_is_stated():
    sketch = SketchPoints(np.zeros((1, 1)), np.ones(1), np.zeros(1), 5.0)
    schema, rows = QUESTIONS["plain"], rows_with()
    sums = released_sums(rows, schema, centre(schema))
    for _ in range(50):
        found = noisy_costs(sums, 40, sketch, 0.01)
        assert 0.0 <= found.cost <= 5.0
        assert 0.0 <= found.relaxed <= 5.0
        assert found.noise == pytest.approx(5.0 / 40 / 0.005)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (dict(points=np.full((2, 4), 1e101)), "server-array"),
        (dict(points=np.full((2, 4), "0")), "server-array"),
        (dict(weights=np.array(1.0)), "server-array"),
        (dict(cap=1e-101), "message-unfit"),
        (dict(weights=np.array([1.0 - 1e-10, 1e-10])), "sketch-masses"),
        (dict(variances=np.full(2, -1.0)), "server-array"),
    ],
)
def test_sketches_beyond_bounds_are_refused(change, code):
    schema = QUESTIONS["plain"]
    plain = SketchPoints(np.zeros((2, schema.point_width)), np.full(2, 0.5), np.zeros(2), 1.0)
    client = fb.Sketch(epsilon=1.0).client(rows_with(), rules=RowRules(), seed=0)
    with pytest.raises(ProtocolError, check=coded(f"protocols.{code}")):
        client.answer(message(schema, replace(plain, **change)))


def test_a_sketch_too_large_for_the_rows_is_refused_before_memory_is_asked_for():
    """20,000 points and a million rows would be 160 gigabytes of costs, and the node would be killed."""
    schema = Schema((replace(INCOME, name="n"),), LabelSpec("label", "classes", "onehot"))
    sketch = SketchPoints(np.zeros((20_000, 2)), np.full(20_000, 1 / 20_000), np.zeros(20_000), 1.0)
    rows = fb.Table({"n": np.zeros(30_000)}, np.zeros(30_000, dtype=int))
    for settings in (fb.Sketch(epsilon=1.0), fb.Sketch(policy="coarsen"), fb.Sketch()):
        client = settings.client(rows, rules=RowRules(), seed=0)
        with pytest.raises(ProtocolError, check=coded("protocols.sketch-too-large")) as caught:
            client.answer(message(schema, sketch))
        assert caught.value.code in OF_THE_QUESTION


def test_a_sketch_that_would_take_minutes_to_merge_is_refused():
    schema = Schema((replace(INCOME, name="n"),), LabelSpec("label", "classes", "onehot"))
    wide = replace(schema, columns=tuple(replace(INCOME, name=f"n{k}") for k in range(30)))
    points = np.zeros((20_000, wide.point_width))
    sketch = SketchPoints(points, np.full(20_000, 1 / 20_000), np.zeros(20_000), 1.0)
    rows = fb.Table({f"n{k}": np.zeros(50) for k in range(30)}, np.zeros(50, dtype=int))
    client = fb.Sketch(policy="coarsen").client(rows, rules=RowRules(), seed=0)
    with pytest.raises(ProtocolError, check=coded("protocols.sketch-too-large")):
        client.answer(message(wide, sketch))


def test_another_question_is_refused_and_the_same_gets_the_same_noise():
    schema = QUESTIONS["plain"]
    client = fb.Sketch(epsilon=1.0).client(rows_with(), rules=RowRules(), seed=0)
    first = client.answer(message(schema, centre(schema)))
    assert client.answer(message(schema, centre(schema))).scalars == first.scalars
    with pytest.raises(PrivacyError, check=coded("protocols.asked-otherwise")):
        client.answer(message(schema, centre(schema, cap=2.0)))


def test_a_reference_may_hold_copies():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3))
    table = fb.Table.from_arrays(x, np.array(["a", "b"])[(x[:, 0] > 0).astype(int)])
    copied = table.take(np.append(np.arange(120), np.arange(15)))
    result = fb.value({"one": table, "two": table}, copied, protocol=fb.Sketch(epsilon=1.0), seed=0)
    assert not result.failed
