"""The one-round protocol: certified intervals, quality, privacy of the answer, and a server that cheats."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

import fedbary as fb
from codes import coded, parameter
from fedbary.errors import DataError, PrivacyError, ProtocolError, SettingsError
from fedbary.notes import Note
from fedbary.protocols.messages import NO_ANSWER, Failure, Message, Reply
from fedbary.protocols.sketch.answer import exact_answer, lower_end
from fedbary.protocols.sketch.numbers import ABOUT_ROWS, PLACE
from fedbary.protocols.sketch.sketch import _between_sizes, _some_sizes, coarsened, make_sketch
from fedbary.space.points import Points
from fedbary.transport import solve
from fedbary.valuation.rows import RowRules


def cloud(points, weights=None):
    weights = np.full(len(points), 1 / len(points)) if weights is None else weights
    return Points(points, weights, np.arange(len(points)), points.shape[1])


def random_problem(seed, rows=30, target=60, groups=8):
    rng = np.random.default_rng(seed)
    Q = rng.normal(size=(target, 3)) * rng.uniform(0.2, 2, 3)
    P = rng.normal(size=(rows, 3)) + rng.normal(size=3)
    classes = rng.integers(0, 3, target)
    sketch = make_sketch(Q, np.full(target, 1 / target), classes, groups, min_group=5, seed=0)
    return cloud(P), Q, sketch


# --- the sketch and its interval ----------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(1, 12))
def test_groups_are_exact_large_enough_and_keep_the_mean(seed, groups):
    rng = np.random.default_rng(seed)
    Q, classes = rng.normal(size=(60, 2)), rng.integers(0, 4, 60)
    sketch = make_sketch(Q, np.full(60, 1 / 60), classes, groups, min_group=5, seed=0)
    assert (sketch.weights * 60 >= 5 - 1e-9).all()
    np.testing.assert_allclose(sketch.weights @ sketch.points, Q.mean(axis=0), atol=1e-12)
    total = ((Q - Q.mean(axis=0)) ** 2).sum(axis=1).mean()
    between = sketch.weights @ ((sketch.points - Q.mean(axis=0)) ** 2).sum(axis=1)
    assert between + sketch.error**2 == pytest.approx(total)


def test_a_class_with_fewer_than_min_group_rows_is_merged_into_a_neighbour():
    Q = np.vstack([np.random.default_rng(0).normal(size=(40, 2)), [[9.0, 9.0], [9.1, 9.0]]])
    sketch = make_sketch(Q, np.full(42, 1 / 42), np.repeat([0, 1], [40, 2]), 6, min_group=5, seed=0)
    assert (sketch.weights * 42 >= 5 - 1e-9).all()
    assert sketch.weights.sum() == pytest.approx(1)


@given(st.integers(0, 10_000))
def test_the_certified_interval_holds_the_exact_distance(seed):
    P, Q, sketch = random_problem(seed)
    answer = exact_answer(P, sketch, improved=True)
    exact = solve(P.points, Q).distance
    assert np.sqrt(answer.lower) <= exact + 1e-9
    assert exact <= np.sqrt(answer.cost + sketch.error**2) + 1e-9


@given(st.integers(0, 10_000), st.floats(0.05, 0.6))
def test_merging_keeps_the_interval_valid_and_gives_every_point_its_mass(seed, least):
    P, Q, sketch = random_problem(seed)
    merged = coarsened(sketch, least)
    assert (merged.weights >= least - 1e-12).all() or len(merged.weights) == 1
    np.testing.assert_allclose(merged.weights @ merged.points, sketch.weights @ sketch.points, atol=1e-9)
    exact = solve(P.points, Q).distance
    answer = exact_answer(P, merged, improved=False)
    assert np.sqrt(answer.lower) <= exact + 1e-9 <= np.sqrt(answer.cost + merged.error**2) + 2e-9


def test_the_improved_lower_end_is_never_worse_and_often_much_better():
    gains = []
    for seed in range(10):
        P, _, sketch = random_problem(seed)
        plain, improved = (exact_answer(P, sketch, improved=flag).lower for flag in (False, True))
        assert improved >= plain
        gains.append(np.sqrt(improved) - np.sqrt(plain))
    assert np.mean(gains) > 0.1


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_the_lower_end_of_a_large_cloud_is_certified_from_a_sample(seed):
    P, Q, sketch = random_problem(seed)
    start = solve(P, sketch.points, None, sketch.weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fedbary.protocols.sketch.answer._POINTS", 12)
        found = lower_end(P, sketch, start)
    assert max(0.0, start.distance - sketch.error) ** 2 - 1e-9 <= found <= solve(P.points, Q).cost + 1e-9


# --- differential privacy -----------------------------------------------------------------------------


def test_gaussian_labels_get_no_epsilon_and_small_epsilons_add_noise(digits):
    parts = fb.partitions.by_size(digits, [300, 600], seed=0).clients
    clients, reference = {"a": parts["client_1"]}, parts["client_2"]
    private = fb.value(clients, reference, protocol=fb.Sketch(epsilon=1.0), space=fb.Space(labels="gaussian"), seed=0)
    assert private.outcomes["a"].has("protocols.gaussian-labels-with-epsilon")
    plain = fb.value(clients, reference, protocol="sketch", seed=0).clients
    noisy = [fb.value(clients, reference, protocol=fb.Sketch(epsilon=1.0), seed=0).clients for _ in range(2)]
    assert noisy[0]["distance"][0] != noisy[1]["distance"][0]
    assert noisy[0]["quality"][0] == pytest.approx(plain["quality"][0], abs=0.2)
    assert noisy[0]["high"][0] > noisy[0]["distance"][0]


def test_a_private_answer_says_nothing_about_classes(digits):
    few = digits.take(np.flatnonzero(np.asarray(digits.labels) < 3))
    reference = digits.take(np.arange(0, len(digits), 2))
    private = fb.value({"a": few}, reference, protocol=fb.Sketch(epsilon=5.0), seed=0)
    assert private.outcomes["a"].ok
    assert {note.code for note in private.outcomes["a"].notes} <= {"protocols.saturated"}
    assert fb.value({"a": few}, reference, protocol="sketch", seed=0).outcomes["a"].has("schema.lacks-classes")


# --- a server that cheats -----------------------------------------------------------------------------


def sketch_client(table, **settings):
    return fb.Sketch(**settings).client(table, rules=RowRules(), seed=0)


def attack(policy, *, epsilon=None, queries=75):
    """Weight 1/m on one point, the rest at the mean: the answer depends on the one row that lies farthest that way.

    75 such answers are linear equations in that row, which the server has never seen.
    """
    rng = np.random.default_rng(0)
    table = fb.Table.from_arrays(rng.normal(size=(50, 4)), np.arange(50) % 2)
    schema = fb.fit_schema(table, fb.Space(labels="onehot", metric="euclidean"))
    rows = fb.embed(table, schema).points
    direction = np.random.default_rng(1).normal(size=rows.shape[1])
    direction /= np.linalg.norm(direction)
    victim = rows[np.argmax(rows @ direction)]
    width, mass = schema.point_width, 1 / 50
    far = rows.mean(axis=0)
    probes, distances = [], []
    for query in range(queries):
        probe = far + 3.0 * direction + 0.02 * np.random.default_rng(query).normal(size=width)
        arrays = {
            "points": np.vstack([probe, far]), "weights": np.array([mass, 1 - mass]), "variances": np.zeros(2)
        }  # fmt: skip
        scalars = {"schema": schema.to_json(), "fingerprint": schema.fingerprint, "cap": 1e9}
        # Its owner takes part in a new run for every question.
        client = sketch_client(table, policy=policy, epsilon=epsilon, lower="triangle")
        reply = client.answer(Message("sketch", 0, scalars, arrays))
        probes.append(probe)
        distances.append(float(reply.scalars["cost"]))
    # cost = const + (‖victim − probe‖² − ‖victim − far‖²)/m: linear in the victim once ‖probe‖² is removed.
    A = np.column_stack([-2 * np.array(probes), np.ones(queries)])
    b = np.array(distances) / mass - (np.array(probes) ** 2).sum(axis=1)
    guess = np.linalg.lstsq(A, b, rcond=None)[0][:width]
    return float(np.linalg.norm(guess - victim))


def test_the_attack_reads_a_row_from_a_trusting_client():
    assert attack("trusted") < 1e-6


@pytest.mark.parametrize(("policy", "epsilon"), [("coarsen", None), ("dp", 1.0)])
def test_coarsen_and_dp_keep_the_row(policy, epsilon):
    assert attack(policy, epsilon=epsilon) > 0.5


def test_a_client_answers_one_sketch(digits):
    table = digits.take(np.arange(100))
    schema = fb.fit_schema(digits, fb.Space(metric="within", labels="onehot"))
    client = sketch_client(table)

    def ask(shift):
        arrays = {
            "points": np.full((1, schema.point_width), shift), "weights": np.ones(1), "variances": np.zeros(1)
        }  # fmt: skip
        scalars = {"schema": schema.to_json(), "fingerprint": schema.fingerprint, "cap": 1.0}
        return client.answer(Message("sketch", 0, scalars, arrays))

    first = ask(0.0)
    with pytest.raises(PrivacyError, check=coded("protocols.asked-otherwise")):
        ask(1.0)
    assert ask(0.0).scalars == first.scalars


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (dict(points=np.zeros((2, 3))), "protocols.server-array"),
        (dict(points=np.full((1, 75), np.nan)), "protocols.server-array"),
        (dict(weights=np.array([0.5])), "protocols.sketch-masses"),
        (dict(variances=np.array([-1.0])), "protocols.server-array"),
    ],
)
def test_a_malformed_sketch_is_refused(digits, change, code):
    schema = fb.fit_schema(digits, fb.Space(metric="within", labels="onehot"))
    arrays = {"points": np.zeros((1, schema.point_width)), "weights": np.ones(1), "variances": np.zeros(1)} | change
    scalars = {"schema": schema.to_json(), "fingerprint": schema.fingerprint, "cap": 1.0}
    with pytest.raises(ProtocolError, check=coded(code)):
        sketch_client(digits.take(np.arange(50))).answer(Message("sketch", 0, scalars, arrays))


# --- the whole protocol -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def federation(digits):
    parts = fb.partitions.by_size(digits, [800, *[150] * 6], seed=1).clients
    reference = parts.pop("client_1")
    shares = dict(zip(parts, (0.0, 0.1, 0.2, 0.3, 0.4, 0.5), strict=True))
    clients = {name: fb.corruptions.flip_labels(parts[name], share, seed=0)[0] for name, share in shares.items()}
    return clients, reference, list(shares.values())


def test_one_round_of_scalars_values_every_client(federation):
    clients, reference, noise = federation
    server = fb.Sketch().server(list(clients), reference, fb.Sketch().space(None), rules=RowRules(), seed=0)
    tasks = server.tasks()
    replies = {name: sketch_client(clients[name]).answer(message) for name, message in tasks.items()}
    for reply in replies.values():
        assert not reply.arrays
        assert set(reply.scalars) == {"rows", "cost", "lower", "relaxed", "error", *ABOUT_ROWS, *PLACE}
    server.absorb(replies)
    assert not server.tasks()
    frame = server.result().clients
    assert (frame["low"] <= frame["distance"]).all()
    assert (frame["distance"] <= frame["high"]).all()
    assert spearmanr(noise, frame["quality"])[0] <= -0.9
    assert spearmanr(noise, frame["excess"])[0] >= 0.7


@pytest.mark.parametrize(("rows", "clients", "said"), [(299, 3, True), (300, 3, False), (100, 2, False)])
def test_with_few_reference_rows_and_other_clients_cards_are_recommended(digits, rows, clients, said):
    *parts, reference = fb.partitions.by_size(digits, [*[60] * clients, rows], seed=0).clients.values()
    found = fb.value({str(place): part for place, part in enumerate(parts)}, reference, protocol="sketch", seed=0)
    recommended = [note.facts for note in found.notes if note.code == "protocols.few-reference-rows"]
    assert recommended == ([{"rows": rows}] if said else [])


def test_quality_ignores_size_and_class_mix(digits):
    reference = digits.take(np.arange(0, len(digits), 2))
    rest = digits.take(np.arange(1, len(digits), 2))
    few_classes = rest.take(np.flatnonzero(np.asarray(rest.labels) < 3))
    clients = {
        "all": rest, "small": rest.take(np.arange(60)), "few": few_classes,
        "noisy": fb.corruptions.flip_labels(rest, 0.3, seed=0)[0],
    }  # fmt: skip
    frame = fb.value(clients, reference, protocol="sketch", seed=0).clients.set_index("client")
    clean = frame.loc[["all", "small", "few"], "quality"]
    assert clean.max() - clean.min() < 0.5 * (clean.min() - frame.loc["noisy", "quality"])
    assert frame.loc["few", "distance"] > frame.loc["noisy", "distance"]


def test_a_bad_answer_takes_out_its_sender_and_nobody_else(federation):
    clients, reference, _ = federation
    server = fb.Sketch().server(list(clients), reference, fb.Sketch().space(None), rules=RowRules(), seed=0)
    replies = {name: sketch_client(clients[name]).answer(message) for name, message in server.tasks().items()}
    first, second, third, fourth, *_ = replies
    replies[first] = Reply(0, {**replies[first].scalars, "cost": float("nan")})
    replies[second] = Failure(Note("guard.failed-inside"))
    del replies[third]
    replies[fourth] = Reply(0, {**replies[fourth].scalars, "relaxed": 1e12})
    server.absorb(replies)
    result = server.result()
    assert set(result.failed) == {first, second, third, fourth}
    assert result.outcomes[third] == NO_ANSWER.outcome
    assert result.clients["share"].sum() == pytest.approx(1)


def test_the_server_resumes(federation):
    clients, reference, _ = federation
    make = lambda: fb.Sketch().server(list(clients), reference, fb.Sketch().space(None), rules=RowRules(), seed=0)  # noqa: E731
    server, again = make(), make()
    server.absorb({name: sketch_client(clients[name]).answer(m) for name, m in server.tasks().items()})
    again.restore(server.state())
    assert not again.tasks()
    assert again.result().clients.equals(server.result().clients)


def test_regression_is_valued_and_wrong_numbers_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = X @ [1.0, 2.0, -1.0] + 0.1 * rng.normal(size=900)
    table = fb.Table.from_arrays(X, y)
    reference, client = table.take(np.arange(600)), table.take(np.arange(600, 900))
    spoilt, changed = fb.corruptions.flip_labels(client, 0.2, seed=0)
    result = fb.value({"good": client, "bad": spoilt}, reference, protocol="sketch", seed=0)
    frame = result.clients.set_index("client")
    assert frame.loc["bad", "quality"] < frame.loc["good", "quality"]
    rows = result.rows("bad")
    from sklearn.metrics import roc_auc_score

    off = changed & (np.abs(spoilt.labels - client.labels) > 2.0)
    assert roc_auc_score(off, rows["label_score"]) > 0.9
    assert rows["suggested_label"].notna().all()


def test_settings_and_missing_references_are_explained(digits):
    for arguments in (dict(support=0), dict(epsilon=0.0), dict(policy="none"), dict(lower="best")):
        with pytest.raises(SettingsError, check=parameter(*arguments)):
            fb.Sketch(**arguments)
    with pytest.raises(SettingsError, check=coded("protocols.dp-without-epsilon")):
        fb.Sketch(policy="dp")
    with pytest.raises(SettingsError, check=coded("protocols.sketch-without-reference")):
        fb.value({"a": digits}, protocol="sketch")
    small = fb.value({"a": digits.take(np.arange(3))}, digits, protocol="sketch", seed=0)
    assert small.outcomes["a"].has("schema.too-few-rows")
    with pytest.raises(DataError, check=coded("protocols.reference-too-small-for-sketch")):
        fb.value({"a": digits}, digits.take([0]), protocol="sketch", seed=0)


def test_a_reference_with_one_class_still_ranks_rows(digits):
    ones = digits.take(np.flatnonzero(np.asarray(digits.labels) == 1))
    result = fb.value({"a": digits.take(np.arange(80))}, ones, protocol="sketch", seed=0)
    rows = result.rows("a")
    assert rows["value"].notna().all()
    assert rows["flag"].isna().all()


def test_row_values_reuse_the_transport_of_the_answer_and_are_the_same_after_a_restart(monkeypatch):
    digits = fb.datasets.load("digits")
    table, settings = digits.train.take(range(60)), fb.Sketch()
    server = settings.server(["a"], digits.test, settings.space(None), rules=RowRules(), seed=0)
    client, restarted = (settings.client(table, rules=RowRules(), seed=0) for _ in range(2))
    client.answer(server.tasks()["a"])
    restarted.restore(client.state())
    solved = []
    monkeypatch.setattr(
        "fedbary.protocols.sketch.client.solve",
        lambda cloud, *args, **more: solved.append(cloud.distinct) or solve(cloud, *args, **more),
    )
    rows = client.row_values().frame
    assert not solved
    repeated = restarted.row_values().frame
    assert solved == [60]
    np.testing.assert_allclose(rows["calibrated_gradient"], repeated["calibrated_gradient"], rtol=1e-12)


def test_numbers_about_rows_are_withheld_where_they_are_not_asked_for(federation):
    clients, reference, _ = federation
    settings = fb.Sketch(numbers=False)
    server = settings.server(["a"], reference, settings.space(None), rules=RowRules(), seed=0)
    table = next(iter(clients.values()))
    reply = settings.client(table, rules=RowRules(), seed=0).answer(server.tasks()["a"])
    assert set(reply.scalars) == {"rows", "cost", "lower", "relaxed", "error"}
    server.absorb({"a": reply})
    assert server.result().clients[["quality", "wrong_labels", "missing"]].isna().all(axis=None)


def test_an_untrusted_server_gets_whole_rows_and_no_small_groups(federation):
    clients, reference, _ = federation
    settings = fb.Sketch(policy="coarsen")
    server = settings.server(["a"], reference, settings.space(None), rules=RowRules(), seed=0)
    for table in clients.values():
        reply = settings.client(table, rules=RowRules(), seed=0).answer(server.tasks()["a"])
        for name in ABOUT_ROWS[:-1]:
            count = reply.scalars[name] * len(table)
            assert count == pytest.approx(round(count), abs=1e-9)
            assert round(count) == 0 or round(count) >= settings.min_group


def test_with_epsilon_noise_hides_a_row_and_the_shares_are_still_found(digits):
    reference, rest = digits.take(np.arange(0, 800)), digits.take(np.arange(800, 1700))
    flipped, _ = fb.corruptions.flip_labels(rest, 0.3, seed=0)
    frame = fb.value({"clean": rest, "flipped": flipped}, reference, protocol=fb.Sketch(epsilon=8.0), seed=0).clients
    clean, bad = frame.to_dict("records")
    assert bad["wrong_labels"] == pytest.approx(0.3, abs=0.1)
    assert bad["wrong_labels_low"] > clean["wrong_labels_high"]
    assert bad["quality_high"] < clean["quality_low"]


def test_claims_outside_their_own_interval_are_refused(federation):
    clients, reference, _ = federation
    settings = fb.Sketch()
    server = settings.server(["a"], reference, settings.space(None), rules=RowRules(), seed=0)
    table = next(iter(clients.values()))
    reply = settings.client(table, rules=RowRules(), seed=0).answer(server.tasks()["a"])
    server.absorb({"a": replace(reply, scalars={**reply.scalars, "wrong_labels": 0.9})})
    assert server.result().outcomes["a"].has("protocols.claim-share")


@pytest.mark.parametrize("seed", range(3))
def test_few_reference_rows_with_numbers_as_labels_do_not_make_clean_features_odd(seed):
    rng = np.random.default_rng(seed)

    def table(rows: int) -> fb.Table:
        features = rng.normal(size=(rows, 10))
        columns = {f"x{place}": column for place, column in enumerate(features.T)}
        return fb.Table(columns, features[:, 0] + rng.normal(size=rows))

    result = fb.value({"clean": table(300)}, table(30), protocol="sketch", seed=seed)
    assert result.clients["odd_features"].item() < 0.05


# --- what size alone costs ----------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(st.sets(st.integers(5, 5_000), min_size=1, max_size=200))
def test_costs_of_sizes_in_between_lie_between_and_fall_with_the_size(sizes):
    sizes = np.array(sorted(sizes))
    solved = _some_sizes(sizes)
    assert {int(sizes[0]), int(sizes[-1])} <= set(solved.tolist()) <= set(sizes.tolist())
    assert len(solved) <= 24
    known = {int(size): [40.0 + 900.0 / size + draw for draw in range(3)] for size in solved}
    found = _between_sizes(known, sizes)
    assert list(found) == sizes.tolist()
    means = np.array([np.mean(costs) for costs in found.values()])
    assert (np.diff(means) <= 1e-9).all()
    np.testing.assert_allclose(means, 41.0 + 900.0 / sizes)


def test_all_clean_rows_are_drawn_once(monkeypatch, digits):
    parts = fb.partitions.by_size(digits, [150, 200, 100], seed=0).clients
    clients, reference = {"a": parts["client_1"], "b": parts["client_2"]}, parts["client_3"]
    solved = []
    module = sys.modules["fedbary.protocols.sketch.sketch"]
    original = module._held_out_cost
    monkeypatch.setattr(module, "_held_out_cost", lambda *args: solved.append(args[-1]) or original(*args))
    result = fb.value(clients, reference, protocol="sketch", seed=0)
    assert np.isfinite(result.clients["excess"]).all()
    assert solved == [(100, 0)]
