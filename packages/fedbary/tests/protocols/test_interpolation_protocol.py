"""Algorithm 1: what it estimates, what it guards, and that it can be interrupted anywhere."""

from dataclasses import replace

import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded, parameter
from fedbary.errors import PrivacyError, ProtocolError, SettingsError
from fedbary.notes import Note
from fedbary.protocols.messages import NO_ANSWER, Failure, Message, Reply
from fedbary.transport import solve
from fedbary.valuation.rows import RowRules

PAPER = fb.Space(metric="euclidean", labels="gaussian")


def gaussian_table(rows, width=2, shift=0.0, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    return fb.Table.from_arrays(rng.normal(size=(rows, width)) + shift, rng.integers(0, classes, rows))


def exact_distance(table, reference, p=2, space=PAPER):
    schema = fb.fit_schema(reference, space)
    P, Q = fb.embed(table, schema), fb.embed(reference, schema)
    return solve(P.points, Q.points, P.weights, Q.weights, p=p).distance


def carry(server, clients, until=None, change=None):
    """Deliver messages until the server is done or has absorbed ``until`` rounds."""
    rounds = 0
    while (tasks := server.tasks()) and rounds != until:
        replies = {name: clients[name].answer(message) for name, message in tasks.items()}
        server.absorb(change(rounds, replies) if change else replies)
        rounds += 1


def halves(settings, tables, reference, seed=0, space=PAPER):
    server = settings.server(list(tables), reference, space, rules=RowRules(), seed=seed)
    return server, {
        name: settings.client(table, rules=RowRules(), seed=100 + i) for i, (name, table) in enumerate(tables.items())
    }


# --- what it estimates --------------------------------------------------------------------------------


@given(
    st.integers(0, 10_000), st.sampled_from([1, 2]), st.sampled_from(["barycentric", "exact"]),
    st.sampled_from([None, 0.3, 0.5]), st.integers(3, 25),
)  # fmt: skip
def test_the_interval_of_every_run_holds_the_exact_distance(seed, p, mode, t, support):
    """Every estimate is a path through γ, so never shorter than W; |W(P,γ) − W(γ,Q)| is never longer."""
    table, reference = gaussian_table(23, shift=0.7, seed=seed), gaussian_table(31, seed=seed + 1)
    settings = fb.Interpolation(
        support=support, rounds=2, t=t, p=p, interpolation=mode, allow_reconstruction=True, tolerance=0.0
    )
    result = fb.value({"c": table}, reference, protocol=settings, seed=seed)
    exact = exact_distance(table, reference, p)
    assert (result.history["estimate"] >= exact - 1e-9).all()
    assert result.clients["low"][0] <= exact + 1e-9
    assert result.clients["distance"][0] == pytest.approx(result.history["estimate"].min())


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("t", [None, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_the_estimate_never_rises_in_exact_mode(p, t, seed):
    """Theorem 1 for a fixed target: A^(k) is non-increasing along true geodesics."""
    tables = {f"c{i}": gaussian_table(20, shift=i, seed=seed * 10 + i) for i in range(2)}
    settings = fb.Interpolation(
        support=7, rounds=4, t=t, p=p, interpolation="exact", allow_reconstruction=True, tolerance=0.0
    )
    history = fb.value(tables, gaussian_table(25, seed=99), protocol=settings, seed=seed).history
    assert len(history) == 10
    for _, estimates in history.groupby("client")["estimate"]:
        assert (np.diff(estimates) <= 1e-9).all()


def test_as_many_points_as_rows_and_random_t_come_within_two_percent_on_digits(digits):
    order = np.random.default_rng(0).permutation(len(digits))
    table, reference = digits.take(order[:600]), digits.take(order[600:1200])
    exact = exact_distance(table, reference)
    settings = fb.Interpolation(support=600, rounds=10, allow_reconstruction=True, tolerance=0.0)
    ratios = [
        fb.value({"c": table}, reference, protocol=settings, seed=seed).clients["distance"][0] / exact
        for seed in range(5)
    ]
    assert min(ratios) >= 1.0
    assert np.median(ratios) <= 1.02


def test_the_federated_barycenter_of_three_gaussians_agrees_with_pots():
    """The paper's toy: 100 points from each of three 2-D Gaussians, S = 100, t = 0.5."""
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(100, 2)) @ [[1.0, 0.4], [0.0, 0.8]] + shift for shift in ([0, 0], [6, 0], [3, 5])]
    # One class: its Gaussian label coordinates are the same for all rows of a client, hence a mere translation.
    tables = {f"c{i}": fb.Table.from_arrays(cloud, np.zeros(100, dtype=int)) for i, cloud in enumerate(clouds)}
    settings = fb.Interpolation(support=100, rounds=30, t=0.5, allow_reconstruction=True, tolerance=0.0)
    result = fb.value(tables, protocol=settings, space=fb.Space(scaling="none"), seed=0)
    ours = result.target[:, :2]
    start = rng.normal(size=(100, 2))
    uniform = np.full(100, 0.01)
    theirs = ot.lp.free_support_barycenter(clouds, [uniform] * 3, start, b=uniform, numItermax=100)
    objective = [np.mean([solve(points, cloud).cost for cloud in clouds]) for points in (ours, theirs)]
    assert objective[0] <= 1.001 * objective[1]
    np.testing.assert_allclose(ours.mean(axis=0), theirs.mean(axis=0), atol=0.01)
    spread = np.sqrt(np.var(theirs, axis=0).sum())
    assert solve(ours, theirs).distance < 0.25 * spread


def test_without_a_reference_the_odd_client_out_is_the_farthest(five_clients):
    train, _ = five_clients
    clients = dict(fb.partitions.by_size(train, [200] * 5, seed=0).clients)
    clients["client_5"], _ = fb.corruptions.add_noise(clients["client_5"], 0.2, seed=0)
    result = fb.value(clients, seed=0, protocol="interpolation")
    assert result.ranking()["client"].iloc[-1] == "client_5"
    assert result.target.shape == (40, 192)


@pytest.mark.parametrize("case", [4, 5])
def test_more_noise_is_worth_less_on_digits(digits, case):
    train, reference = fb.partitions.by_size(digits, [1400, 397], seed=4).clients.values()
    parts = fb.partitions.paper_case(train, case, seed=4)
    result = fb.value(parts.clients, reference, seed=0, protocol="interpolation")
    assert result.clients["distance"].is_monotonic_increasing
    assert result.clients["share"].is_monotonic_decreasing
    assert result.clients["share"].sum() == pytest.approx(1)


# --- the barycenter's weights, and what is kept of the last round --------------------------------------


def three_clouds():
    shifts = ([0, 0], [6, 0], [3, 5])
    rng = np.random.default_rng(0)
    clouds = {name: rng.normal(size=(30, 2)) + shift for name, shift in zip("abc", shifts, strict=True)}
    return {name: fb.Table.from_arrays(cloud, np.zeros(30)) for name, cloud in clouds.items()}


def barycenter_of(weights, tables=None, seed=0):
    settings = fb.Interpolation(support=30, rounds=60, t=0.5, tolerance=0.0, allow_reconstruction=True, weights=weights)
    return fb.value(tables or three_clouds(), protocol=settings, space=fb.Space(scaling="none"), seed=seed)


@pytest.mark.parametrize("one", "abc")
def test_all_weight_on_one_client_makes_its_measure_the_barycenter(one):
    tables = three_clouds()
    result = barycenter_of({name: float(name == one) for name in tables}, tables)
    P = fb.embed(tables[one], result.schema)
    assert solve(result.target, P.points, None, P.weights).distance < 1e-3
    assert result.ranking()["client"].iloc[0] == one


def test_the_barycenters_mean_is_the_weighted_mean():
    """Of W₂ it is, whatever the shapes; λ need not sum to one."""
    weights = {"a": 1.0, "b": 2.0, "c": 5.0}
    means = {name: table.columns["x"].mean(axis=0) for name, table in three_clouds().items()}
    expected = sum(weights[name] / 8.0 * mean for name, mean in means.items())
    np.testing.assert_allclose(barycenter_of(weights).target[:, :2].mean(axis=0), expected, atol=1e-4)


def test_equal_weights_are_the_default_and_rows_are_weights_by_size():
    tables = three_clouds()
    equal, named = barycenter_of("equal", tables), barycenter_of(dict.fromkeys("abc", 3.0), tables)
    np.testing.assert_allclose(named.target, equal.target, atol=1e-9)
    tables["a"] = tables["a"].take(np.append(np.arange(30), np.arange(15)))
    by_rows, by_name = barycenter_of("rows", tables), barycenter_of({"a": 45, "b": 30, "c": 30}, tables)
    np.testing.assert_array_equal(by_rows.target, by_name.target)


@pytest.mark.parametrize("weights", [{"a": 1.0, "b": 1.0}, {**dict.fromkeys("abc", 1.0), "d": 1.0}])
def test_weights_name_the_clients_and_nobody_else(weights):
    with pytest.raises(SettingsError, check=parameter("weights")):
        barycenter_of(weights)


@pytest.mark.parametrize("mode", ["barycentric", "exact"])
def test_the_measures_of_the_last_round_are_kept_on_request(mode):
    """γ lies between η_P and η_Q: W(η_P, γ) + W(γ, η_Q) = W(η_P, η_Q) on a geodesic."""
    tables = {name: gaussian_table(40, shift=shift, seed=shift) for shift, name in enumerate("ab")}
    settings = fb.Interpolation(support=40, rounds=2, interpolation=mode, allow_reconstruction=True, keep_measures=True)
    result = fb.value(tables, gaussian_table(50, seed=9), protocol=settings, seed=0)
    assert list(result.measures) == ["a", "b"]
    for kept in result.measures.values():
        part = lambda name, kept=kept: (kept[name], kept[f"{name}_weights"])  # noqa: E731
        between = lambda x, y, part=part: solve(part(x)[0], part(y)[0], part(x)[1], part(y)[1]).distance  # noqa: E731
        whole = between("eta_p", "eta_q")
        assert between("eta_p", "gamma") + between("gamma", "eta_q") == pytest.approx(whole, rel=1e-6)
    plain = fb.value(tables, gaussian_table(50, seed=9), protocol=replace(settings, keep_measures=False), seed=0)
    assert plain.measures == {}
    np.testing.assert_array_equal(plain.clients["distance"], result.clients["distance"])


# --- invariances --------------------------------------------------------------------------------------


@pytest.mark.parametrize("reference_known", [True, False])
def test_copying_shuffling_and_relabelling_change_nothing(reference_known):
    rng = np.random.default_rng(0)
    reference = gaussian_table(80, 3, classes=3, seed=5)
    a, b = gaussian_table(60, 3, 0.4, classes=3, seed=6), gaussian_table(90, 3, 0.2, classes=3, seed=7)
    run = lambda a, b, reference: fb.value(  # noqa: E731
        {"a": a, "b": b}, reference if reference_known else None, seed=1, protocol="interpolation"
    ).clients["distance"]
    base = run(a, b, reference)
    copied = run(a.take(np.tile(np.arange(60), 3)), b, reference)
    shuffled = run(a.take(rng.permutation(60)), b.take(rng.permutation(90)), reference)
    names = np.array(["zebra", "ape", "newt"])
    renamed = run(*(table.replace(labels=names[table.labels]) for table in (a, b, reference)))
    for other in (copied, shuffled, renamed):
        np.testing.assert_allclose(other, base, atol=1e-9)


def test_other_clients_do_not_change_a_clients_distance_to_a_reference():
    reference = gaussian_table(80, seed=5)
    tables = {f"c{i}": gaussian_table(60, shift=i / 3, seed=i) for i in range(3)}
    together = fb.value(tables, reference, seed=0, protocol="interpolation").clients.set_index("client")["distance"]
    for name, table in tables.items():
        alone = fb.value({name: table}, reference, seed=0, protocol="interpolation").clients["distance"][0]
        assert alone == together[name]


def test_regression_runs_through_the_whole_pipeline():
    data = fb.datasets.load("diabetes")
    clients = dict(fb.partitions.by_size(data.train, [100, 100, 100], seed=0).clients)
    clients["client_3"], _ = fb.corruptions.flip_labels(clients["client_3"], 0.8, seed=0)
    for reference in (data.test, None):
        result = fb.value(clients, reference, seed=0, protocol="interpolation")
        assert result.schema.label.kind == "number"
        assert result.clients["distance"].notna().all()
        assert result.rows("client_1")["value"].notna().all()
    assert fb.value(clients, data.test, seed=0, protocol="interpolation").ranking()["client"].iloc[-1] == "client_3"


def test_whitened_onehot_space_is_agreed_without_a_reference(five_clients):
    train, _ = five_clients
    clients = fb.partitions.by_size(train, [200] * 3, seed=0).clients
    result = fb.value(clients, space=fb.Space(metric="within", labels="onehot"), seed=0, protocol="interpolation")
    assert result.schema.whitening.shape == (64, 64)
    assert result.clients["distance"].notna().all()


def test_a_settled_client_stops_early_and_a_zero_tolerance_never_does():
    table, reference = gaussian_table(60, seed=1), gaussian_table(60, seed=2)
    rounds = [
        fb.value({"c": table}, reference, protocol=fb.Interpolation(rounds=60, tolerance=tol), seed=0)
        .history["round"].max()
        for tol in (0.01, 0.0)
    ]  # fmt: skip
    assert rounds[0] < 60
    assert rounds[1] == 60


# --- guards -------------------------------------------------------------------------------------------


def test_support_is_limited_by_different_rows_over_min_group():
    reference = gaussian_table(100, seed=1)
    table = gaussian_table(60, seed=2)
    copied = table.take(np.tile(np.arange(60), 10))
    doubled = table.take(np.append(np.arange(60), np.arange(20)))
    for client in (table, copied, doubled):
        history = fb.value({"c": client}, reference, protocol=fb.Interpolation(support=500), seed=0).history
        # A doubled row has twice the mass, so half as many points may be sent.
        assert set(history["support"]) == {8 if client is doubled else 60 // 5}


def test_every_point_that_leaves_averages_at_least_min_group_rows():
    """Barycentric weights: no row contributes more than 1/min_group to any η_P point."""
    table = gaussian_table(60, seed=2)
    settings = fb.Interpolation(support=500, min_group=5)
    server, clients = halves(settings, {"c": table}, gaussian_table(100, seed=1))
    client = clients["c"]
    client.answer(server.tasks()["c"])
    client._begin(client._allowed)
    plan = client._towards_rows(client._cloud)
    shares = plan.plan / plan.source_weights[:, None]
    assert shares.max() <= 1 / 5 + 1e-12


def test_settings_that_show_rows_need_the_owners_word():
    with pytest.raises(SettingsError, check=coded("protocols.exact-shows-rows")):
        fb.Interpolation(interpolation="exact")


def test_the_leak_is_real_and_the_guard_stops_it():
    """With S = m and t known, the server solves two linear equations and reads every row."""
    table, reference = gaussian_table(40, seed=2), gaussian_table(40, seed=1)
    truth = fb.embed(table, fb.fit_schema(reference, PAPER)).points

    def attack(settings):
        server, clients = halves(settings, {"c": table}, reference)
        carry(server, clients, until=1)
        gamma0 = server._tracks["c"].gamma
        eta_q = server.tasks()["c"].arrays["eta_q"]
        carry(server, clients, until=1)
        gamma1 = server._tracks["c"].gamma
        # γ1 = ½·η_P + ½·η_Q[σ] with η_P = ½·γ0 + ½·x: undo both for the best matching σ.
        best = np.inf
        guesses = 2 * (2 * gamma1[:, None, :] - eta_q[None, :, :]) - gamma0[:, None, :]
        for guess in guesses.reshape(-1, truth.shape[1]):
            best = np.minimum(best, np.linalg.norm(truth - guess, axis=1))
        return (best < 1e-6).mean()

    assert attack(fb.Interpolation(support=40, t=0.5, allow_reconstruction=True)) == 1.0
    assert attack(fb.Interpolation(support=40, t=0.5)) == 0.0


def test_a_client_refuses_more_points_than_agreed_another_schema_and_a_skipped_round():
    server, clients = halves(fb.Interpolation(), {"c": gaussian_table(50, seed=2)}, gaussian_table(60, seed=1))
    client = clients["c"]
    start = server.tasks()["c"]
    with pytest.raises(fb.FedbaryError, check=coded("schema.other-fingerprint")):
        fb.Interpolation().client(gaussian_table(50, seed=2), rules=RowRules(), seed=0).answer(
            Message("start", 0, {**start.scalars, "fingerprint": "beef"})
        )
    with pytest.raises(ProtocolError, check=coded("protocols.not-started")):
        client.answer(Message("step", 1, {}, {"eta_q": np.zeros((10, 7))}))
    client.answer(start)
    for support, points in ((11, 11), (10, 11), (0, 10), (None, 10)):
        told = {} if support is None else {"support": support}
        with pytest.raises(PrivacyError, check=coded("protocols.points-not-agreed")):
            client.answer(Message("step", 1, told, {"eta_q": np.zeros((points, 7))}))
    with pytest.raises(ProtocolError, check=coded("protocols.round-skipped")):
        client.answer(Message("step", 3, {}, {"eta_q": np.zeros((10, 7))}))
    with pytest.raises(ProtocolError, check=coded("protocols.unknown-message")):
        client.answer(Message("gossip", 1))


def test_a_client_answers_one_start_and_as_many_rounds_as_its_owner_allows():
    """More questions about the same rows are more equations: an attack with repeated starts read the private t."""
    server, clients = halves(fb.Interpolation(rounds=2), {"c": gaussian_table(50, seed=2)}, gaussian_table(60, seed=1))
    client, start = clients["c"], server.tasks()["c"]
    assert client.answer(start).scalars == client.answer(start).scalars == {"rows": 50, "allowed": 10}
    with pytest.raises(PrivacyError, check=coded("protocols.asked-otherwise")):
        client.answer(Message("start", 0, {**start.scalars, "gamma_seed": 7}))
    first = client.answer(Message("step", 1, {"support": 8}, {"eta_q": np.zeros((8, 7))}))
    # Once agreed, the number of points stays what it is.
    again = client.answer(Message("step", 1, {"support": 4}, {"eta_q": np.zeros((4, 7))}))
    np.testing.assert_array_equal(again.arrays["gamma"], first.arrays["gamma"])
    with pytest.raises(PrivacyError, check=coded("protocols.points-not-agreed")):
        client.answer(Message("step", 2, {"support": 4}, {"eta_q": np.zeros((4, 7))}))
    client.answer(Message("step", 2, {}, {"eta_q": np.zeros((8, 7))}))
    with pytest.raises(PrivacyError, check=coded("protocols.too-many-rounds")):
        client.answer(Message("step", 3, {}, {"eta_q": np.zeros((8, 7))}))


def test_no_distance_is_told_before_the_first_round_however_often_the_first_step_fails():
    """The distance to a γ of each size would be as many equations beyond those that the rounds allow."""
    server, clients = halves(fb.Interpolation(rounds=2), {"c": gaussian_table(50, seed=2)}, gaussian_table(60, seed=1))
    client = clients["c"]
    client.answer(server.tasks()["c"])
    for support in (3, 7):
        with pytest.raises(PrivacyError, check=coded("protocols.points-not-agreed")):
            client.answer(Message("step", 1, {"support": support}, {"eta_q": np.zeros((support + 1, 7))}))
        with pytest.raises(ProtocolError, check=coded("protocols.round-skipped")):
            client.answer(Message("step", 0, {}, {"eta_q": np.zeros((support, 7))}))


def test_a_row_that_fills_a_fifth_of_the_table_is_not_averaged_away():
    table = gaussian_table(20, seed=2)
    heavy = table.take(np.append(np.arange(20), np.zeros(10, dtype=int)))
    result = fb.value({"c": heavy}, gaussian_table(60, seed=1), protocol="interpolation", seed=0)
    assert result.outcomes["c"].notes[0].code == "protocols.one-row-weighs-too-much"
    assert result.outcomes["c"].notes[0].private["share"] == pytest.approx(0.37, abs=0.005)


@pytest.mark.parametrize("space", [None, fb.Space(metric="within", labels="onehot")])
def test_without_a_reference_no_message_depends_on_a_withheld_row(space):
    """With t known γ shows the mean of its rows: those that the description told of, or the difference is the row."""
    plain, heard = gaussian_table(60, seed=1, classes=2), []
    settings = fb.Interpolation(t=0.5, rounds=3)
    for extra in ([[1.0, 2.0]], [[-3.0, 0.5]], [[0.1, 0.2]] * 7):
        table = fb.Table.from_arrays(np.vstack([plain.columns["x"], extra]), np.append(plain.labels, [9] * len(extra)))
        said, tables = [], {"victim": table, "b": gaussian_table(60, seed=2)}
        server, clients = halves(settings, tables, None, space=settings.space(space))
        keep = lambda _, replies, said=said: said.append(replies["victim"]) or replies  # noqa: E731
        carry(server, clients, change=keep)
        assert server.result().clients["distance"].notna().all()
        assert len(clients["victim"].row_values().frame) == len(table)
        heard.append(
            [{k: v for k, v in r.scalars.items() if k != "rows"} | {k: a.tobytes() for k, a in r.arrays.items()}
             for r in said]
        )  # fmt: skip
    assert len(heard[0]) == 5 + (space is not None)
    assert heard[0] == heard[1] == heard[2]


@pytest.mark.parametrize("factor", [1e80, 1e98])
def test_without_a_reference_absurd_numbers_of_one_client_leave_the_others_alone(factor):
    tables = {f"c{i}": gaussian_table(60, seed=i) for i in range(4)}
    calm = fb.value(tables, protocol="interpolation", seed=0).clients["distance"]
    tables["c3"] = fb.Table.from_arrays(tables["c3"].columns["x"] * factor, tables["c3"].labels)
    result = fb.value(tables, protocol="interpolation", seed=0)
    assert result.clients["distance"][:3].notna().all()
    assert (result.clients["distance"][:3] < 3 * calm[:3]).all()
    assert not result.clients["distance"][3] < result.clients["distance"][0]


def test_a_message_delivered_twice_gets_the_same_answer():
    server, clients = halves(fb.Interpolation(), {"c": gaussian_table(50, seed=2)}, gaussian_table(60, seed=1))
    carry(server, clients, until=1)
    message = server.tasks()["c"]
    first, second = clients["c"].answer(message), clients["c"].answer(message)
    assert first.scalars == second.scalars
    np.testing.assert_array_equal(first.arrays["gamma"], second.arrays["gamma"])


BAD_REPLIES = {
    "array-not-finite": lambda r: Reply(r.round, r.scalars, {"gamma": r.arrays["gamma"] * np.nan}),
    "array-shape": lambda r: Reply(r.round, r.scalars, {"gamma": r.arrays["gamma"][:, :2]}),
    "lacks-array": lambda r: Reply(r.round, r.scalars),
    "number-unfit": lambda r: Reply(r.round, {**r.scalars, "distance": -1.0}, r.arrays),
    "number-unfit (none)": lambda r: Reply(r.round, {}, r.arrays),
    "other-round": lambda r: Reply(7, r.scalars, r.arrays),
    "not-started": lambda r: Failure(Note("protocols.not-started")),
}


BAD_STARTS = {
    "number-unfit": lambda r: Reply(0, {**r.scalars, "allowed": 101}),
    "number-unfit (half)": lambda r: Reply(0, {**r.scalars, "allowed": 9.5}),
    "number-unfit (none)": lambda r: Reply(0, {"rows": 50}),
    "number-unfit (nobody)": lambda r: Reply(0, {**r.scalars, "allowed": 0}),
    "unknown-field": lambda r: Reply(0, {**r.scalars, "distance": 1.0}),
    "too-small-for-support": lambda r: Reply(0, {**r.scalars, "allowed": 1}),
}


@pytest.mark.parametrize(
    ("code", "spoilt", "bad_round"),
    [
        *((code, change, 0) for code, change in BAD_STARTS.items()),
        *((code, change, number) for code, change in BAD_REPLIES.items() for number in (1, 2)),
        ("number-unfit", lambda r: Reply(1, {"distance": 1.0}, r.arrays), 1),
    ],
)
def test_a_bad_reply_takes_out_its_sender_and_nobody_else(code, spoilt, bad_round):
    tables = {f"c{i}": gaussian_table(50, shift=i, seed=i) for i in range(3)}
    reference = gaussian_table(60, seed=9)
    server, clients = halves(fb.Interpolation(rounds=3), tables, reference)

    def spoil(number, replies):
        return {**replies, "c1": spoilt(replies["c1"])} if number == bad_round else replies

    carry(server, clients, change=spoil)
    result = server.result()
    assert set(result.failed) == {"c1"}
    assert result.outcomes["c1"].has("protocols." + code.split()[0])
    good, clean = result.clients[["client", "distance"]], halves(fb.Interpolation(rounds=3), tables, reference)
    carry(*clean)
    np.testing.assert_array_equal(good["distance"][[0, 2]], clean[0].result().clients["distance"][[0, 2]])


def test_a_silent_client_is_named():
    tables = {f"c{i}": gaussian_table(50, seed=i) for i in range(2)}
    server, clients = halves(fb.Interpolation(rounds=2), tables, gaussian_table(60, seed=9))
    carry(server, clients, change=lambda _, replies: {n: r for n, r in replies.items() if n != "c0"})
    assert server.result().outcomes["c0"] == NO_ANSWER.outcome
    assert list(server.result().failed) == ["c0"]


# --- resume -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reference_known", [True, False])
@pytest.mark.parametrize("mode", ["barycentric", "exact"])
def test_a_run_resumes_to_the_same_bytes_after_every_round(reference_known, mode):
    tables = {f"c{i}": gaussian_table(30, shift=i, seed=i) for i in range(3)}
    tables["small"] = gaussian_table(3)
    reference = gaussian_table(40, seed=9) if reference_known else None
    settings = fb.Interpolation(support=6, rounds=3, interpolation=mode, allow_reconstruction=mode == "exact")

    def guarded(clients):
        def answer(name, message):
            try:
                return clients[name].answer(message)
            except fb.FedbaryError as error:
                return Failure.of(error)

        return answer

    def finish(server, clients, stop=None):
        rounds = 0
        while (tasks := server.tasks()) and rounds != stop:
            server.absorb({name: guarded(clients)(name, message) for name, message in tasks.items()})
            rounds += 1
        return rounds

    server, clients = halves(settings, tables, reference)
    total = finish(server, clients)
    final, rows = server.state(), {name: clients[name].row_values() for name in tables if name != "small"}
    assert total == 4 + (not reference_known)
    for stop in range(total + 1):
        first = halves(settings, tables, reference)
        finish(*first, stop=stop)
        saved, kept = first[0].state(), {name: client.state() for name, client in first[1].items()}
        second = halves(settings, tables, reference)
        second[0].restore(saved)
        for name, client in second[1].items():
            client.restore(kept[name])
        finish(*second)
        state = second[0].state()
        assert state.keys() == final.keys()
        for key in final:
            assert state[key].tobytes() == final[key].tobytes(), (stop, key)
        for name, scored in rows.items():
            np.testing.assert_array_equal(second[1][name].row_values().frame["value"], scored.frame["value"])


def test_a_client_refuses_to_resume_with_other_rows():
    server, clients = halves(fb.Interpolation(), {"c": gaussian_table(50, seed=2)}, gaussian_table(60, seed=1))
    carry(server, clients, until=2)
    other = fb.Interpolation().client(gaussian_table(50, seed=3), rules=RowRules(), seed=0)
    with pytest.raises(ProtocolError, check=coded("protocols.rows-changed")):
        other.restore(clients["c"].state())


def test_results_wait_for_the_end():
    server, _ = halves(fb.Interpolation(), {"c": gaussian_table(50, seed=2)}, gaussian_table(60, seed=1))
    with pytest.raises(ProtocolError, check=coded("protocols.not-finished")):
        server.result()


# --- settings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        dict(support=0),
        dict(rounds=2.5),
        dict(min_group=True),
        dict(t=1.0),
        dict(p=3),
        dict(interpolation="linear"),
        dict(gradient="beta"),
        dict(tolerance=-1.0),
        dict(weights="sizes"),
        dict(weights={"a": -1.0}),
        dict(weights={"a": float("nan"), "b": 1.0}),
        dict(weights={"a": 0.0}),
        dict(keep_measures=1),
    ],
    ids=lambda wrong: str(*wrong),
)
def test_settings_that_make_no_sense_are_named(wrong):
    with pytest.raises(SettingsError, check=parameter(*wrong)) as raised:
        fb.Interpolation(**wrong)
    assert raised.value.public["owner"] == "Interpolation"


# --- what belongs in one process ----------------------------------------------------------------------

ALONE = [{"keep_measures": True}, {"weights": {"a": 1.0, "b": 2.0}}]


@pytest.mark.parametrize("more", ALONE)
def test_every_engine_but_the_local_one_refuses_what_belongs_in_one_process(more, tmp_path):
    study = fb.FilesEngine(tmp_path, clients=["a", "b"])
    with pytest.raises(SettingsError, check=coded("engines.only-in-one-process")):
        fb.value(None, gaussian_table(20, seed=0), protocol=fb.Interpolation(**more), engine=study, seed=0)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("more", ALONE)
def test_no_owners_policy_allows_what_tells_of_others_or_of_more(more):
    policy = fb.OwnerPolicy(protocols=("interpolation",), trust_server=True)
    with pytest.raises(PrivacyError, check=coded("guard.only-in-one-process")):
        policy.applied(fb.Interpolation(rounds=4, **more))


def test_variants_of_a_protocol_stay_in_one_process(tmp_path):
    class Mine(fb.Interpolation):
        pass

    study = fb.FilesEngine(tmp_path, clients=["a", "b"])
    with pytest.raises(SettingsError, check=coded("settings.protocol-in-one-process")):
        fb.value(None, gaussian_table(20, seed=0), protocol=Mine(), engine=study, seed=0)
