"""TriangleWad: exact where the geometry is flat, an upper bound along true geodesics, guarded like the others."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded, parameter
from fedbary.engines.coordinator import RunConfig
from fedbary.errors import DataError, PrivacyError, ProtocolError, SettingsError
from fedbary.guard.policy import OwnerPolicy
from fedbary.protocols.messages import NO_ANSWER, Reply
from fedbary.space.points import embed, random_points
from fedbary.space.schema import Schema
from fedbary.valuation.rows import RowRules
from fedbary_lab.triangle import Triangle

PLAIN = fb.Space(scaling="none", metric="euclidean", labels="onehot", label_weight=0.0)


def cloud(points):
    return fb.Table.from_arrays(np.asarray(points, dtype=float), np.zeros(len(points), dtype=int))


def server_of(settings, clients, reference, space=PLAIN):
    return settings.server(clients, reference, space, rules=RowRules(), seed=0)


def client_of(settings, table, rule="bh"):
    return settings.client(table, rules=RowRules(rule=rule), seed=0)


def value(settings, reference, rule="bh", **clients):
    return fb.value(clients, reference, protocol=settings, space=PLAIN, rule=rule, seed=0)


def exact(P, Q):
    return fb.solve(P.columns["x"], Q.columns["x"]).distance


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize("t", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("support", [7, 40])
def test_a_translated_cloud_is_as_far_away_as_it_was_moved(rng, t, support):
    points = rng.standard_normal((200, 3))
    moved = cloud(points + np.array([3.0, 0.0, 4.0]))
    result = value(Triangle(support=support, t=t), cloud(points), here=cloud(points), there=moved)
    assert result.clients["distance"].tolist() == pytest.approx([0.0, 5.0], abs=1e-9)


def test_on_a_line_with_a_point_per_row_it_is_exact(rng):
    P, Q = cloud(rng.standard_normal((30, 1))), cloud(rng.exponential(size=(30, 1)))
    result = value(Triangle(support=30, allow_reconstruction=True), Q, c=P)
    assert result.clients["distance"][0] == pytest.approx(exact(P, Q))


@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.5, 0.9]))
def test_along_true_geodesics_the_estimate_is_never_below_the_distance(seed, t):
    rng = np.random.default_rng(seed)
    P, Q = cloud(rng.standard_normal((12, 2))), cloud(rng.standard_normal((12, 2)) * [1, 3])
    result = value(Triangle(support=12, t=t, allow_reconstruction=True), Q, c=P)
    assert result.clients["distance"][0] >= exact(P, Q) - 1e-9


def test_every_point_that_leaves_a_client_is_the_mean_of_enough_rows(rng):
    reference = cloud(rng.standard_normal((500, 2)))
    settings = Triangle(support=100, min_group=5)
    server = server_of(settings, ["c"], reference)
    message = server.tasks()["c"]
    reply = client_of(settings, cloud(rng.standard_normal((42, 2)))).answer(message)
    assert len(message.arrays["eta_q"]) == 100
    assert len(reply.arrays["eta_p"]) == 42 // 5
    assert set(reply.scalars) == {"rows"}


def test_a_second_gamma_is_refused_even_after_a_restart(rng):
    reference, table = cloud(rng.standard_normal((100, 2))), cloud(rng.standard_normal((50, 2)))
    settings = Triangle()
    first, other = (
        settings.server(["c"], reference, PLAIN, rules=RowRules(), seed=seed).tasks()["c"] for seed in (0, 1)
    )
    client, restarted = client_of(settings, table), client_of(settings, table)
    answers = [client.answer(first).arrays["eta_p"] for _ in range(2)]
    assert np.array_equal(*answers)
    restarted.restore(client.state())
    for party in (client, restarted):
        with pytest.raises(PrivacyError, check=coded("protocols.asked-otherwise")):
            party.answer(other)
    assert restarted.row_values().frame["value"].equals(client.row_values().frame["value"])


def test_a_small_reference_is_guarded_too(rng):
    server = server_of(Triangle(support=100, min_group=5), ["c"], cloud(rng.standard_normal((60, 2))))
    assert len(server.tasks()["c"].arrays["eta_q"]) == 12


def test_bad_answers_take_nobody_else_down(rng):
    reference, table = cloud(rng.standard_normal((100, 2))), cloud(rng.standard_normal((100, 2)))
    settings = Triangle(support=10)
    server = server_of(settings, ["good", "silent", "broken", "large"], reference)
    good = client_of(settings, table).answer(server.tasks()["good"])
    wide = np.zeros((11, good.arrays["eta_p"].shape[1]))
    server.absorb(
        {
            "good": good,
            "broken": Reply(0, good.scalars, {"eta_p": good.arrays["eta_p"] * np.nan}),
            "large": Reply(0, good.scalars, {"eta_p": wide}),
        }
    )
    result = server.result()
    assert set(result.failed) == {"silent", "broken", "large"}
    assert result.clients["share"][0] == 1.0
    assert result.clients[["low", "high"]].isna().all(axis=None)


def test_rows_far_from_the_reference_are_worth_less(rng):
    reference = cloud(rng.standard_normal((300, 2)))
    points = rng.standard_normal((100, 2))
    points[:10] += 6.0
    rows = value(Triangle(support=50), reference, rule="sign", c=cloud(points)).rows("c")
    worst = rows.sort_values("value")["row"].head(10)
    assert set(worst) == set(range(10))
    assert rows["flag"][:10].all()


def test_a_restored_server_has_the_same_result(rng):
    reference, table = cloud(rng.standard_normal((100, 2))), cloud(rng.standard_normal((50, 2)))
    settings = Triangle()
    first, second = (server_of(settings, ["a", "b"], reference) for _ in range(2))
    first.absorb({"a": client_of(settings, table).answer(first.tasks()["a"]), "b": NO_ANSWER})
    second.restore(first.state())
    assert second.tasks() == {}
    assert second.result().clients.equals(first.result().clients)
    other = server_of(settings, ["a", "b"], table, fb.Space())
    with pytest.raises(ProtocolError, check=coded("protocols.reference-changed")):
        other.restore(first.state())


def test_settings_and_missing_references_are_refused(rng):
    with pytest.raises(SettingsError, check=parameter("t")):
        Triangle(t=1.0)
    with pytest.raises(SettingsError, check=parameter("support")):
        Triangle(support=0)
    with pytest.raises(SettingsError, check=coded("research.triangle-without-reference")):
        server_of(Triangle(), ["a"], None)
    with pytest.raises(DataError, check=coded("protocols.reference-too-small")):
        server_of(Triangle(), ["a"], cloud(rng.standard_normal((4, 2))))


@pytest.mark.parametrize("huge", [1e100, 1e308])
def test_absurd_numbers_take_out_their_client_at_most(rng, huge):
    reference, table = cloud(rng.standard_normal((100, 2))), cloud(rng.standard_normal((100, 2)))
    settings = Triangle(support=8)
    server = server_of(settings, ["good", "absurd"], reference)
    good = client_of(settings, table).answer(server.tasks()["good"])
    absurd = Reply(0, good.scalars, {"eta_p": np.full_like(good.arrays["eta_p"], huge)})
    server.absorb({"good": good, "absurd": absurd})
    result = server.result()
    assert set(result.failed) <= {"absurd"}
    assert np.isfinite(result.clients["distance"][0])


def test_rows_are_read_off_the_points_only_where_that_is_allowed(rng):
    """γ comes from the server's own seed, and t is public."""
    reference, table = cloud(rng.standard_normal((100, 2))), cloud(rng.standard_normal((40, 2)))
    for settings, everything in ((Triangle(support=40, allow_reconstruction=True), True), (Triangle(), False)):
        message = server_of(settings, ["c"], reference).tasks()["c"]
        schema = Schema.from_json(message.scalars["schema"])
        eta_p = client_of(settings, table).answer(message).arrays["eta_p"]
        gamma = random_points(np.random.default_rng(message.scalars["gamma_seed"]), len(eta_p), schema)
        averages = (eta_p - settings.t * gamma) / (1.0 - settings.t)
        apart = np.abs(embed(table, schema).points[:, None] - averages).max(axis=2).min(axis=1)
        assert np.array_equal(apart < 1e-6, np.full(len(table), everything))


def test_row_values_need_an_answer_before_them(rng):
    with pytest.raises(ProtocolError, check=coded("protocols.not-started")):
        client_of(Triangle(), cloud(rng.standard_normal((50, 2)))).row_values()


def test_the_last_distances_so_far_are_those_of_the_result(rng):
    clients = {name: cloud(rng.standard_normal((rows, 2))) for name, rows in (("a", 60), ("tiny", 1))}
    events = []
    result = fb.value(clients, cloud(rng.standard_normal((90, 2))), protocol="triangle", seed=0, progress=events.append)
    told = [event.values for event in events if event.kind == "distances"][-1]
    assert told == pytest.approx(result.clients.set_index("client")["distance"].dropna().to_dict(), rel=1e-5)
    assert list(result.failed) == ["tiny"]


def test_its_name_is_enough_and_nothing_is_imported_before():
    script = (
        "import sys, fedbary as fb\nfrom fedbary.protocols.registry import PROTOCOLS, protocol_named\n"
        "assert not any(name.startswith('fedbary_lab') for name in sys.modules)\n"
        "assert protocol_named('triangle', in_one_process=True) is fb.Triangle\nassert list(PROTOCOLS) == "
        "['sketch', 'cards', 'interpolation']"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_only_the_local_engine_takes_it(rng, tmp_path):
    def elsewhere():
        engine = fb.FilesEngine(tmp_path / "files")
        fb.value(None, cloud(rng.standard_normal((60, 2))), protocol=Triangle(), engine=engine)

    for ask in (elsewhere, lambda: RunConfig.of({"protocol": "triangle"})):
        with pytest.raises(SettingsError, check=coded("settings.protocol-in-one-process")):
            ask()
    with pytest.raises(SettingsError, check=coded("guard.policy-unknown-protocol")):
        OwnerPolicy(protocols=("triangle",))
    with pytest.raises(PrivacyError, check=coded("guard.protocol-not-allowed")):
        OwnerPolicy().check(Triangle())
    with pytest.raises(SettingsError, check=parameter("protocol")):
        fb.audit(protocol=Triangle())


def test_the_reports_say_that_nothing_left_one_process(rng, tmp_path):
    result = value(Triangle(support=10), cloud(rng.standard_normal((90, 2))), a=cloud(rng.standard_normal((60, 2))))
    for client, sentence in ((None, "Nothing, to nobody"), ("a", "so nothing left it")):
        page = result.report(tmp_path / "report.html", **({} if client is None else {"client": client}))
        assert sentence in page.read_text(encoding="utf-8")
