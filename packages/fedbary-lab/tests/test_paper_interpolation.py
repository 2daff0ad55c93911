"""The published setting: what it is, what it finds, and that it stays in one process."""

import copy

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import fedbary as fb
from codes import coded, parameter
from fedbary.errors import PrivacyError, ProtocolError, SettingsError
from fedbary.guard.policy import OwnerPolicy
from fedbary.protocols.messages import Message
from fedbary.transport import solve
from fedbary.valuation.rows import RowRules
from fedbary_lab.paper import PaperInterpolation, published

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
    space = published().space(None)
    cloud = fb.embed(table, fb.fit_schema(rows_of(30, 1), space))
    values, labels = table.columns["x"], table.labels
    means = np.array([values[labels == label].mean(axis=0) for label in labels])
    deviations = np.array([values[labels == label].std(axis=0) for label in labels])
    points, marks = cloud.points[cloud.point_of_row], slice(values.shape[1], cloud.feature_width)
    assert not points[:, marks].any()  # nothing is missing
    np.testing.assert_allclose(np.delete(points, marks, axis=1), np.hstack([values, means, deviations]), atol=1e-12)


def test_a_space_of_ones_own_is_kept():
    assert published().space(fb.Space(scaling="coordinate")).scaling == "coordinate"


def test_every_client_uses_as_many_points_as_rows_and_every_round():
    clients = {"few": rows_of(12, 1), "many": rows_of(25, 2)}
    for reference in (rows_of(20, 0), None):
        history = fb.value(clients, reference, protocol=published(rounds=6), seed=0).history
        assert history.groupby("client")["support"].unique().explode().to_dict() == {"few": 12, "many": 25}
        assert (history.groupby("client")["round"].max() == 6).all()


@pytest.mark.parametrize("gradient", VARIANTS)
def test_noise_on_the_papers_scale_is_found(gradient):
    """All noisy rows have positive gradients, and all but the weakest variant flag nothing else."""
    noisy = rows_of(60, 1, noisy=18)
    result = fb.value({"c": noisy}, rows_of(60, 0), protocol=published(gradient), rule="sign", seed=0)
    flags = result.rows("c")["flag"].to_numpy(bool)
    assert flags[:18].all()
    if gradient != "server-target":
        assert not flags[18:].any()


def test_the_server_scores_the_points_that_rows_moved_to():
    """∇W(η_Q, Q): the j-th points of η_P and η_Q come from γ's j-th, and with S = rows the plan is a permutation."""
    table = rows_of(15, 1)
    settings = published("server-target", rounds=2)
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


@pytest.mark.parametrize("settings", [published(), PaperInterpolation()])
def test_every_engine_but_the_local_one_refuses_it(settings, tmp_path):
    study = fb.FilesEngine(tmp_path, clients=["a", "b"])
    with pytest.raises(SettingsError, check=coded("settings.protocol-in-one-process")):
        fb.value(None, rows_of(20, 0), protocol=settings, engine=study, seed=0)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("trust", [False, True])
def test_no_owners_policy_allows_it(trust):
    policy = OwnerPolicy(protocols=("interpolation",), trust_server=trust)
    with pytest.raises(PrivacyError, check=coded("guard.protocol-not-allowed")):
        policy.check(published())


@pytest.mark.parametrize("name", ["p", "potentials", "gradient"])
def test_settings_that_make_no_sense_are_named(name):
    wrong = {"p": 1, "potentials": "sinkhorn"} if name == "p" else {name: "rough"}
    with pytest.raises(SettingsError, check=parameter(name)):
        PaperInterpolation(**wrong)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (dict(point_per_row=True), "all-rows-are-points"),
        *((dict(gradient=f"server-{which}"), "gradient-shows-rows") for which in ("eta", "gamma", "target")),
    ],
)
def test_settings_that_show_rows_need_the_owners_word(arguments, code):
    with pytest.raises(SettingsError, check=coded(f"research.{code}")):
        PaperInterpolation(**arguments)


@pytest.mark.parametrize("gradient", ["access", "server-eta", "server-target"])
def test_what_looks_at_the_reference_needs_one(gradient):
    with pytest.raises(SettingsError, check=coded("research.gradient-without-reference")):
        fb.value({"a": rows_of(20, 0), "b": rows_of(20, 1)}, protocol=published(gradient))


@pytest.mark.parametrize("gradient", ["eta", "gamma"])
def test_where_nothing_else_is_asked_the_numbers_are_those_of_the_core(gradient):
    clients, reference = {"c": rows_of(60, 1, noisy=18)}, rows_of(60, 0)
    core, paper = (
        fb.value(clients, reference, protocol=make(gradient=gradient, rounds=3), seed=0)
        for make in (fb.Interpolation, PaperInterpolation)
    )
    assert core.history.equals(paper.history)
    assert core.rows("c")["value"].equals(paper.rows("c")["value"])


@pytest.fixture(scope="module")
def noisy(digits):
    parts = fb.partitions.by_size(digits, [120, 120, 400], seed=2)
    table, changed = fb.corruptions.add_noise(parts.clients["client_1"], 0.2, sigma=2.0, seed=0)
    return {"noisy": table, "clean": parts.clients["client_2"]}, parts.clients["client_3"], changed


@pytest.mark.parametrize("gradient", ["access", "server-eta", "server-gamma"])
def test_feature_noise_stands_out_in_every_variant(noisy, gradient):
    clients, reference, changed = noisy
    server = gradient.startswith("server")
    settings = PaperInterpolation(support=120 if server else 100, gradient=gradient, allow_reconstruction=server)
    rows = fb.value(clients, reference, protocol=settings, seed=0, rule="sign").rows("noisy")
    np.testing.assert_array_equal(rows["value"], -rows["calibrated_gradient"])
    assert roc_auc_score(changed, rows["calibrated_gradient"]) > 0.95


def test_server_variants_need_as_many_points_as_rows(noisy):
    clients, reference, _ = noisy
    settings = PaperInterpolation(support=30, gradient="server-eta", allow_reconstruction=True)
    result = fb.value(clients, reference, protocol=settings, seed=0)
    assert all(result.outcomes[name].has("research.gradient-needs-all-rows") for name in result.failed)
    assert len(result.failed) == 2


@pytest.mark.parametrize("gradient", ["access", "server-eta"])
def test_row_values_are_refused_before_the_last_message_and_absurd_scores_with_them(gradient):
    settings = published(gradient, rounds=1)
    server = settings.server(["c"], rows_of(20, 0), settings.space(None), rules=RowRules(), seed=0)
    client = settings.client(rows_of(15, 1), rules=RowRules(), seed=0)
    while (message := server.tasks()["c"]).kind != "scores":
        server.absorb({"c": client.answer(message)})
    with pytest.raises(ProtocolError, check=coded("protocols.rows-before-round")):
        client.row_values()
    for name, array in message.arrays.items():
        for spoilt in (array[:0], np.full(array.shape, np.nan), np.full(array.shape, 1e308), array[None]):
            absurd = Message("scores", message.round, {}, {**message.arrays, name: spoilt})
            with pytest.raises(ProtocolError, check=coded("protocols.server-array")):
                copy.deepcopy(client).answer(absurd)
    server.absorb({"c": client.answer(message)})
    assert len(client.row_values().frame) == 15
    assert server.tasks() == {}
