"""The consensus: which barycenter it finds, what it withholds, whom it trusts, and that it can be interrupted."""

import dataclasses
import json

import numpy as np
import ot
import pytest
from sklearn.metrics import roc_auc_score

import fedbary as fb
from codes import coded, parameter
from fedbary.engines.run import Work
from fedbary.engines.run import run as run_protocol
from fedbary.errors import PrivacyError, ProtocolError, SettingsError
from fedbary.notes import Note
from fedbary.protocols.consensus import Consensus
from fedbary.protocols.host import Host
from fedbary.protocols.messages import NO_ANSWER, Failure, Message, Reply
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.rules import RowRules

PLAIN = fb.Space(metric="euclidean", scaling="none", labels="onehot")


def blobs(rows, seed=0, classes="ab", width=3, shift=0.0, noise=1.0):
    """As many rows of each class, around well separated centres that do not depend on the seed."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(list(classes), rows)
    centre = {name: 4.0 * np.eye(width)[i % width] * (1 + i // width) for i, name in enumerate("abcdef")}
    X = np.array([centre[name] for name in labels]) + noise * rng.normal(size=(len(labels), width)) + shift
    return fb.Table.from_arrays(X, labels)


def halves(settings, tables, seed=0, space=None):
    server = settings.server(list(tables), None, settings.space(space), rules=RowRules(), seed=seed)
    return server, {name: settings.client(table, rules=RowRules(), seed=0) for name, table in tables.items()}


def carry(server, clients, until=None, change=None, watch=None):
    """Deliver messages until the server is done or has absorbed ``until`` exchanges."""
    exchanges = 0
    while (tasks := server.tasks()) and exchanges != until:
        replies = {}
        for name, message in tasks.items():
            try:
                replies[name] = clients[name].answer(message)
            except fb.FedbaryError as error:
                replies[name] = Failure.of(error)
        if watch:
            watch(tasks, replies)
        kind = next(iter(tasks.values())).kind
        server.absorb(change(kind, replies) if change else replies)
        exchanges += 1
    return exchanges


def run(settings, tables, seed=0, space=None):
    engine = fb.LocalEngine(workers=2)
    names = engine.clients(Work(settings, RowRules(), tables), {})
    server = settings.server(names, None, settings.space(space), rules=RowRules(), seed=seed, host=Host(engine.map))
    return run_protocol(server, engine)


# --- which barycenter ---------------------------------------------------------------------------------


def test_every_iterate_equals_pots_free_support_barycenter():
    tables = {f"c{i}": blobs(60, seed=i, shift=i) for i in range(3)}
    settings = Consensus(points_per_class=6, rounds=5, starts=2, weights="uniform", tolerance=0.0)
    server, clients = halves(settings, tables, space=PLAIN)
    seen = []

    def watch(tasks, replies):
        message = next(iter(tasks.values()))
        if message.kind == "step":
            seen.append(message.arrays["support"])

    carry(server, clients, watch=watch)
    assert len(seen) == 5
    for start in range(2):
        for code, name in enumerate("ab"):
            mine = slice(6 * code, 6 * code + 6)
            measures = [np.asarray(t.columns["x"])[np.asarray(t.labels) == name] for t in tables.values()]
            uniform, points = np.full(6, 1 / 6), seen[0][start, mine]
            for ours in seen[1:]:
                points = ot.lp.free_support_barycenter(
                    measures, [np.full(60, 1 / 60)] * 3, points, b=uniform, weights=np.full(3, 1 / 3), numItermax=1
                )
                np.testing.assert_allclose(ours[start, mine], points, atol=1e-9)


@pytest.mark.parametrize("weights", ["uniform", "rows", "robust"])
def test_the_objective_never_rises(weights):
    tables = {f"c{i}": blobs(40 + 10 * i, seed=i, shift=i / 2, classes="abc"[: 2 + i % 2]) for i in range(4)}
    server, clients = halves(Consensus(weights=weights, rounds=8, starts=3, tolerance=0.0), tables, space=PLAIN)
    carry(server, clients)
    objectives = np.array(server._objectives)
    assert objectives.shape == (8, 3)
    assert (np.diff(objectives, axis=0) <= 1e-9).all()
    assert objectives[-1].min() < objectives[0].min()


def test_the_best_start_is_kept():
    tables = {f"c{i}": blobs(60, seed=i) for i in range(3)}
    server, clients = halves(Consensus(starts=4, weights="uniform", rounds=3), tables, space=PLAIN)
    carry(server, clients)
    best = int(np.argmin(server._objectives[-1]))
    np.testing.assert_array_equal(server.result().target[:, :3], server._support[best])


def test_it_stops_when_the_support_has_settled():
    tables = {f"c{i}": blobs(60, seed=i) for i in range(3)}
    rounds = [
        run(Consensus(rounds=60, points_per_class=3, tolerance=tol), tables).history["round"].max() for tol in (1e-2, 0)
    ]
    assert rounds[0] < rounds[1] <= 60


def test_a_class_is_shaped_by_those_who_have_it():
    tables = {"ab": blobs(60, 1), "bc": blobs(60, 2, classes="bc"), "ca": blobs(60, 3, classes="ca")}
    result = run(Consensus(points_per_class=4), tables, space=PLAIN)
    assert result.target.shape == (12, 3 + 4)
    assert result.clients["distance"].notna().all()
    for code, name in enumerate("abc"):
        rows = np.vstack([np.asarray(t.columns["x"])[np.asarray(t.labels) == name] for t in tables.values()])
        np.testing.assert_allclose(result.target[4 * code : 4 * code + 4, :3].mean(axis=0), rows.mean(axis=0), atol=0.1)
    for client, lacking in zip(tables, "cab", strict=True):
        expected = Note("schema.lacks-classes", {"least": 5, "count": 1, "classes": (lacking,)})
        assert result.outcomes[client] == Outcome(notes=(expected,))


def test_classes_get_as_many_points_as_most_clients_can_average():
    tables = {f"c{i}": blobs(30, seed=i) for i in range(3)}
    assert len(run(Consensus(points_per_class=10), tables).target) == 2 * 6
    poor = {**tables, "poor": blobs(7, seed=9)}
    result = run(Consensus(points_per_class=10), poor)
    assert len(result.target) == 2 * 6
    assert set(result.clients["status"]) == {"ok"}
    assert {name for name, outcome in result.outcomes.items() if outcome.notes} == {"poor"}
    assert result.outcomes["poor"].has("protocols.does-not-shape-the-target")
    assert result.clients["distance"].notna().all()
    assert set(result.history["client"]) == {"c0", "c1", "c2"}


# --- whom it trusts -----------------------------------------------------------------------------------


def test_a_client_of_noise_does_not_drag_the_robust_consensus():
    good = {f"c{i}": blobs(60, seed=i) for i in range(4)}
    everyone = {**good, "noise": blobs(60, seed=9, shift=30.0, noise=5.0)}
    moved = {}
    for weights in ("robust", "uniform"):
        settings = Consensus(weights=weights, points_per_class=5)
        clean, spoiled = (run(settings, tables, space=PLAIN) for tables in (good, everyone))
        moved[weights] = np.linalg.norm(clean.target[:, :3].mean(axis=0) - spoiled.target[:, :3].mean(axis=0))
        assert spoiled.ranking()["client"].iloc[-1] == "noise"
    assert moved["uniform"] > 9.0
    assert moved["robust"] < moved["uniform"] / 4


def test_extreme_numbers_take_out_their_sender_and_nobody_else():
    tables = {f"c{i}": blobs(60, seed=i) for i in range(4)}
    tables["c3"] = blobs(60, seed=3, shift=1e80)
    result = run(Consensus(), tables)
    assert set(result.failed) <= {"c3"}
    assert np.abs(result.target).max() < 1e3
    assert result.clients["distance"][:3].max() < 10


def test_a_client_that_claims_to_be_at_the_target_cannot_freeze_it():
    """Robust weights are 1/(W + δ): at W = 0 only δ keeps one client from deciding alone."""
    tables = {f"c{i}": blobs(60, seed=i) for i in range(4)}
    ways = []
    for dishonest in (False, True):
        server, clients = halves(Consensus(points_per_class=4, tolerance=0.0), tables, space=PLAIN)
        carry(server, clients, until=3)
        start = server._support

        def lie(kind, replies, server=server, dishonest=dishonest):
            if kind != "step" or not dishonest:
                return replies
            arrays = replies["c0"].arrays
            claim = {**arrays, "points": server._support, "costs": arrays["costs"] * 0.0}
            return {**replies, "c0": Reply(replies["c0"].round, {}, claim)}

        carry(server, clients, change=lie)
        ways.append(np.linalg.norm(server._support - start))
    assert ways[1] > 0.5 * ways[0]


def test_the_odd_client_out_and_its_bad_rows_are_found(digits):
    for share in (0.2, 0.5):
        tables = dict(fb.partitions.by_size(digits, [350] * 5, seed=0).clients)
        tables["client_5"], bad = fb.corruptions.flip_labels(tables["client_5"], share, seed=0)
        result = run(Consensus(), tables)
        assert result.ranking()["client"].iloc[-1] == "client_5"
        assert result.clients["closeness"].idxmin() == 4
        rows = result.rows("client_5")
        assert roc_auc_score(bad, rows["label_score"]) >= 0.99
        assert roc_auc_score(bad, -rows["value"]) >= 0.99
        shares = [result.row_facts(name).wrong_labels.share for name in tables]
        assert max(shares[:4]) < 0.05
        assert shares[4] == pytest.approx(share, abs=0.06)


def test_so_they_are_among_few_images_of_many_pixels(fashion):
    tables = dict(fb.partitions.by_size(fashion.train, [120] * 5, seed=0).clients)
    tables["client_5"], bad = fb.corruptions.flip_labels(tables["client_5"], 0.5, seed=0)
    result = run(Consensus(), tables)
    assert result.ranking()["client"].iloc[-1] == "client_5"
    assert result.clients["closeness"].idxmin() == 4
    rows = result.rows("client_5")
    assert roc_auc_score(bad, rows["label_score"]) >= 0.96
    assert roc_auc_score(bad, -rows["value"]) >= 0.95


def test_noisy_features_are_found_on_digits(five_clients):
    tables = dict(fb.partitions.by_size(five_clients[0], [200] * 5, seed=0).clients)
    tables["client_5"], bad = fb.corruptions.add_noise(tables["client_5"], 0.3, seed=0)
    result = run(Consensus(), tables)
    assert result.ranking()["client"].iloc[-1] == "client_5"
    assert roc_auc_score(bad, -result.rows("client_5")["value"]) >= 0.97


def test_nothing_is_flagged_and_the_result_says_so():
    tables = {f"c{i}": blobs(60, seed=i) for i in range(3)}
    result = run(Consensus(), tables)
    rows = result.rows("c0")
    assert rows[["flag", "p_value", "label_p", "feature_p"]].isna().all(axis=None)
    assert rows["value"].notna().all()
    assert result.row_facts("c0").guarantee == Note("valuation.flags-no-clean-rows")
    assert result.clients[["low", "high", "excess", "flagged"]].isna().all(axis=None)
    assert result.clients["closeness"].between(0, 1).all()
    assert result.clients["share"].sum() == pytest.approx(1)
    assert list(result.history) == ["client", "round", "client_distance", "server_distance", "estimate", "support"]


def test_regression_from_end_to_end():
    train = fb.datasets.load("diabetes").train
    tables = dict(fb.partitions.by_size(train, [100, 100, 100], seed=0).clients)
    tables["client_3"], bad = fb.corruptions.flip_labels(tables["client_3"], 0.5, seed=0)
    result = run(Consensus(), tables)
    assert result.schema.label.kind == "number"
    assert result.target.shape == (20, result.schema.point_width)
    assert result.ranking()["client"].iloc[-1] == "client_3"
    rows = result.rows("client_3")
    assert rows["value"].notna().all()
    assert rows["flag"].isna().all()
    assert roc_auc_score(bad, rows["label_score"]) > 0.6


def test_one_class_and_one_client_are_ordinary_cases():
    for tables in ({"c": blobs(60)}, {f"c{i}": blobs(60, seed=i, classes="a") for i in range(3)}):
        result = run(Consensus(), tables)
        assert not result.failed
        assert all(result.rows(name)["value"].notna().all() for name in tables)


def test_rows_of_a_class_that_the_others_lack_are_still_valued():
    tables = {f"c{i}": blobs(60, seed=i) for i in range(3)}
    tables["c0"] = blobs(60, classes="abc")
    rows = run(Consensus(), tables).rows("c0")
    assert rows["value"].notna().all()
    assert rows["label_score"].isna().sum() == 60


# --- what leaves --------------------------------------------------------------------------------------


def sent(settings, tables, space=PLAIN):
    """All arrays that each client sent, by message kind."""
    found = {name: [] for name in tables}

    def watch(tasks, replies):
        for name, reply in replies.items():
            if isinstance(reply, Reply):
                found[name].append((tasks[name].kind, reply.arrays))

    server, clients = halves(settings, tables, space=space)
    carry(server, clients, watch=watch)
    return found, server


def share_read(settings, tables, name):
    """How many of a client's rows a reader of its replies holds, to six digits."""
    rows, found = np.asarray(tables[name].columns["x"]), sent(settings, tables)[0][name]
    width = rows.shape[1]
    points = [array.reshape(-1, width) for kind, arrays in found if kind in ("start", "step", "centroids")
              for array in arrays.values() if array.shape[-1] == width]  # fmt: skip
    gaps = np.abs(rows[:, None, :] - np.vstack(points)[None]).max(axis=2).min(axis=1)
    return (gaps < 1e-6).mean()


def test_replies_are_rows_without_the_guard_and_never_with_it():
    tables = {f"c{i}": blobs(8, seed=i) for i in range(3)}
    assert share_read(Consensus(points_per_class=8, min_group=1), tables, "c0") == 1.0
    assert share_read(Consensus(points_per_class=8, min_group=5), tables, "c0") == 0.0
    assert share_read(Consensus(points_per_class=8, min_group=2), tables, "c0") == 0.0


def test_a_row_copied_many_times_cannot_be_read_either():
    table = blobs(30, seed=1)
    copied = table.take(np.r_[np.arange(60), np.zeros(500, dtype=int)])
    tables = {"copied": copied, "b": blobs(30, seed=2), "c": blobs(30, seed=3)}
    assert share_read(Consensus(points_per_class=6), tables, "copied") == 0.0


def test_a_class_below_the_threshold_is_withheld():
    small = fb.Table.from_arrays(
        np.vstack([np.asarray(blobs(40, 1).columns["x"]), np.random.default_rng(0).normal(size=(24 + 4, 3))]),
        np.r_[np.repeat(["a", "b"], 40), np.repeat("c", 24), np.repeat("d", 4)],
    )
    tables = {"small": small, **{f"c{i}": blobs(40, seed=i, classes="abcd") for i in range(3)}}
    found, server = sent(Consensus(points_per_class=5, min_group=5), tables)
    arrays = dict(found["small"])
    np.testing.assert_array_equal(arrays["start"]["counts"], [40, 40, 24, 0])
    assert not arrays["start"]["means"][3].any()
    for kind in ("step", "centroids"):
        np.testing.assert_array_equal(arrays[kind]["shaped"], [1, 1, 0, 0])
    assert not arrays["step"]["points"][:, 10:].any()
    assert not arrays["centroids"]["centroids"][10:].any()
    assert server.result().clients["distance"].notna().all()


def heard(tables, name="victim", space=None):
    """Everything that one client sent in an honest run, but its row count."""
    server, clients = halves(Consensus(), tables, space=space)
    found = []

    def watch(tasks, replies):
        if isinstance(reply := replies.get(name), Reply):
            found.append((tasks[name], reply))

    carry(server, clients, watch=watch)
    assert not server.result().failed
    return found


def same_words(first, second):
    """Whether two runs' replies are the same to the last bit, the row count in the final answer aside."""
    assert [message.kind for message, _ in first] == [message.kind for message, _ in second]
    for (_, a), (_, b) in zip(first, second, strict=True):
        if {**a.scalars, "rows": 0} != {**b.scalars, "rows": 0}:
            return False
        if any(a.arrays[key].tobytes() != b.arrays[key].tobytes() for key in a.arrays):
            return False
    return True


def with_rows(table, X, y):
    X = np.atleast_2d(X)
    return fb.Table.from_arrays(np.vstack([table.columns["x"], X]), np.append(table.labels, [y] * len(X)))


def test_an_honest_run_shows_no_withheld_row_by_differences():
    """The attack: rows times the mean of all rows, less count times mean of each class, is the one row left out."""
    secret = np.array([1.25, -0.5, 3.75])
    tables = {"victim": with_rows(blobs(60, 1), secret, "rare"), "b": blobs(60, 2), "c": blobs(60, 3)}
    found = {message.kind: (message, reply) for message, reply in heard(tables)}
    description = json.loads(found["describe"][1].scalars["description"])
    schema = fb.Schema.from_json(found["start"][0].scalars["schema"])
    start, (column,) = found["start"][1].arrays, schema.columns
    scaled = (np.array(description["columns"][0]["mean"]) - column.mean) / column.scale
    for rows in (121, description["rows"]):
        rest = rows * scaled @ schema.whitening - start["counts"] @ start["means"]
        read = np.linalg.solve(schema.whitening.T, rest) * column.scale + column.mean
        assert np.abs(read - secret).max() > 0.1
    np.testing.assert_allclose(rest, 0.0, atol=1e-9)  # both are sums over the same rows


def test_nothing_that_leaves_depends_on_a_group_below_min_group():
    """Whatever can be computed from the replies cannot show what they do not depend on."""
    others = {"b": blobs(60, 2), "c": blobs(60, 3)}
    rng = np.random.default_rng(0)
    table = blobs(60, 1)
    base = heard({"victim": with_rows(table, np.ones((1, 3)), "rare"), **others})
    kinds = ["describe", "moments", "start", "step", "centroids", "final", "scores"]
    assert list(dict.fromkeys(message.kind for message, _ in base)) == kinds
    for other in (
        with_rows(table, [[5.0, -2.0, 0.3]], "rare"),
        with_rows(table, rng.normal(size=(4, 3)), "other"),
        with_rows(table, np.tile(rng.normal(size=3), (9, 1)), "copies"),
    ):
        assert same_words(base, heard({"victim": other, **others}))
    assert not same_words(base, heard({"victim": with_rows(table, rng.normal(size=(5, 3)), "five"), **others}))


def test_an_honest_run_does_not_show_a_row_that_was_copied():
    """The attack: were copies limited to 1/5 of a mean and to 1/50 of ten answers, the two means would give the row."""
    table = blobs(60, 1)
    tables = {"victim": table.take(np.r_[np.arange(120), np.full(500, 7)]), "b": blobs(60, 2), "c": blobs(60, 3)}
    found, _ = sent(Consensus(), tables)
    arrays = dict(reversed(found["victim"]))
    means = np.array([arrays["start"]["means"][0], arrays["step"]["points"][0, :10].mean(axis=0)])
    read = np.linalg.solve([[1 / 5, 4 / 5], [1 / 50, 49 / 50]], means)[0]
    assert np.abs(read - np.asarray(table.columns["x"])[7]).max() > 0.1
    np.testing.assert_allclose(means[0], means[1], atol=1e-9)


@pytest.mark.parametrize("regression", [False, True])
def test_copies_of_a_row_change_nothing_that_leaves(regression):
    """Whatever two sums weighed differently could be solved for."""
    tables = {"victim": blobs(60, 1), "b": blobs(60, 2), "c": blobs(60, 3)}
    if regression:
        tables = {name: t.replace(labels=t.columns["x"] @ [1.0, 0.5, 0.1]) for name, t in tables.items()}
    copied = tables["victim"].take(np.r_[np.arange(120), np.full(500, 7), 3])
    assert same_words(heard(tables), heard({**tables, "victim": copied}))


@pytest.mark.parametrize("regression", [False, True])
def test_a_value_that_few_rows_of_a_class_have_changes_nothing_that_leaves(regression):
    def table(seed, value=0.0):
        plain, number = blobs(60, seed), np.arange(120)
        X = np.asarray(plain.columns["x"])
        columns = {f"x{i}": X[:, i] for i in range(3)}
        columns["sick"] = np.where((number < 6) & (not regression), 2.0, 0.0)  # six rows of class a have it
        columns["sick"][100:104] = value  # and four of class b
        columns["city"] = np.where(number % 2, "Ulm", "Bonn").astype(object)
        columns["city"][50] = "Rome" if value else "Oslo"
        return fb.Table(columns, X @ [1.0, 0.5, 0.1] if regression else plain.labels)

    others = {"b": table(2), "c": table(3)}
    assert same_words(heard({"victim": table(1, 5.0), **others}), heard({"victim": table(1, 9.0), **others}))
    assert same_words(heard({"victim": table(1, 0.0), **others}), heard({"victim": table(1, 9.0), **others}))


def test_the_number_of_points_is_fixed_by_the_first_step():
    """The attack: averages of 1/9 and of 1/10 of the rows along one direction differ by a single row."""
    tables = {"victim": blobs(90, 1), "b": blobs(90, 2)}
    server, clients = halves(Consensus(), tables, space=PLAIN)
    carry(server, clients, until=3)
    direction = np.array([0.6, -0.7, 0.4])

    def ask(client, number, points, kind="step", starts=2):
        support = np.outer(np.arange(points) - points / 2, direction) * 100
        sizes = np.array([points, 0])
        return client.answer(Message(kind, number, {}, {"support": np.array([support] * starts), "sizes": sizes}))

    nine = ask(clients["victim"], 1, 9).arrays["points"][0, 0]
    for client in (clients["victim"], Consensus().client(tables["victim"], rules=RowRules(), seed=0)):
        if client is not clients["victim"]:
            client.restore(clients["victim"].state())
        for question in (
            dict(number=2, points=10),
            dict(number=3, points=9, starts=1),
            dict(number=9, points=10, kind="centroids", starts=1),
        ):
            with pytest.raises(PrivacyError, check=coded("protocols.support-changed")):
                ask(client, **question)
    fresh = halves(Consensus(), tables, space=PLAIN)
    carry(*fresh, until=3)
    ten = ask(fresh[1]["victim"], 1, 10).arrays["points"][0, 0]
    rows = np.asarray(tables["victim"].columns["x"])[:90]
    assert np.abs(rows - (10 * nine - 9 * ten)).max(axis=1).min() < 1e-9  # what both answers would have shown
    started = halves(Consensus(), tables, space=PLAIN)
    carry(*started, until=3)
    with pytest.raises(ProtocolError, check=coded("protocols.centroids-before-step")):
        ask(started[1]["victim"], 9, 9, kind="centroids", starts=1)


def test_a_server_cannot_ask_for_labels_or_columns_in_two_ways():
    """Labels as a number would tell of all rows; a number as a category would count rows that have it."""
    table = blobs(60, 1, classes="ab")
    table = fb.Table({"age": np.asarray(table.columns["x"])[:, 0]}, np.append(np.arange(120) % 2, 5).astype(int)[:120])
    client = Consensus().client(table, rules=RowRules(), seed=0)
    client.answer(Message("describe", 0, {"space.task": "regression"}))
    honest = fb.fit_schema(table, fb.Space(labels="onehot"))
    ask = lambda client, schema: client.answer(  # noqa: E731
        Message("start", 0, {"schema": schema.to_json(), "fingerprint": schema.fingerprint})
    )
    again = Consensus().client(table, rules=RowRules(), seed=0)
    again.restore(client.state())
    for one in (client, again):
        with pytest.raises(PrivacyError, check=coded("protocols.label-kind-changed")):
            ask(one, honest)
    spying = fb.fit_schema(
        fb.Table({"age": ["31.5", "40.25"] * 60}, table.labels), fb.Space(labels="onehot", metric="euclidean")
    )
    with pytest.raises(PrivacyError, check=coded("protocols.kind-differs")):
        ask(Consensus().client(table, rules=RowRules(), seed=0), spying)


def test_rows_that_a_schema_makes_equal_are_no_group():
    table = fb.Table({"x": np.random.default_rng(0).normal(size=100), "flag": np.arange(100) % 2 == 0}, ["a", "b"] * 50)
    server, clients = halves(Consensus(), {"c": table}, space=PLAIN)
    carry(server, clients, until=2)
    message = server.tasks()["c"]
    schema = fb.Schema.from_json(message.scalars["schema"])
    narrow = dataclasses.replace(schema, columns=schema.columns[1:], whitening=None)
    reply = clients["c"].answer(
        Message("start", message.round, {"schema": narrow.to_json(), "fingerprint": narrow.fingerprint})
    )
    assert not any(array.any() for array in reply.arrays.values())


def test_a_server_cannot_ask_for_more_than_the_owner_allows():
    tables = {f"c{i}": blobs(60, seed=i) for i in range(2)}
    server, clients = halves(Consensus(points_per_class=3, rounds=2), tables)
    carry(server, clients, until=3)
    message, client = server.tasks()["c0"], clients["c0"]
    support, sizes = message.arrays["support"], message.arrays["sizes"]
    ask = lambda number, **arrays: client.answer(  # noqa: E731
        Message("step", number, {}, {"support": support, "sizes": sizes, **arrays})
    )
    first, again = ask(1), ask(1)
    np.testing.assert_array_equal(first.arrays["points"], again.arrays["points"])
    with pytest.raises(PrivacyError, check=coded("protocols.asked-otherwise")):
        ask(1, support=support + 1.0)
    with pytest.raises(PrivacyError, check=coded("protocols.too-many-rounds")):
        ask(3)
    with pytest.raises(PrivacyError, check=coded("protocols.support-too-large")):
        ask(2, support=np.vstack([support, support]))
    for number, arrays in (
        (2, dict(sizes=sizes.astype(float))),
        (2, dict(support=support[:, :, :1])),
    ):
        fresh = halves(Consensus(points_per_class=3, rounds=2), tables)
        carry(*fresh, until=3)
        with pytest.raises(ProtocolError):
            fresh[1]["c0"].answer(Message("step", number, {}, {"support": support, "sizes": sizes, **arrays}))
    with pytest.raises(ProtocolError, check=coded("protocols.unknown-message")):
        client.answer(Message("gossip", 0))
    with pytest.raises(ProtocolError, check=coded("protocols.rows-before-target")):
        client.row_values()
    untouched = Consensus().client(blobs(60), rules=RowRules(), seed=0)
    with pytest.raises(ProtocolError, check=coded("protocols.not-started")):
        untouched.answer(message)


# --- bad replies --------------------------------------------------------------------------------------


def changed(**arrays):
    return lambda r: Reply(r.round, r.scalars, {**r.arrays, **{k: f(r.arrays[k]) for k, f in arrays.items()}})


BAD = {
    ("start", "array-not-finite"): changed(means=lambda a: a * np.nan),
    ("start", "array-shape"): changed(variances=lambda a: a[:, :1]),
    ("start", "array-bounds"): changed(counts=lambda a: -a),
    ("start", "reply-absurd-sums"): changed(counts=lambda a: a + 0.5),
    ("start", "classes-too-large"): changed(means=lambda a: a + 1e80),
    ("start", "array-bounds (huge)"): changed(variances=lambda a: a + 1e300),
    ("step", "lacks-array"): lambda r: Reply(r.round, {}, {}),
    ("step", "points-far-off"): changed(points=lambda a: a + 1e80),
    ("step", "array-bounds"): changed(costs=lambda a: a - 1e9),
    ("step", "reply-unnamed-classes"): changed(shaped=lambda a: a / 2.0),
    ("step", "other-round"): lambda r: Reply(77, r.scalars, r.arrays),
    ("centroids", "reply-impossible-covariance"): changed(within=lambda a: -a),
    ("centroids", "classes-too-large"): changed(centroids=lambda a: a * 1e30),
    ("final", "number-unfit (nan)"): lambda r: Reply(r.round, {**r.scalars, "cost": float("nan")}, r.arrays),
    ("final", "claim-relaxed"): lambda r: Reply(r.round, {**r.scalars, "relaxed": 1e20}, r.arrays),
    ("final", "array-shape"): changed(label=lambda a: np.zeros(41)),
    ("moments", "not-started"): lambda r: Failure(Note("protocols.not-started")),
    ("step", "not-started"): lambda r: Failure(Note("protocols.not-started")),
}


@pytest.mark.parametrize(("kind", "code"), BAD)
def test_a_bad_reply_takes_out_its_sender_and_nobody_else(kind, code):
    tables = {f"c{i}": blobs(60, seed=i) for i in range(4)}
    server, clients = halves(Consensus(rounds=3), tables)
    spoil = lambda asked, replies: (  # noqa: E731
        {**replies, "c1": BAD[kind, code](replies["c1"])} if asked == kind and "c1" in replies else replies
    )
    carry(server, clients, change=spoil)
    result = server.result()
    assert set(result.failed) == {"c1"}
    assert result.outcomes["c1"].has("protocols." + code.split()[0])
    assert np.abs(result.target).max() < 100


@pytest.mark.parametrize("protocol", ["consensus", "interpolation"])
@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["u\nx", "v"], None),
        (["u; \u2060", '["v"]'], None),
        (["w" * 150 + c for c in "abcdef"], None),
        ([c * 1000 for c in "abcdef"], "schema.label-looks-like-text"),
    ],
)
def test_odd_class_names_of_one_client_harm_nobody_else(protocol, names, code):
    tables = {f"c{i}": blobs(60, seed=i) for i in range(2)}
    tables["odd"] = blobs(60, seed=3).replace(labels=np.array(names * 60)[:120])
    result = fb.value(tables, protocol=protocol, seed=0)
    assert set(result.failed) == ({"odd"} if code else set())
    assert code is None or result.outcomes["odd"].has(code)
    assert max(map(len, result.clients["notes"])) < 400
    assert all(len(result.rows(name)) == 120 for name in ("c0", "c1"))


@pytest.mark.parametrize("kind", ["describe", "moments", "start", "step", "centroids", "final"])
def test_silence_is_named_and_harms_nobody(kind):
    tables = {f"c{i}": blobs(60, seed=i) for i in range(3)}
    server, clients = halves(Consensus(rounds=2), tables)
    carry(server, clients, change=lambda asked, r: {n: v for n, v in r.items() if asked != kind or n != "c0"})
    assert server.result().outcomes["c0"] == NO_ANSWER.outcome
    assert list(server.result().failed) == ["c0"]
    server, clients = halves(Consensus(rounds=2), tables)
    carry(server, clients, change=lambda asked, r: {} if asked == kind else r)
    assert set(server.result().failed) == set(tables)


def test_clients_too_small_for_anything_are_told():
    tables = {f"c{i}": blobs(3, seed=i, classes="abcd") for i in range(2)}
    result = run(Consensus(), tables)
    assert set(result.failed) == set(tables)
    assert all(outcome.has("schema.too-few-in-a-group") for outcome in result.outcomes.values())


# --- resume -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("regression", [False, True])
def test_a_run_resumes_to_the_same_bytes_after_every_exchange(regression):
    tables = {f"c{i}": blobs(40, seed=i, shift=i / 3) for i in range(3)} | {"tiny": blobs(1), "poor": blobs(6, seed=8)}
    if regression:
        tables = {n: t.replace(labels=np.asarray(t.columns["x"])[:, 0] + 0.1) for n, t in tables.items()}
    settings = Consensus(points_per_class=3, rounds=3, tolerance=0.0)
    server, clients = halves(settings, tables)
    total = carry(server, clients)
    assert total == 2 + 1 + 3 + (not regression) + 2
    final = server.state()
    alive = [name for name in tables if name not in server.result().failed]
    rows = {name: clients[name].row_values().frame["value"] for name in alive}
    assert "tiny" not in alive
    for stop in range(total + 1):
        first = halves(settings, tables)
        carry(*first, until=stop)
        second = halves(settings, tables)
        second[0].restore(first[0].state())
        for name, client in second[1].items():
            client.restore(first[1][name].state())
        carry(*second)
        state = second[0].state()
        assert state.keys() == final.keys()
        for key in final:
            assert state[key].tobytes() == final[key].tobytes(), (stop, key)
        for name in alive:
            np.testing.assert_array_equal(second[1][name].row_values().frame["value"], rows[name])


def test_a_client_refuses_to_resume_with_other_rows():
    server, clients = halves(Consensus(), {"c": blobs(60, seed=2), "d": blobs(60, seed=3)})
    carry(server, clients, until=4)
    other = Consensus().client(blobs(60, seed=5), rules=RowRules(), seed=0)
    with pytest.raises(ProtocolError, check=coded("protocols.rows-changed")):
        other.restore(clients["c"].state())


# --- settings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [dict(points_per_class=0), dict(rounds=2.5), dict(starts=True), dict(weights="median"), dict(tolerance=-1.0)],
    ids=lambda wrong: str(*wrong),
)
def test_settings_that_make_no_sense_are_named(wrong):
    with pytest.raises(SettingsError, check=parameter(*wrong)) as raised:
        Consensus(**wrong)
    assert raised.value.public["owner"] == "Consensus"


def test_a_reference_and_private_label_coordinates_are_refused():
    with pytest.raises(SettingsError, check=coded("protocols.reference-not-used")):
        Consensus().server(["c"], blobs(5), Consensus().space(None), rules=RowRules(), seed=0)
    with pytest.raises(SettingsError, check=coded("protocols.labels-not-shared")):
        Consensus().server(["c"], None, fb.Space(labels="gaussian"), rules=RowRules(), seed=0)


def test_results_wait_for_the_end_and_repeat_with_the_seed():
    tables = {f"c{i}": blobs(60, seed=i) for i in range(2)}
    with pytest.raises(ProtocolError, check=coded("protocols.not-finished")):
        halves(Consensus(), tables)[0].result()
    a, b, c = (run(Consensus(), tables, seed=seed).clients["distance"] for seed in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()
