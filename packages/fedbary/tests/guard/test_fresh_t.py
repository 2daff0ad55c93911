"""Interpolation's t over a network: another one in every run, lest runs be subtracted; after a stop the same one."""

import shutil

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.guard.guarded_client import GuardedClient
from fedbary.guard.ledger import Ledger
from fedbary.guard.policy import OwnerPolicy
from fedbary.protocols.host import Host
from fedbary.protocols.messages import Message
from fedbary.space.columns import ColumnSpec
from fedbary.space.labels import LabelSpec
from fedbary.space.points import random_points
from fedbary.space.schema import Schema
from fedbary.valuation.rows import RowRules

WIDTH, SUPPORT, SECRET = 4, 20, 1234567
ASKED = fb.Interpolation(rounds=3, support=SUPPORT)
NAMES = [f"f{i}" for i in range(WIDTH)]
POINTS = np.random.default_rng(0).normal(3.0, 1.0, size=(100, WIDTH))
TABLE = fb.Table.from_frame(pd.DataFrame(POINTS, columns=NAMES).assign(label=["a"] * 50 + ["b"] * 50), "label")
# The label weighs nothing, so that the attack need not care for it.
SCHEMA = Schema(
    columns=tuple(ColumnSpec(name, "numeric", 1, (0.0,), (1.0,), (), (0.0,)) for name in NAMES),
    label=LabelSpec("label", "classes", "onehot", (), weight=0.0),
    missing="refuse",
)


def start(client, gamma_seed):
    """The γ that the client begins with: the server's own draw."""
    question = {"schema": SCHEMA.to_json(), "fingerprint": SCHEMA.fingerprint}
    reply = client.answer(Message("start", 0, {**question, "support": SUPPORT, "gamma_seed": gamma_seed}))
    assert reply.scalars["allowed"] == SUPPORT
    return random_points(np.random.default_rng(gamma_seed), SUPPORT, SCHEMA)


def step(client, number, eta_q):
    agreed = {"support": SUPPORT} if number == 1 else {}
    return client.answer(Message("step", number, agreed, {"eta_q": eta_q})).arrays["gamma"]


def mean_of_rows_by_comparing_runs(new_client):
    """What a server finds that asks four times: t from the difference of two runs, then the rows' mean."""

    def run(gamma_seed, shift):
        client = new_client()
        gamma = start(client, gamma_seed)
        eta_q = np.full_like(gamma, shift)
        eta_q[:, WIDTH:] = 0.0
        return gamma[:, :WIDTH], step(client, 1, eta_q)[:, :WIDTH]

    (_, still), (_, moved) = run(7, 0.0), run(7, 100.0)
    t = float(np.median((moved - still) / 100.0))
    (first, answer), (second, other) = run(1, 0.0), run(2, 0.0)
    eta, eta_other = answer / (1.0 - t), other / (1.0 - t)
    kept = float(np.median((eta_other.mean(0) - eta.mean(0)) / (second.mean(0) - first.mean(0))))
    return (eta.mean(0) - kept * first.mean(0)) / (1.0 - kept)


def guarded(tmp_path):
    """An owner who allows many runs."""
    policy = OwnerPolicy(protocols=("interpolation",), max_questions=100)
    ledger = Ledger(tmp_path / "ledger.jsonl")

    def new_client():
        return GuardedClient.for_table(TABLE, ASKED, policy=policy, ledger=ledger, run="r", seed=SECRET)

    return new_client


def test_two_runs_cannot_be_subtracted(tmp_path):
    def one_process():
        return ASKED.client(TABLE, rules=RowRules(), seed=SECRET)

    # In one process the seed rules, and the attack finds what it looks for: it is a good attack.
    np.testing.assert_allclose(mean_of_rows_by_comparing_runs(one_process), POINTS.mean(0), atol=1e-6)
    owner = guarded(tmp_path)
    errors = [np.abs(mean_of_rows_by_comparing_runs(owner) - POINTS.mean(0)).max() for _ in range(5)]
    assert np.median(errors) > 0.01


def test_inside_one_run_t_hides_nothing_from_a_server_that_chooses_its_measure(tmp_path):
    """The bound on what leaves is `min_group`, not t: one far coordinate shows t, and with it the averages of η_P."""
    client = guarded(tmp_path)()
    eta_q = np.zeros_like(start(client, 7))
    eta_q[:, 0] = 1e4
    gamma = step(client, 1, eta_q)
    t = float(np.median(gamma[:, 0])) / 1e4
    both = gamma / (1.0 - t), client.state()["measure.eta_p"]
    found, true = (np.sort(points[:, 1:WIDTH], axis=0) for points in both)
    np.testing.assert_allclose(found, true, atol=0.1)


@pytest.mark.parametrize("answered", [0, 1, 2])
def test_a_client_that_was_stopped_goes_on_with_its_own_t(tmp_path, answered):
    new_client = guarded(tmp_path)
    client = new_client()
    eta_q = np.ones_like(start(client, 7))
    for number in range(1, answered + 1):
        step(client, number, eta_q)
    state, copy = client.state(), tmp_path / "copy"
    copy.mkdir()
    shutil.copytree(tmp_path / "released", copy / "released")
    for name in ("ledger.jsonl", "head"):
        (copy / name).write_bytes((tmp_path / name).read_bytes())
    again = guarded(copy)()
    again.restore(state)
    np.testing.assert_array_equal(step(client, answered + 1, eta_q), step(again, answered + 1, eta_q))


def test_the_server_s_t_is_no_setting_where_clients_are_other_parties():
    """Whoever knows it could work back from η_Q to averages of the reference; after a stop it is the same."""

    def started(secret):
        server = ASKED.server(["a"], TABLE, ASKED.space(None), rules=RowRules(), seed=0, host=Host(secret=secret))
        client = ASKED.client(TABLE, rules=RowRules(), seed=1)
        server.absorb({"a": client.answer(server.tasks()["a"])})
        return server, client

    def asked(server):
        return server.tasks()["a"].arrays["eta_q"]

    (plain, _), (first, client), (again, _) = started(None), started(5), started(6)
    np.testing.assert_array_equal(asked(plain), asked(started(None)[0]))
    assert np.abs(asked(first) - asked(plain)).max() > 1e-6
    again.restore(first.state())
    reply = client.answer(first.tasks()["a"])
    for server in (first, again):
        server.absorb({"a": reply})
    np.testing.assert_array_equal(asked(first), asked(again))
