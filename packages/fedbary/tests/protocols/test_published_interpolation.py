"""The published setting: what it is, what it finds, and that it stays in one process."""

import numpy as np
import pytest

import fedbary as fb
from codes import coded, parameter
from fedbary.errors import PrivacyError, SettingsError
from fedbary.guard.policy import OwnerPolicy
from fedbary.protocols.messages import Message
from fedbary.transport import solve
from fedbary.valuation.rules import RowRules

VARIANTS = ("eta", "gamma", "access", "server-eta", "server-gamma", "server-target")


def rows_of(count, seed, *, noisy=0, width=30):
    """Two classes of points in [0, 1], and N(0, 1) noise on the first rows: the paper's kind of noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    values = np.clip(0.3 + 0.4 * labels[:, None] + 0.1 * rng.normal(size=(count, width)), 0.0, 1.0)
    values[:noisy] += rng.normal(size=(noisy, width))
    return fb.Table.from_arrays(values, labels)


def test_its_space_is_the_papers_with_nothing_scaled():
    """Equation 9: a row is [x, m_y, σ_y], mean and deviations of its class in the party's own rows."""
    table = rows_of(20, 0)
    space = fb.Interpolation.published().space(None)
    cloud = fb.embed(table, fb.fit_schema(rows_of(30, 1), space))
    values, labels = table.columns["x"], table.labels
    means = np.array([values[labels == label].mean(axis=0) for label in labels])
    deviations = np.array([values[labels == label].std(axis=0) for label in labels])
    points, marks = cloud.points[cloud.point_of_row], slice(values.shape[1], cloud.feature_width)
    assert not points[:, marks].any()  # nothing is missing
    np.testing.assert_allclose(np.delete(points, marks, axis=1), np.hstack([values, means, deviations]), atol=1e-12)


def test_a_space_of_ones_own_is_kept():
    assert fb.Interpolation.published().space(fb.Space(scaling="coordinate")).scaling == "coordinate"


def test_every_client_uses_as_many_points_as_rows_and_every_round():
    clients = {"few": rows_of(12, 1), "many": rows_of(25, 2)}
    for reference in (rows_of(20, 0), None):
        history = fb.value(clients, reference, protocol=fb.Interpolation.published(rounds=6), seed=0).history
        assert history.groupby("client")["support"].unique().explode().to_dict() == {"few": 12, "many": 25}
        assert (history.groupby("client")["round"].max() == 6).all()


@pytest.mark.parametrize("gradient", VARIANTS)
def test_noise_on_the_papers_scale_is_found(gradient):
    """All noisy rows have positive gradients, and all but the weakest variant flag nothing else."""
    noisy = rows_of(60, 1, noisy=18)
    result = fb.value({"c": noisy}, rows_of(60, 0), protocol=fb.Interpolation.published(gradient), rule="sign", seed=0)
    flags = result.rows("c")["flag"].to_numpy(bool)
    assert flags[:18].all()
    if gradient != "server-target":
        assert not flags[18:].any()


def test_the_server_scores_the_points_that_rows_moved_to():
    """∇W(η_Q, Q): the j-th points of η_P and η_Q come from γ's j-th, and with S = rows the plan is a permutation."""
    table = rows_of(15, 1)
    settings = fb.Interpolation.published("server-target", rounds=2)
    server = settings.server(["c"], rows_of(20, 0), settings.space(None), rules=RowRules(), seed=0)
    client, tasks = settings.client(table, rules=RowRules(), seed=0), server.tasks()
    while tasks and tasks["c"].kind != "scores":
        reply = client.answer(tasks["c"])
        assert "eta_p" not in reply.arrays
        server.absorb({"c": reply})
        tasks = server.tasks()
    client.answer(Message("scores", tasks["c"].round, {}, {"scores": np.arange(15.0)}))
    values = client.row_values().frame["calibrated_gradient"].to_numpy()
    # Scores 0, 1, …, 14 each go to one row: the row whose image under the plan is that point of η_P.
    eta_p, rows = client._measures["eta_p"], client._cloud
    image = solve(rows.points, eta_p, rows.weights).plan.argmax(axis=1)[rows.point_of_row]
    assert sorted(image) == list(range(15))
    np.testing.assert_allclose(values, (image - 7.0) * 15 / 14, atol=1e-9)


@pytest.mark.parametrize(
    "settings",
    [
        fb.Interpolation.published(),
        fb.Interpolation(keep_measures=True),
        fb.Interpolation(weights={"a": 1.0, "b": 2.0}),
    ],
)
def test_every_engine_but_the_local_one_refuses_what_belongs_in_one_process(settings, tmp_path):
    study = fb.FilesEngine(tmp_path, clients=["a", "b"])
    with pytest.raises(SettingsError, check=coded("engines.only-in-one-process")):
        fb.value(None, rows_of(20, 0), protocol=settings, engine=study, seed=0)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("trust", [False, True])
def test_no_owners_policy_allows_it(trust):
    policy = OwnerPolicy(protocols=("interpolation",), trust_server=trust)
    with pytest.raises(PrivacyError, check=coded("guard.reconstruction")):
        policy.check(fb.Interpolation.published())


@pytest.mark.parametrize("more", [{"keep_measures": True}, {"weights": {"me": 1.0}}])
def test_no_owners_policy_allows_what_tells_of_others_or_of_more(more):
    policy = OwnerPolicy(protocols=("interpolation",), trust_server=True)
    with pytest.raises(PrivacyError, check=coded("guard.only-in-one-process")):
        policy.applied(fb.Interpolation(rounds=4, **more))


def test_sinkhorn_potentials_are_of_squared_distances():
    with pytest.raises(SettingsError, check=parameter("p")):
        fb.Interpolation(p=1, potentials="sinkhorn")
