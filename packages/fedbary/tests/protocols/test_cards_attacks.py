"""A server of the cards protocol that sends a model of its choice: what one row shows in, and what it does not.

What holds for a guarded client: weights leave in coarse steps, and no row has more say in them than a group; a
likelihood and counts are of cells with no fewer different rows than `min_group`, so that a row is seen in a cell that
others are in, or not at all. What does not hold: a cell of a group tells to one row how many are in it; a number near
an edge of its steps may take the next one for a single row; and a client's means and spreads, by which all its rows are
moved and its own candidate judges them, are sums over all rows, of which none lies farther out than a group in any
coordinate, but one may in a direction between coordinates.
"""

from dataclasses import replace

import numpy as np
import pytest

import fedbary as fb
from fedbary.judging.evidence import UNKNOWN
from fedbary.protocols.messages import Message
from fedbary.valuation.rows import RowRules

ROWS = 300


def tables(label, *, copies=1, seed=0):
    """Four tables of labels by chance; one row of the first, or some copies of it, has a value that no other there has.

    Others have it often, as a column that is the same everywhere is left out.
    """
    rng = np.random.default_rng(seed)
    found = []
    for table in range(4):
        labels = rng.choice(np.array(["ill", "well"], dtype=object), ROWS, p=[0.7, 0.3])
        rare = (rng.random(ROWS) < (0.2 if table else 0.0)).astype(float)
        found.append((rng.normal(size=ROWS), rare, labels))
    for place in range(7, 7 + copies):
        number, rare, labels = found[0]
        number[place], rare[place], labels[place] = 0.5, 1.0, label
    return {name: fb.Table({"x": x, "rare": rare}, y) for name, (x, rare, y) in zip("abcd", found, strict=True)}


def answers(label, policy, model, weights, *, copies=1, seed=0):
    """What the first client answers to a model that was spoilt, and then to weights of the server's choice."""
    settings, rules = fb.Cards(policy=policy, shared=True), RowRules()
    server = settings.server(list("abcd"), None, settings.space(None), rules=rules, seed=0)
    owned = tables(label, copies=copies, seed=seed)
    halves = {name: settings.client(table, rules=rules, seed=0) for name, table in owned.items()}
    server.absorb({name: halves[name].answer(message) for name, message in server.tasks().items()})
    message = server.tasks()["a"]
    schema = fb.Schema.from_json(message.scalars["schema"])
    names = [column.name for column in schema.columns]
    place, arrays = names.index("rare"), dict(message.arrays)
    column = schema.columns[place]
    usual, alone = (
        ((value - column.mean[0]) / column.scale[0] - arrays["others.centre"][place]) / arrays["others.scale"][place]
        for value in (0.0, 1.0)
    )
    arrays |= model(place, float(usual), float(alone))
    told = halves["a"].answer(replace(message, arrays=arrays)).arrays["weights"]
    return told, halves["a"].answer(Message("evidence", 2, {}, {"weights": np.array(weights)})).arrays


def one_row(place, usual, alone):
    """Class means to both sides of all rows but one, in its own direction: the model speaks of that row only."""
    means, covariance = np.zeros((2, 2)), 1e6 * np.eye(2)
    means[:, place] = usual + np.array([1.0, -1.0]) * (alone - usual)
    covariance[place, place] = (alone - usual) ** 2 / 3.0
    return {"others.means": means, "others.covariance": covariance, "others.counts": np.full(2, 1e6)}


def own_means(place, usual, alone):
    """The others say nothing, and the row's own direction is so short that the smallest mean in it is far away."""
    covariance = 1e6 * np.eye(2)
    covariance[place, place] = 1e-8
    return {"others.means": np.zeros((2, 2)), "others.covariance": covariance, "others.counts": np.full(2, 1e6)}


BY_OTHERS, BY_OWN = (1.0, 1e-3, 1e-3), (1e-3, 1e-3, 1.0)


@pytest.mark.parametrize(("policy", "reads"), [("trusted", True), ("guarded", False)])
@pytest.mark.parametrize("copies", [1, 10])
def test_a_likelihood_and_counts_of_labels_show_no_single_row(policy, reads, copies):
    """Labels of a row that nobody else is like; also where it was copied, which makes it no group."""
    ill, well = (answers(label, policy, one_row, BY_OTHERS, copies=copies)[1] for label in ("ill", "well"))
    assert bool(np.abs(ill["likelihood"] - well["likelihood"]).max() > 0.0) == reads
    # Copies that lie far out say less of their labels, to whoever reads them.
    assert (np.count_nonzero(ill["labels"]) != np.count_nonzero(well["labels"])) == (reads and copies == 1)
    # The row is among those of its class, of which the card tells how many there are.
    assert reads or sorted(ill["labels"])[-2:] == pytest.approx(sorted(well["labels"])[-2:], abs=copies)


@pytest.mark.parametrize(("policy", "reads"), [("trusted", True), ("guarded", False)])
@pytest.mark.parametrize("copies", [1, 10])
def test_counts_of_features_show_no_single_row(policy, reads, copies):
    told = answers("ill", policy, one_row, BY_OTHERS, copies=copies)[1]["features"]
    assert told.sum() == (ROWS if policy == "trusted" else ROWS - copies + 1)
    assert (told.max() < told.sum()) == reads


@pytest.mark.parametrize("least", [2, 5])
def test_no_cell_of_a_guarded_client_holds_fewer_rows_than_a_group(least):
    settings, rules = fb.Cards(policy="guarded", min_group=least), RowRules()
    parts = fb.partitions.by_size(fb.datasets.load("digits").train, [150] * 4, seed=0).clients
    server = settings.server(list(parts), None, settings.space(None), rules=rules, seed=0)
    halves = {name: settings.client(table, rules=rules, seed=0) for name, table in parts.items()}
    while tasks := server.tasks():
        replies = {name: halves[name].answer(message) for name, message in tasks.items()}
        if next(iter(tasks.values())).kind == "evidence":
            for reply in replies.values():
                for name in ("labels", "features"):
                    cells = reply.arrays[name]
                    assert cells.sum() == 150
                    assert cells[cells > 0].min() >= least
        server.absorb(replies)


def test_weights_leave_a_guarded_client_in_coarse_steps():
    trusted, guarded = (answers("ill", policy, one_row, BY_OTHERS)[0] for policy in ("trusted", "guarded"))
    steps = 10.0 * np.log(guarded)
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    assert np.abs(10.0 * np.log(trusted) - np.round(10.0 * np.log(trusted))).max() > 1e-3


@pytest.mark.parametrize(("policy", "reads"), [("trusted", True), ("guarded", False)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_weight_of_a_model_of_one_row_does_not_tell_its_label(policy, reads, seed):
    """Of the others' model, that is; weights of moved rows may lie at an edge, and be another step (seed 2)."""
    ill, well = (answers(label, policy, one_row, BY_OTHERS, seed=seed)[0] for label in ("ill", "well"))
    apart = np.log(ill / well)
    assert bool(apart[0] > 0.02) == reads
    assert reads or (abs(apart[0]) < 1e-9 and np.abs(apart).max() < 0.1 + 1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_own_class_means_do_not_read_the_label_of_one_row_from_a_guarded_client(seed):
    """In its own direction no row of a guarded client lies farther out than a group."""
    ill, well = (answers(label, "guarded", own_means, BY_OWN, seed=seed)[1] for label in ("ill", "well"))
    assert np.abs(ill["labels"] - well["labels"]).max() <= 1


@pytest.mark.parametrize("model", [one_row, own_means])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_scatter_of_a_guarded_client_does_not_tell_the_label_of_one_row(model, seed):
    """A label more of one class moves it as much, whichever row has it; of a trusting client the row is seen."""
    trusted, guarded = (
        [answers(label, policy, model, BY_OTHERS, seed=seed)[1]["scatter"] for label in ("ill", "well")]
        for policy in ("trusted", "guarded")
    )
    assert np.abs(np.subtract(*trusted)).max() > 0.1 or model is own_means  # rows far out have no part in own means
    assert np.abs(np.subtract(*guarded)).max() < 0.06


@pytest.mark.parametrize("copies", [1, 10])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_labels_look_like_does_not_tell_the_label_of_one_row(copies, seed):
    trusted, guarded = (
        [answers(label, policy, one_row, BY_OTHERS, copies=copies, seed=seed)[1] for label in ("ill", "well")]
        for policy in ("trusted", "guarded")
    )
    assert np.prod([told["label.numbers"][1] for told in trusted]) < 0.0  # means of classes point to where the row is
    ill, well = guarded
    np.testing.assert_array_equal(ill["label.looks"], well["label.looks"])
    np.testing.assert_allclose(ill["label.gain"], well["label.gain"], atol=0.01 + 1e-9)
    np.testing.assert_array_equal(ill["label.numbers"][1:], well["label.numbers"][1:])
    # One label more of a class is one label more, as the card says, whichever row has it.
    assert np.abs(ill["label.counts"] - well["label.counts"]).max() == 1.0
    assert ill["label.numbers"][0] == pytest.approx(well["label.numbers"][0], rel=0.05)


def test_labels_of_fewer_rows_than_a_group_do_not_leave_a_guarded_client():
    settings, rules = fb.Cards(policy="guarded", shared=True), RowRules()
    rng = np.random.default_rng(0)
    owned = {
        name: fb.Table({"x": rng.normal(size=100), "z": rng.normal(size=100)}, rng.choice(["a", "b", "c"], 100))
        for name in "abcd"
    }
    labels = np.where(np.arange(100) < 3, "c", rng.choice(["a", "b"], 100))
    owned["a"] = fb.Table(dict(owned["a"].columns), labels)
    server = settings.server(list(owned), None, settings.space(None), rules=rules, seed=0)
    halves = {name: settings.client(table, rules=rules, seed=0) for name, table in owned.items()}
    while tasks := server.tasks():
        replies = {name: halves[name].answer(message) for name, message in tasks.items()}
        if next(iter(tasks.values())).kind == "evidence":
            told = replies["a"].arrays
            assert (told["label.counts"][2], told["label.judged"][2]) == (0.0, 0.0)
            assert told["label.looks"][2].tolist() == [0.0, 0.0, 1.0]
            assert np.isclose(told["scatter"][2], UNKNOWN)
        server.absorb(replies)
