"""The coalition protocol: who gets what, what leaves a client, and answers that make no sense."""

from dataclasses import replace

import numpy as np
import pytest

import fedbary as fb
from codes import coded, parameter
from fedbary.engines.local import LocalEngine
from fedbary.errors import FedbaryError, PrivacyError, ProtocolError, SettingsError
from fedbary.protocols.coalition.groups import Groups
from fedbary.protocols.messages import NO_ANSWER, Message, Reply
from fedbary.space.means import encoded_means
from fedbary.space.schema import ColumnSpec, LabelSpec, Schema
from fedbary.valuation.rules import RowRules

RULES = RowRules(0.1, "bh", "split")
SPACE = fb.Space(metric="within", labels="onehot")


@pytest.fixture(scope="module")
def world(digits):
    parts = fb.partitions.by_size(digits, [150, 150, 150, 500], seed=0).clients
    return parts, parts.pop("client_4")


@pytest.fixture(scope="module")
def result(world):
    return fb.value(*world, protocol=fb.Coalition(), seed=0)


def talk(client, server):
    (message,) = {id(message): message for message in server.tasks().values()}.values()
    return client.answer(message), message


def halves(world, settings=None, names=("client_1",)):
    tables, reference = world
    settings = settings or fb.Coalition()
    server = settings.server(list(names), reference, SPACE, rules=RULES, seed=0)
    return server, [settings.client(tables[name], rules=RULES, seed=0) for name in names]


# --- who gets what ------------------------------------------------------------------------------------


def test_values_add_up_to_the_accuracy_gained_and_shares_follow(result):
    scores = result.scores
    assert scores.method == "coalition"
    assert scores.evaluations == 8
    assert (scores.standard_errors == 0).all()
    assert 0.7 < scores.values.sum() + 0.1 < 1.0  # accuracy of everybody, less chance
    np.testing.assert_allclose(result.clients["share"], scores.values / scores.values.sum())
    assert result.settings["protocol"] == "coalition"
    assert result.settings["base_protocol"] == "sketch"
    assert result.clients[["distance", "closeness", "flagged"]].notna().all(axis=None)
    assert result.clients[["low", "high"]].isna().all(axis=None)


def test_distance_and_closeness_come_near_those_of_the_sketch_protocol(world, result):
    expected = fb.value(*world, protocol=fb.Sketch(), seed=0).clients
    np.testing.assert_allclose(result.clients["distance"], expected["distance"], rtol=0.1)
    np.testing.assert_allclose(result.clients["closeness"], expected["closeness"], atol=0.1)


@pytest.mark.parametrize("utility", ["mean", "ridge", "soft", "wasserstein", "coverage"])
@pytest.mark.parametrize("reference", [True, False])
def test_a_copy_of_a_client_is_worth_the_same_and_takes_from_the_original(world, utility, reference):
    tables, target = world
    clients = {**tables, "copy": tables["client_2"].replace(ids=None)}
    protocol = fb.Coalition(utility=utility)
    after = fb.value(clients, target if reference else None, protocol=protocol, seed=0).scores
    assert after.values[3] == pytest.approx(after.values[1], abs=1e-12)
    assert (after.clients, after.evaluations) == (("client_1", "client_2", "client_3", "copy"), 16)


def test_a_client_of_noise_is_worth_least_with_and_without_a_reference(world):
    tables, target = world
    rng = np.random.default_rng(0)
    noise = fb.Table({"x": rng.uniform(0, 16, (150, 64))}, rng.integers(0, 10, 150))
    for reference in (target, None):
        scores = fb.value({**tables, "noise": noise}, reference, protocol=fb.Coalition(), seed=0).scores
        assert scores.values.argmin() == 3
        assert scores.values[3] < 0.5 * scores.values[:3].min()


def test_two_halves_of_the_classes_need_each_other(world):
    """Where a distance sees a client of few classes, the game sees what nobody else has."""
    tables, target = world
    low = tables["client_1"].take(tables["client_1"].labels < 5)
    rare = tables["client_2"].take(tables["client_2"].labels >= 5)
    again = tables["client_3"].take(tables["client_3"].labels < 5)
    result = fb.value({"low": low, "rare": rare, "again": again}, target, protocol=fb.Coalition(), seed=0)
    assert result.ranking()["client"].iloc[0] == "rare"


def test_sampling_agrees_with_all_coalitions_within_its_errors(world, result):
    sampled = fb.value(*world, protocol=fb.Coalition(exact_up_to=1, permutations=200), seed=0).scores
    assert (sampled.standard_errors > 0).all()
    assert (np.abs(sampled.values - result.scores.values) <= 4 * sampled.standard_errors + 1e-12).all()
    assert sampled.values.sum() == pytest.approx(result.scores.values.sum())


def test_negative_values_are_shown_and_ranked_below_zero_shares(world):
    tables, target = world
    labels = (target.labels + 1) % 10
    bad = {f"bad_{i}": target.take(np.arange(i * 150, (i + 1) * 150)) for i in range(2)}
    bad = {name: table.replace(labels=labels[i * 150 : (i + 1) * 150]) for i, (name, table) in enumerate(bad.items())}
    result = fb.value({**tables, **bad}, target, protocol=fb.Coalition(), seed=0)
    values = dict(zip(result.scores.clients, result.scores.values, strict=True))
    assert values["bad_0"] < 0 > values["bad_1"]
    assert result.clients.set_index("client").loc["bad_0", "share"] == 0.0
    ranked = [values[name] for name in result.ranking()["client"]]
    assert ranked == sorted(ranked, reverse=True)


def test_a_result_loads_with_its_scores(result, tmp_path):
    again = fb.Valuation.load(result.save(tmp_path / "out"))
    np.testing.assert_array_equal(again.scores.values, result.scores.values)
    assert (tmp_path / "out" / "scores.csv").is_file()
    assert again.ranking()["client"].tolist() == result.ranking()["client"].tolist()


# --- what leaves --------------------------------------------------------------------------------------


def test_an_answer_is_a_row_count_and_groups_of_at_least_min_group(world):
    server, (client,) = halves(world)
    reply, _ = talk(client, server)
    assert reply.scalars == {"rows": 150}
    assert set(reply.arrays) == {"group.points", "group.classes", "group.counts", "group.scatter"}
    assert reply.arrays["group.counts"].min() >= 5
    assert reply.arrays["group.counts"].sum() <= 150


def test_neither_copies_nor_rows_of_a_small_class_move_anything_but_the_row_count(world):
    """What sums over almost the same rows would show by their difference."""
    tables, reference = world
    nines = np.flatnonzero(tables["client_1"].labels == 9)
    table = tables["client_1"].take(np.setdiff1d(np.arange(150), nines[4:]))
    four = np.flatnonzero(table.labels == 9)
    values = table.columns["x"].copy()
    values[four[0]] += 3.0
    copied = table.take(np.concatenate([np.arange(len(table)), [0, 0, 1]]))
    replies = []
    for variant in (table, table.replace(columns={"x": values}), copied):
        server, (client,) = halves(({"client_1": variant.replace(ids=None)}, reference))
        replies.append(talk(client, server)[0])
    for other in replies[1:]:
        for name, array in other.arrays.items():
            np.testing.assert_array_equal(array, replies[0].arrays[name])
    assert 9 not in replies[0].arrays["group.classes"]


def asked(world, change):
    """The honest message with another schema."""
    server, (client,) = halves(world)
    (message,) = {id(m): m for m in server.tasks().values()}.values()
    schema = change(fb.Schema.from_json(message.scalars["schema"]))
    scalars = {**message.scalars, "schema": schema.to_json(), "fingerprint": schema.fingerprint}
    return client, replace(message, scalars=scalars)


def test_a_schema_that_counts_rows_by_rounding_learns_of_means_only():
    """Scale and shift so that x − threshold is rounded to one bit: that would count rows, of means it says little."""
    rng = np.random.default_rng(0)
    ages = rng.uniform(20, 80, 60)
    table = fb.Table({"age": ages}, np.repeat(["a", "b"], 30))
    groups = np.repeat(np.arange(6), 10)
    shift = 2.0**52 * 64
    column = ColumnSpec("age", "numeric", 1, (50.0 - shift,), (1.0,), middle=(50.0,))
    schema = Schema((column,), LabelSpec("label", "classes", "onehot", ("a", "b")))
    means, _ = encoded_means(table, schema, groups, min_group=5)
    own = np.array([ages[groups == g].mean() for g in range(6)])
    np.testing.assert_array_equal(means[:, 0], own - (50.0 - shift))
    # Encoded first, the same schema would tell how many of a group's rows lie beyond the threshold.
    assert len(np.unique((ages - (50.0 - shift)) - shift)) <= 3


@pytest.mark.parametrize(
    "change",
    [
        lambda schema: replace(schema, label=replace(schema.label, kind="whatever")),
        lambda schema: replace(schema, label=replace(schema.label, kind="number", coordinates="numeric")),
        lambda schema: replace(schema, label=replace(schema.label, coordinates="gaussian")),
        lambda schema: replace(schema, columns=(*schema.columns, *schema.columns), projection=None, whitening=None),
        lambda schema: replace(schema, columns=(replace(schema.columns[0], scale=(0.0,) * 64),)),
    ],
)
def test_a_schema_that_no_honest_server_sends_is_refused(world, change):
    client, message = asked(world, change)
    with pytest.raises(FedbaryError):
        client.answer(message)


def test_a_number_is_not_told_as_a_category():
    rng = np.random.default_rng(0)
    table = fb.Table({"age": rng.integers(20, 80, 60).astype(float)}, np.repeat(["a", "b"], 30))
    column = ColumnSpec("age", "categorical", 1, (), (), tuple(map(str, range(20, 80))))
    schema = Schema((column,), LabelSpec("label", "classes", "onehot", ("a", "b")))
    arrays = {"points": np.zeros((1, schema.point_width)), "weights": np.ones(1), "variances": np.zeros(1)}
    scalars = {"schema": schema.to_json(), "fingerprint": schema.fingerprint, "cap": 1.0}
    with pytest.raises(PrivacyError, check=coded("protocols.kind-differs")):
        fb.Coalition().client(table, rules=RULES, seed=0).answer(Message("sketch", 0, scalars, arrays))


def test_a_client_with_other_rows_does_not_go_on(world):
    server, (client,) = halves(world)
    talk(client, server)
    tables, _ = world
    fewer = fb.Coalition().client(tables["client_1"].take(np.arange(149)), rules=RULES, seed=0)
    with pytest.raises(ProtocolError, check=coded("protocols.rows-changed")):
        fewer.restore(client.state())


def test_a_refused_question_counts_also_after_a_restart(world):
    client, message = asked(world, lambda schema: replace(schema, label=replace(schema.label, coordinates="gaussian")))
    with pytest.raises(FedbaryError):
        client.answer(message)
    again = fb.Coalition().client(world[0]["client_1"], rules=RULES, seed=0)
    again.restore(client.state())
    server, _ = halves(world)
    with pytest.raises(PrivacyError, check=coded("protocols.asked-otherwise")):
        talk(again, server)


def test_a_mean_of_few_numbers_is_not_told():
    values = np.full(20, np.nan)
    values[:4], values[10:] = 7.0, np.arange(10.0)
    table = fb.Table({"x": values, "y": np.arange(20.0)}, np.repeat(["a", "b"], 10))
    columns = tuple(ColumnSpec(name, "numeric", 1, (1.0,), (2.0,), middle=(9.0,), absence=15.0) for name in ("x", "y"))
    schema = Schema(columns, LabelSpec("label", "classes", "onehot", ("a", "b")), missing="indicate")
    means, scatter = encoded_means(table, schema, np.repeat([0, 1], 10), min_group=5)
    np.testing.assert_allclose(means, [[0.0, 1.75, 3.0], [1.75, 6.75, 0.0]])  # six of ten are missing: √(15 · 0.6)
    assert scatter == pytest.approx((2 * 82.5 + 82.5) / 4)


def test_without_a_reference_nothing_leaves_that_consensus_does_not_send(world):
    tables, _ = world
    ours, theirs = (
        _replies(tables, settings) for settings in (fb.Coalition(), fb.Consensus(min_group=5, points_per_class=10))
    )
    assert len(ours) == len(theirs) > 5
    for a, b in zip(ours, theirs, strict=True):
        assert a.scalars == b.scalars
        assert a.arrays.keys() == b.arrays.keys()
        for name, array in a.arrays.items():
            np.testing.assert_array_equal(array, b.arrays[name])


def _replies(tables, settings):
    server = settings.server(list(tables), None, SPACE, rules=RULES, seed=0)
    clients = {name: settings.client(table, rules=RULES, seed=0) for name, table in tables.items()}
    said = []
    while tasks := server.tasks():
        replies = {name: clients[name].answer(message) for name, message in tasks.items()}
        server.absorb(replies)
        said += replies.values()
    return said


def test_a_client_answers_one_sketch_and_no_other_protocol(world):
    server, (client,) = halves(world)
    reply, message = talk(client, server)
    again = client.answer(message)
    for name, array in again.arrays.items():
        np.testing.assert_array_equal(array, reply.arrays[name])
    other = replace(message, scalars={**message.scalars, "cap": 2.0 * message.scalars["cap"]})
    with pytest.raises(PrivacyError, check=coded("protocols.asked-otherwise")):
        client.answer(other)
    with pytest.raises(PrivacyError, check=coded("protocols.groups-and-consensus")):
        client.answer(Message("describe", 0))
    server, (client,) = halves(world)
    client.answer(Message("describe", 0, {"space.task": "auto"}))
    with pytest.raises(PrivacyError, check=coded("protocols.groups-and-consensus")):
        talk(client, server)


def test_a_client_with_few_rows_of_every_class_keeps_them_and_adds_nothing(world):
    tables, target = world
    few = tables["client_1"].take(
        np.concatenate([np.flatnonzero(tables["client_1"].labels == c)[:3] for c in range(10)])
    )
    result = fb.value({**tables, "few": few}, target, protocol=fb.Coalition(), seed=0)
    assert result.scores.values[3] == 0.0
    row = result.clients.set_index("client").loc["few"]
    assert result.outcomes["few"].has("protocols.brings-no-group")
    assert row["share"] == 0.0
    assert np.isnan(row["distance"])
    assert not result.failed


# --- answers that make no sense -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"group.points": None}, "lacks-array"),
        ({"group.points": np.full((1, 65), np.nan)}, "array-not-finite"),
        ({"group.points": lambda a: a.astype(int)}, "array-shape"),
        (dict.fromkeys(("group.points", "group.classes", "group.counts"), lambda a: a[:0]), "groups-far-off"),
        ({"group.classes": lambda a: a + 100}, "groups-of-unknown-classes"),
        ({"group.counts": lambda a: a * 0 + 1}, "groups-too-small"),
        ({"group.counts": lambda a: a * 1e6}, "groups-too-small"),
        ({"group.points": lambda a: a + 1e9}, "groups-far-off"),
        ({"group.scatter": np.array([-1.0])}, "groups-far-off"),
        ({"group.classes": lambda a: a * 0}, "groups-of-unknown-classes"),
    ],
)
def test_groups_that_make_no_sense_take_their_client_out_and_nobody_else(world, change, code):
    names = ("client_1", "client_2", "client_3")
    server, clients = halves(world, names=names)
    replies = {name: talk(client, server)[0] for name, client in zip(names, clients, strict=True)}
    arrays = dict(replies["client_2"].arrays)
    for name, new in change.items():
        if new is None:
            del arrays[name]
        else:
            arrays[name] = new(arrays[name]) if callable(new) else new
    replies["client_2"] = Reply(0, replies["client_2"].scalars, arrays)
    server.absorb(replies)
    found = server.result()
    assert found.outcomes["client_2"].has(f"protocols.{code}")
    assert np.isnan(found.scores.values[1])
    assert np.isfinite(found.scores.values[[0, 2]]).all()


def test_a_client_that_claims_a_billion_rows_takes_nobody_down(world):
    names = ("client_1", "client_2", "client_3")
    server, clients = halves(world, names=names)
    replies = {name: talk(client, server)[0] for name, client in zip(names, clients, strict=True)}
    arrays = {
        "group.points": np.full((1, 65), 9e3),
        "group.classes": np.zeros(1),
        "group.counts": np.array([1e9]),
        "group.scatter": np.zeros(1),
    }
    server.absorb({**replies, "client_2": Reply(0, {"rows": int(1e9)}, arrays)})
    assert np.isfinite(server.result().scores.values).all()


def test_nobody_adds_anything_and_everything_goes_on(world, tmp_path):
    """A reference of one class: chance is all there is."""
    tables, target = world
    one = target.take(target.labels == 3)
    result = fb.value(tables, one, protocol=fb.Coalition(), seed=0)
    assert (result.scores.values == 0).all()
    assert "protocols.nothing-to-share" in {note.code for note in result.notes}
    assert len(result.select(k=2)) == 2
    assert set(result.weights("rows")) == set(tables)
    with pytest.raises(SettingsError, check=coded("valuation.no-share-to-weigh")):
        result.weights()
    assert result.report(tmp_path / "report.html").is_file()
    from fedbary.cli.ui.tables import clients

    assert clients(result).row_count == 3


def test_nobody_answers(world):
    server, _ = halves(world)
    server.absorb({"client_1": NO_ANSWER})
    found = server.result()
    assert found.scores is None
    assert found.outcomes == {"client_1": NO_ANSWER.outcome}


def test_labels_that_are_numbers_are_refused_with_and_without_a_reference():
    rng = np.random.default_rng(0)
    tables = {name: fb.Table.from_arrays(rng.normal(size=(40, 3)), rng.normal(size=40)) for name in "ab"}
    for reference in (tables["a"], None):
        with pytest.raises(SettingsError, check=coded("protocols.needs-classes")):
            fb.value(tables, reference, protocol=fb.Coalition(), seed=0)
    with pytest.raises(SettingsError, check=coded("protocols.needs-classes")):
        fb.value(tables, protocol=fb.Coalition(), space=fb.Space(labels="gaussian"), seed=0)


@pytest.mark.parametrize(
    "settings", [{"utility": "magic"}, {"exact_up_to": 30}, {"points_per_class": 0}], ids=lambda wrong: str(*wrong)
)
def test_settings_are_checked(settings):
    with pytest.raises(SettingsError, check=parameter(*settings)):
        fb.Coalition(**settings)


# --- going on after an interruption -------------------------------------------------------------------


@pytest.mark.parametrize("reference", [True, False])
def test_a_run_goes_on_from_any_state_to_the_same_numbers(world, reference):
    tables, target = world
    settings, names = fb.Coalition(), list(tables)

    def fresh():
        server = settings.server(names, target if reference else None, SPACE, rules=RULES, seed=0)
        return server, {name: settings.client(tables[name], rules=RULES, seed=0) for name in names}

    server, clients = fresh()
    straight, others = fresh()
    while tasks := server.tasks():
        replies = {name: clients[name].answer(message) for name, message in tasks.items()}
        server.absorb(replies)
        straight.absorb({name: others[name].answer(message) for name, message in straight.tasks().items()})
        states = server.state(), {name: client.state() for name, client in clients.items()}
        server, clients = fresh()
        server.restore(states[0])
        for name, state in states[1].items():
            clients[name].restore(state)
    np.testing.assert_array_equal(server.result().scores.values, straight.result().scores.values)
    left, right = (client[names[0]].row_values().frame for client in (clients, others))
    assert left.equals(right)


def test_workers_do_not_change_the_values(world, result):
    alone = fb.value(*world, protocol=fb.Coalition(), seed=0, engine=LocalEngine(workers=1))
    np.testing.assert_array_equal(alone.scores.values, result.scores.values)


def test_groups_survive_a_state():
    groups = Groups(np.eye(3), np.array([0, 1, 1]), np.array([5.0, 6, 7]), 2.5)
    again = Groups.from_state(groups.to_arrays())
    assert again.scatter == 2.5
    np.testing.assert_array_equal(again.classes, groups.classes)
