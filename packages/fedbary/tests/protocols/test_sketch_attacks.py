"""A server of the sketch protocol that cheats, in every way we know: it succeeds where trusted, and fails elsewhere.

Where an attack needs several questions it asks in a new run each time, so that what fails is the guard and not the
count of questions; the count has its own tests.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded, parameter
from fedbary.errors import DataError, PrivacyError, ProtocolError, SettingsError
from fedbary.forms import array_text
from fedbary.guard.policy import OwnerPolicy
from fedbary.judging.evidence import CELLS, cells_of
from fedbary.judging.model import JudgingModel
from fedbary.protocols.client import judge_of
from fedbary.protocols.messages import Message
from fedbary.protocols.sketch.answer import capped_together, guarded_answer, least_mass, nearest_shared, singled_out
from fedbary.protocols.sketch.sketch import make_sketch
from fedbary.space.points import Points
from fedbary.transport import solve
from fedbary.transport.solve import cost_matrix
from fedbary.valuation.rows import RowRules

ROWS, WIDTH = 100, 8


@pytest.fixture(scope="module")
def victim():
    """Rows of a client, and a space of the server's choice: the plain features, labels weighing nothing."""
    X = np.random.default_rng(1).normal(size=(ROWS, WIDTH))
    table = fb.Table.from_arrays(X, np.array(["a", "b"] * (ROWS // 2)))
    space = fb.Space(metric="euclidean", labels="onehot", scaling="none", projection="none")
    schema = fb.fit_schema(table, space)
    return table, X, replace(schema, label=replace(schema.label, weight=1e-30))


def client_of(table, **settings):
    return fb.Sketch(**settings).client(table, rules=RowRules(), seed=0)


class RunAfterRun:
    """A client whose owner takes part in a new run for every question."""

    def __init__(self, table, **settings):
        self.answer = lambda question: client_of(table, **settings).answer(question)


def message(schema, points, weights, *, cap=1e6, variances=None):
    points = np.atleast_2d(points)
    padded = np.zeros((len(points), schema.point_width))
    padded[:, : points.shape[1]] = points
    variances = np.zeros(len(points)) if variances is None else np.asarray(variances, dtype=float)
    scalars = {"schema": schema.to_json(), "fingerprint": schema.fingerprint, "cap": float(cap)}
    arrays = {"points": padded, "weights": np.asarray(weights, dtype=float), "variances": variances}
    return Message("sketch", 0, scalars, arrays)


def ask(client, *arguments, **options):
    return client.answer(message(*arguments, **options)).scalars


# --- a point near one row -----------------------------------------------------------------------------


def read_outlier(client, X, schema, masses=(0.9, 0.1)):
    """Move the second of two points near an outlier: if it is nearest for nobody else, `relaxed` is that row's."""
    row = X[np.argmax((X**2).sum(axis=1))]
    guess = 1.5 * row + 0.1 * np.random.default_rng(0).normal(size=WIDTH)
    assert (((X - guess) ** 2).sum(axis=1) < (X**2).sum(axis=1)).sum() == 1
    h = 0.02

    def total(z):
        return ROWS * ask(client, schema, np.vstack([np.zeros(WIDTH), z]), masses)["relaxed"]

    start = total(guess)
    read = [guess[j] + (total(guess + h * np.eye(WIDTH)[j]) - start - h * h) / (-2 * h) for j in range(WIDTH)]
    return float(np.abs(read - row).max())


def test_a_point_near_one_row_reads_it_from_a_trusting_client_only(victim):
    table, X, schema = victim
    assert read_outlier(RunAfterRun(table), X, schema) < 1e-6
    assert read_outlier(RunAfterRun(table, policy="coarsen"), X, schema) > 0.5
    for policy in ("trusted", "coarsen"):
        with pytest.raises(PrivacyError, check=coded("protocols.asked-otherwise")):
            read_outlier(client_of(table, policy=policy), X, schema)


def test_no_move_of_a_point_that_is_nearest_for_few_changes_anything(victim):
    """Not even that some row lies there: neither in the mean cost nor by the error of a merged sketch."""
    table, X, schema = victim
    row = X[np.argmax((X**2).sum(axis=1))]
    client = RunAfterRun(table, policy="coarsen")
    # The second point takes its mass from the same rows, whether or not a single one is nearest to it.
    near, nobody = (ask(client, schema, np.vstack([np.zeros(WIDTH), z]), (0.9, 0.1)) for z in (1.3 * row, 30 * row))
    assert near["relaxed"] == pytest.approx(nobody["relaxed"], rel=1e-12)
    assert near["error"] == nobody["error"]


# --- the cap ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "reads"), [("trusted", True), ("coarsen", False)])
def test_a_cap_between_two_rows_reads_the_nearest_one(victim, policy, reads):
    table, X, schema = victim
    costs = np.sort((X**2).sum(axis=1))
    cap = costs[:2].mean()
    relaxed = ask(client_of(table, policy=policy), schema, np.zeros(WIDTH), [1.0], cap=cap)["relaxed"]
    read = ROWS * relaxed - (ROWS - 1) * cap
    assert (abs(read - costs[0]) < 1e-9) == reads


@pytest.mark.parametrize(("policy", "reads"), [("trusted", True), ("coarsen", False)])
def test_a_cap_between_two_rows_reads_the_farthest_one(victim, policy, reads):
    """The cost has no cap and the mean cost has one: their difference is what exceeds it."""
    table, X, schema = victim
    costs = np.sort((X**2).sum(axis=1))
    cap = costs[-2:].mean()
    found = ask(client_of(table, policy=policy), schema, np.zeros(WIDTH), [1.0], cap=cap)
    read = cap + ROWS * (found["cost"] - found["relaxed"])
    assert (abs(read - costs[-1]) < 1e-9) == reads


@pytest.mark.parametrize(("policy", "reads"), [("trusted", True), ("coarsen", False)])
def test_many_caps_read_the_distribution_of_distances(victim, policy, reads):
    """The slope of `relaxed` over the cap counts the rows beyond it: with enough caps, row by row."""
    table, X, schema = victim
    client = RunAfterRun(table, policy=policy)
    costs = np.sort((X**2).sum(axis=1))
    middles = (costs[1:] + costs[:-1])[:4] / 2  # between the nearest rows
    steps = 1e-6 * np.array([-1.0, 1.0])
    counts = []
    for cap in middles:
        low, high = (ask(client, schema, np.zeros(WIDTH), [1.0], cap=cap + s)["relaxed"] for s in steps)
        counts.append(round(ROWS * (1 - (high - low) / 2e-6)))
    assert (counts == [1, 2, 3, 4]) == reads
    if not reads:
        assert counts == [0, 0, 0, 0]


@given(st.integers(0, 100_000), st.floats(0.01, 30.0), st.integers(2, 7))
def test_the_cap_sets_apart_nobody_or_a_group(seed, cap, group):
    rng = np.random.default_rng(seed)
    values = rng.exponential(size=int(rng.integers(group, 40))) ** 2
    weights = rng.dirichlet(np.ones(len(values)))
    capped = capped_together(values, weights, cap, group)
    moved, kept = (capped != values).sum(), (capped < cap).sum()
    assert moved == 0 or (capped == cap).sum() >= group
    assert kept == 0 or kept >= group or moved == 0
    assert weights @ capped <= cap * (1 + 1e-12)
    assert weights @ capped >= weights @ np.minimum(values, cap) - 1e-12


# --- differences of the numbers of one answer ---------------------------------------------------------


def read_marginal_row(client, X, schema):
    """Give a point the mass of one row more than it attracts: cost − relaxed is what that one row pays for it."""
    first, second = np.zeros(WIDTH), np.eye(WIDTH)[0]
    gain = ((X - second) ** 2).sum(axis=1) - ((X - first) ** 2).sum(axis=1)
    attracted = int((gain < 0).sum())
    mass = (attracted + 1) / ROWS
    found = ask(client, schema, np.vstack([first, second]), [1 - mass, mass])
    read = (1 - ROWS * (found["cost"] - found["relaxed"])) / 2  # ‖x − e‖² − ‖x‖² = 1 − 2·x₁
    return abs(read - X[gain >= 0, 0].max())


def test_the_difference_of_two_numbers_reads_one_row_from_a_trusting_client_only(victim):
    table, X, schema = victim
    assert read_marginal_row(client_of(table), X, schema) < 1e-9
    client = client_of(table, policy="coarsen")
    read_marginal_row(client, X, schema)
    found = client._left["sketch"].scalars
    assert found["relaxed"] == found["cost"]  # nothing to subtract


def read_distance_of_two_rows(client, X, schema):
    """The lower end as a function of the variances: its slope is the spread of what a point takes, here two rows."""
    far = 50.0 * np.eye(WIDTH)[0]
    taken = X[np.argsort(-X[:, 0])[:2]]
    points, mass, e = np.vstack([np.zeros(WIDTH), far]), 2 / ROWS, 1e-3
    found = ask(client, schema, points, [1 - mass, mass], variances=[0.0, e**2])
    sigma = (found["cost"] + mass * e**2 - found["lower"]) / (2 * mass * e)
    return abs(2 * sigma - np.linalg.norm(taken[0] - taken[1]))


def test_the_lower_end_reads_the_distance_of_two_rows_from_a_trusting_client_only(victim):
    table, X, schema = victim
    # The point attracts rows by their first coordinate alone, but for the small rest of their length.
    assert read_distance_of_two_rows(client_of(table), X, schema) < 1e-3
    assert read_distance_of_two_rows(client_of(table, policy="coarsen"), X, schema) > 0.5


@given(st.integers(0, 10_000))
def test_the_guarded_lower_end_tells_nothing_that_the_others_do_not(seed):
    cloud, sketch, _ = random_problem(seed)
    found = guarded(cloud, sketch)
    assert found.lower == max(0.0, np.sqrt(found.cost) - found.error) ** 2


# --- a schema that makes one row loud -----------------------------------------------------------------


@pytest.mark.parametrize("policy", ["trusted", "coarsen"])
def test_a_schema_that_weighs_a_rare_value_reads_its_row(policy):
    """A mean over all rows of (B·rare + x)² is, to its leading digits, B² + 2·B·x of the one row that has it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 2))
    X[:, 0] = np.arange(ROWS) == 17
    table = fb.Table.from_arrays(X, np.array(["a", "b"] * (ROWS // 2)))
    schema = fb.fit_schema(table, fb.Space(metric="euclidean", labels="onehot", scaling="none", projection="none"))
    loud = 1e6
    schema = replace(schema, label=replace(schema.label, weight=1e-30), whitening=np.array([[loud, 1.0], [1.0, 1.0]]))
    client = client_of(table, policy=policy)
    question = message(schema, np.zeros(2), [1.0], cap=1e30)
    cost = client.answer(question).scalars["cost"]
    read = (ROWS * cost - loud**2) / (2 * loud)
    assert (read == pytest.approx(X[17, 1], abs=1e-3)) == (policy == "trusted")
    assert policy == "trusted" or cost < 10.0  # as if it were like the others


# --- copies -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "reads"), [("trusted", True), ("coarsen", False)])
def test_a_row_copied_ten_times_is_not_a_group(policy, reads):
    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(size=(90, 3)), np.tile([3.0, 3.0, 3.0], (10, 1))])
    table = fb.Table.from_arrays(X, np.array(["a", "b"] * 45 + ["a"] * 10))
    schema = fb.fit_schema(table, fb.Space(metric="euclidean", labels="onehot", scaling="none", projection="none"))
    schema = replace(schema, label=replace(schema.label, weight=1e-30))
    probe, h = np.full(3, 10.0), 0.1
    client = RunAfterRun(table, policy=policy)
    costs = [
        ask(client, schema, np.vstack([np.zeros(3), z]), [0.9, 0.1])["cost"] for z in (probe, *(probe + h * np.eye(3)))
    ]
    read = [probe[j] + ((costs[j + 1] - costs[0]) / 0.1 - h * h) / (-2 * h) for j in range(3)]
    assert (np.abs(np.array(read) - 3.0).max() < 1e-6) == reads


def test_mass_that_a_group_shares_counts_different_rows():
    assert least_mass(np.full(50, 0.02), 5) == pytest.approx(0.1)
    assert least_mass(np.array([0.6, 0.1, 0.1, 0.1, 0.05, 0.05]), 5) == pytest.approx(0.95)
    assert least_mass(np.array([0.5, 0.5]), 5) == 1.0


def test_a_table_of_copies_is_refused(digits):
    schema = fb.fit_schema(digits, fb.Sketch().space(None))
    question = message(schema, np.zeros(schema.point_width), [1.0])
    for policy in ("trusted", "coarsen"):
        with pytest.raises(DataError, check=coded("protocols.too-few-different-rows", "schema.too-few-in-a-group")):
            client_of(digits.take([3] * 50), policy=policy).answer(question)
    # With epsilon a refusal would tell what epsilon does not cover.
    assert client_of(digits.take([3] * 50), epsilon=1.0).answer(question).scalars["rows"] == 50


# --- what the guards promise, for any rows ------------------------------------------------------------


def random_problem(seed):
    rng = np.random.default_rng(seed)
    Q = rng.normal(size=(60, 3)) * rng.uniform(0.2, 2, 3)
    P = rng.normal(size=(30, 3)) + rng.normal(size=3)
    sketch = make_sketch(Q, np.full(60, 1 / 60), rng.integers(0, 3, 60), 8, min_group=5, seed=0)
    return Points(P, np.full(30, 1 / 30), np.arange(30), 3), sketch, Q


def guarded(cloud, sketch):
    try:
        return guarded_answer(cloud, sketch, min_group=5)
    except PrivacyError:  # one row happens to outweigh all others
        return assume(False)


@given(st.integers(0, 10_000))
def test_the_guarded_interval_holds_the_exact_distance(seed):
    cloud, sketch, Q = random_problem(seed)
    found, exact = guarded(cloud, sketch), solve(cloud.points, Q).distance
    assert np.sqrt(found.lower) <= exact + 1e-9 <= np.sqrt(found.cost + found.error**2) + 2e-9
    assert 0 <= found.relaxed <= sketch.cap * (1 + 1e-12)


@given(st.integers(0, 100_000), st.integers(1, 7))
def test_every_point_in_use_is_nearest_for_a_group(seed, group):
    rng = np.random.default_rng(seed)
    rows, points = (
        rng.normal(size=(int(rng.integers(group, 40)), 2)),
        2 * rng.normal(size=(int(rng.integers(1, 15)), 2)),
    )
    costs = cost_matrix(rows, points, 2)
    found = nearest_shared(costs, group)
    chosen = np.argmin(np.abs(costs - found[:, None]), axis=1)
    assert np.unique(chosen, return_counts=True)[1].min() >= group
    assert (found >= costs.min(axis=1)).all()


def test_a_sum_is_of_a_group_and_not_mostly_of_one_row():
    assert singled_out(np.array([5.0, 1.0, -1.0, 1.0, 1.0]), 5)
    assert not singled_out(np.array([4.0, 1.0, -1.0, 1.0, 1.0]), 5)
    assert singled_out(np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1e-12]), 5)
    assert not singled_out(np.zeros(3), 5)
    assert not singled_out(np.array([9.0, 1.0]), 1)  # an owner who allows single rows


# --- the same question again, and others --------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", [dict(), dict(policy="coarsen"), dict(policy="dp", epsilon=0.1), dict(policy="coarsen", epsilon=0.1)]
)
def test_the_same_question_gets_the_same_answer_also_after_a_restart(victim, settings):
    """Averaging over fresh noise would undo it: 50 repetitions must be worth one."""
    table, _, schema = victim
    question = message(schema, np.zeros(WIDTH), [1.0], cap=50.0)
    client = client_of(table, **settings)
    answers = {json.dumps(dict(client.answer(question).scalars)) for _ in range(50)}
    again = client_of(table, **settings)
    again.restore(client.state())
    answers |= {json.dumps(dict(again.answer(question).scalars)) for _ in range(10)}
    assert len(answers) == 1


def test_fresh_clients_draw_fresh_noise(victim):
    table, _, schema = victim
    question = message(schema, np.zeros(WIDTH), [1.0], cap=50.0)
    assert len({client_of(table, epsilon=0.1).answer(question).scalars["cost"] for _ in range(5)}) > 1


@pytest.mark.parametrize("settings", [dict(), dict(epsilon=0.5)])
def test_the_state_holds_what_left_and_no_row(victim, settings):
    table, X, schema = victim
    client = client_of(table, **settings)
    sent = client.answer(message(schema, np.ones(WIDTH), [1.0]))
    state = client.state()
    assert set(state) == {"first", "left", "schema", "array.cap", "array.points", "array.weights", "array.variances"}
    assert json.loads(array_text(state["left"])) == {"sketch": {"scalars": dict(sent.scalars), "notes": []}}
    content = b"".join(np.ascontiguousarray(array).tobytes() for array in state.values())
    assert not any(value.tobytes() in content or repr(float(value)).encode() in content for value in X.ravel())


def test_anything_that_differs_in_a_message_makes_it_another_question(victim):
    table, _, schema = victim
    for settings in (dict(), dict(policy="coarsen"), dict(epsilon=1.0), dict(policy="dp", epsilon=1.0)):
        for change in (dict(cap=51.0), dict(variances=[1e-9])):
            client = client_of(table, **settings)
            ask(client, schema, np.zeros(WIDTH), [1.0], cap=50.0)
            with pytest.raises(PrivacyError, check=coded("protocols.asked-otherwise")):
                ask(client, schema, np.zeros(WIDTH), [1.0], **{"cap": 50.0, **change})


def test_a_refusal_counts_and_a_malformed_message_does_not(victim):
    table, _, schema = victim
    client = client_of(table.take([0] * 50), policy="coarsen")
    with pytest.raises(ProtocolError):
        ask(client, schema, np.zeros(WIDTH), [0.5])
    with pytest.raises(DataError, check=coded("schema.too-few-in-a-group")):
        ask(client, schema, np.zeros(WIDTH), [1.0])
    again = client_of(table.take([0] * 50), policy="coarsen")
    again.restore(client.state())
    for asked in (client, again):
        with pytest.raises(PrivacyError, check=coded("protocols.asked-otherwise")):
            ask(asked, schema, np.ones(WIDTH), [1.0])


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1e-7, float("nan"), float("inf"), True, "1"])
def test_an_epsilon_that_cannot_be_kept_is_refused(epsilon):
    with pytest.raises(SettingsError, check=parameter("epsilon")):
        fb.Sketch(epsilon=epsilon)


def test_the_smallest_epsilon_is_answered(victim):
    table, _, schema = victim
    found = ask(client_of(table, epsilon=1e-4), schema, np.zeros(WIDTH), [1.0], cap=50.0)
    assert found["noise"] >= 50.0 / ROWS / 0.5e-4


# --- what the server gives away -----------------------------------------------------------------------


@pytest.mark.parametrize("rows", range(2, 5))
@pytest.mark.parametrize("kind", ["classes", "number"])
def test_a_reference_of_a_few_rows_is_not_sent_as_their_mean(rows, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = np.array(["a", "b"] * 50) if kind == "classes" else X[:, 0] + rng.normal(size=100)
    clients, reference = {"c": fb.Table.from_arrays(X[20:], y[20:])}, fb.Table.from_arrays(X[:rows], y[:rows])
    with pytest.raises(DataError, check=coded("protocols.reference-too-small-for-sketch")):
        fb.value(clients, reference, protocol="sketch", seed=0)


def test_a_reference_of_copies_is_not_sent_either():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    copies = fb.Table.from_arrays(np.tile(X[:3], (40, 1)), np.tile(["a", "b", "a"], 40))
    with pytest.raises(DataError, check=coded("protocols.reference-too-small-for-sketch")):
        fb.value({"c": fb.Table.from_arrays(X, ["a", "b"] * 30)}, copies, protocol="sketch", seed=0)


def sent_arrays(reference):
    settings = fb.Sketch()
    server = settings.server(["c"], reference, settings.space(None), rules=RowRules(), seed=0)
    return server, server.tasks()["c"].arrays


def test_a_class_of_copies_is_left_out_of_the_scoring_model():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(80, 3)), np.tile([5.0, 5.0, 5.0], (20, 1))])
    _, arrays = sent_arrays(fb.Table.from_arrays(X, ["a", "b"] * 40 + ["c"] * 20))
    assert json.loads(array_text(arrays["model.classes"])) == ["a", "b"]


def test_no_centroid_of_the_scoring_model_is_one_row_copied():
    rng = np.random.default_rng(0)
    row = [9.0, 9.0, 9.0]
    X = np.vstack([rng.normal(size=(80, 3)), np.tile(row, (30, 1))])
    server, arrays = sent_arrays(fb.Table.from_arrays(X, ["a", "b"] * 40 + ["a"] * 30))
    from fedbary.judging.scoring import ScoringModel
    from fedbary.space.encode import encode

    model = ScoringModel.from_arrays({k.removeprefix("model."): a for k, a in arrays.items() if k[:6] == "model."})
    lone = encode(fb.Table.from_arrays(np.array([row]), ["a"]), server.schema)
    place = model.metric.rescale(model.metric.rotate(lone), model.shrinkage)
    assert cost_matrix(place, model.centroids.points, 2).min() > 1e-3
    assert cost_matrix(fb.embed(fb.Table.from_arrays(np.array([row]), ["a"]), server.schema).points,
                       arrays["points"], 2).min() > 1e-3  # fmt: skip


# --- a model of the server's choice -------------------------------------------------------------------


def asked_with(table, honest, settings, **arrays):
    """What a client answers to the honest question with other arrays."""
    changed = {name.replace("__", "."): array for name, array in arrays.items()}
    question = Message(honest.kind, 0, honest.scalars, {**honest.arrays, **changed})
    return settings.client(table, rules=RowRules(), seed=0).answer(question).scalars


@pytest.fixture(scope="module")
def tumours():
    """Two clients that differ in one row, which lies farther out than any other, and an honest question."""
    data = fb.datasets.load("breast-cancer")
    settings = fb.Sketch(policy="coarsen")
    server = settings.server(["me"], data.test, settings.space(None), rules=RowRules(), seed=0)
    honest = server.tasks()["me"]

    def scores(table):
        model = JudgingModel.from_arrays(honest.arrays, width=server.schema.encoded_width)
        judge = judge_of(table, server.schema, model, projected=False)
        return judge.judged(judge.own_weights()).features

    farthest, second = np.argsort(scores(data.train))[[-1, -2]]
    rest = np.setdiff1d(np.arange(150), [farthest, second])[:100]
    tables = data.train.take(rest), data.train.take(np.append(rest[:-1], farthest))
    last = np.sort(scores(tables[1]))[-2:]
    assert cells_of(last)[1] > cells_of(last)[0] + 1
    return tables, honest, int(cells_of(last)[1])


@pytest.mark.parametrize("clean", [19, 25, 60])
@pytest.mark.parametrize(("policy", "reads"), [("trusted", True), ("coarsen", False)])
def test_few_clean_rows_below_one_row_show_that_it_is_there(tumours, policy, reads, clean):
    """The fewer clean rows there are, the higher the upper end, so that no rounding to zero hides a count of one."""
    tables, honest, cell = tumours
    arrays = {"held__features": clean * (np.arange(CELLS) == cell - 1).astype(float)}
    without, within = (asked_with(table, honest, fb.Sketch(policy=policy), **arrays) for table in tables)
    about = ["odd_features", "odd_features_low", "odd_features_high"]
    assert ([without[name] for name in about] != [within[name] for name in about]) == reads


@pytest.mark.parametrize("policy", ["trusted", "coarsen"])
def test_a_model_that_leaves_the_finite_numbers_for_some_rows_is_answered(tumours, policy):
    """Whether there is an answer must not tell that there is such a row."""
    tables, honest, _ = tumours
    loud = np.sign(honest.arrays["model.coefficients"]) * 1e100
    scalars = asked_with(tables[0], honest, fb.Sketch(policy=policy), model__coefficients=loud,
                         model__scales=np.full_like(honest.arrays["model.scales"], 1e100),
                         model__blend=np.full_like(honest.arrays["model.blend"], 1e100))  # fmt: skip
    assert 0.0 <= scalars["wrong_labels"] <= 1.0


@pytest.mark.parametrize("few", [1, 4])
def test_few_missing_or_few_present_cells_are_not_told(few):
    reference = fb.Table({"a": np.arange(60.0), "b": np.arange(60.0) % 7}, ["x", "y"] * 30)
    settings = fb.Sketch(policy="coarsen")
    server = settings.server(["me"], reference, settings.space(None), rules=RowRules(), seed=0)
    for lacking, expected in ((few, 0.0), (60 - few, 0.5), (30, 0.25)):
        cells = np.where(np.arange(60) < lacking, np.nan, reference.columns["b"])
        table = reference.replace(columns={**reference.columns, "b": cells})
        answer = settings.client(table, rules=RowRules(), seed=0).answer(server.tasks()["me"])
        assert answer.scalars["missing"] == expected


def test_an_owner_who_withholds_numbers_withholds_findings_from_which_they_can_be_guessed():
    reference = fb.Table({"a": np.arange(60.0)}, ["yes", "no"] * 30)
    own = fb.Table({"a": 1e4 * (np.arange(60.0) % 30)}, ["yes", "NO"] * 30)
    settings = OwnerPolicy(share_numbers=False).applied(fb.Sketch())
    server = fb.Sketch().server(["me"], reference, fb.Sketch().space(None), rules=RowRules(), seed=0)
    reply = settings.client(own, rules=RowRules(), seed=0).answer(server.tasks()["me"])
    assert sorted(reply.scalars) == ["cost", "error", "lower", "relaxed", "rows"]
    assert [note.code for note in reply.notes] == ["schema.lacks-classes"]


def test_a_model_of_more_classes_than_memory_holds_is_refused():
    table = fb.Table.from_arrays(np.random.default_rng(0).normal(size=(1000, 1)), np.array(["a", "b"] * 500))
    settings = fb.Sketch(epsilon=1.0)
    server = settings.server(["me"], table, settings.space(None), rules=RowRules(), seed=0)
    honest, classes = server.tasks()["me"], 2**20
    names = np.frombuffer(json.dumps(["a"] * classes, separators=(",", ":")).encode(), dtype=np.uint8)
    arrays = {
        "model__classes": names,
        "model__coefficients": np.zeros((classes, 1)),
        "model__offsets": np.zeros(classes),
    }
    with pytest.raises(ProtocolError, check=coded("protocols.sketch-too-large")):
        asked_with(table, honest, settings, **arrays)


def test_the_least_epsilon_is_answered():
    table = fb.Table.from_arrays(np.random.default_rng(0).normal(size=(50, 1)), np.array(["a", "b"] * 25))
    settings = fb.Sketch(epsilon=1e-4)
    server = settings.server(["me"], table, settings.space(None), rules=RowRules(), seed=0)
    assert settings.client(table, rules=RowRules(), seed=0).answer(server.tasks()["me"]).scalars["rows"] == 50
