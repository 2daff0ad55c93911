"""pyDVL's methods through our adapters: known answers, our sign, one seed one result, a clear word if it is missing."""

import sys
from itertools import combinations
from math import comb
from types import ModuleType

import numpy as np
import pytest
from scipy.special import beta as beta_function
from sklearn.linear_model import LogisticRegression

import fedbary as fb
from codes import coded, parameter
from fedbary.errors import DataError, SettingsError
from fedbary_lab.baselines import (
    ame_values,
    banzhaf_values,
    beta_shapley_values,
    influence_values,
    oob_values,
    row_loo,
    tmc_values,
)
from fedbary_lab.baselines.pydvl_values import RowGame, load_pydvl

PLAYED = [
    (tmc_values, {"permutations": 10}),
    (beta_shapley_values, {"permutations": 10}),
    (banzhaf_values, {"samples": 60}),
    (ame_values, {"updates": 4}),
]


@pytest.fixture(scope="module")
def mislabelled():
    """Two far clouds, and one row of the first with the second's name, which misleads a classifier of few rows."""
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(-2, 0.3, (4, 1)), rng.normal(2, 0.3, (4, 1)), [[-2.5]]]
    R = np.r_[rng.normal(-2, 0.3, (20, 1)), rng.normal(2, 0.3, (20, 1))]
    table = fb.Table.from_arrays(X, ["a"] * 4 + ["b"] * 5)
    return table, fb.Table.from_arrays(R, ["a"] * 20 + ["b"] * 20)


def utility(game):
    cache = {}

    def accuracy(rows):
        key = frozenset(rows)
        if key not in cache:
            kept = sorted(key)
            codes = game.codes[kept]
            if not kept:
                cache[key] = 0.0
            elif codes.min() == codes.max():
                cache[key] = (game.truth == codes[0]).mean()
            else:
                model = LogisticRegression(C=game.strength).fit(game.X[kept], codes)
                cache[key] = (model.predict(game.R) == game.truth).mean()
        return cache[key]

    return accuracy


def semivalue(game, weight, drawn):
    """Σ_S weight(|S|)·[v(S ∪ i) − v(S)] by enumeration, and the spread of one draw of S with probability drawn(|S|)."""
    n, v = len(game.X), utility(game)
    first, second = np.zeros(n), np.zeros(n)
    for row in range(n):
        others = [other for other in range(n) if other != row]
        for size in range(n):
            for rest in combinations(others, size):
                marginal = v({*rest, row}) - v(rest)
                first[row] += weight(n, size) * marginal
                second[row] += (weight(n, size) * marginal) ** 2 / drawn(n, size)
    return first, np.sqrt(second - first**2)


def shapley_weight(n, k):
    return 1 / (n * comb(n - 1, k))


def beta_weight(n, k):
    return beta_function(k + 1, n - k + 3) / beta_function(4, 1)


def ame_weight(n, k):
    return np.mean([p**k * (1 - p) ** (n - 1 - k) for p in (0.2, 0.4, 0.6, 0.8)])


@pytest.mark.parametrize(
    ("method", "settings", "weight", "drawn"),
    [
        (beta_shapley_values, {"permutations": 200, "alpha": 1.0}, shapley_weight, shapley_weight),
        (beta_shapley_values, {"permutations": 200}, beta_weight, shapley_weight),
        (ame_values, {"updates": 100}, ame_weight, ame_weight),
    ],
    ids=["shapley", "beta", "ame"],
)
def test_sampled_values_are_within_their_error_of_the_enumerated_ones(mislabelled, method, settings, weight, drawn):
    exact, spread = semivalue(RowGame.of(*mislabelled, None, 0), weight, drawn)
    sampled = method(*mislabelled, **settings)["value"].to_numpy()
    draws = settings.get("permutations") or settings["updates"]
    assert (np.abs(sampled - exact) <= 4 * spread / np.sqrt(draws)).all()
    assert sampled.argmin() == exact.argmin() == 8


def test_banzhaf_values_are_within_their_error_of_the_enumerated_ones(mislabelled):
    game, samples = RowGame.of(*mislabelled, None, 0), 600
    exact, _ = semivalue(game, lambda n, k: 0.5 ** (n - 1), lambda n, k: 0.5 ** (n - 1))
    every = [utility(game)(rows) for size in range(10) for rows in combinations(range(9), size)]
    sampled = banzhaf_values(*mislabelled, samples=samples)["value"].to_numpy()
    # The difference of the means of two halves of the samples.
    assert (np.abs(sampled - exact) <= 4 * 2 * np.std(every) / np.sqrt(samples)).all()
    assert sampled.argmin() == exact.argmin() == 8


def test_truncated_permutations_share_out_the_whole_utility(mislabelled):
    game = RowGame.of(*mislabelled, None, 0)
    rows = tmc_values(*mislabelled, permutations=40)
    # pyDVL truncates within 1 % of the utility of all rows.
    assert rows["value"].sum() == pytest.approx(utility(game)(range(9)), abs=0.011)
    assert rows["value"].idxmin() == 8


@pytest.mark.parametrize(("method", "settings"), PLAYED, ids=lambda value: getattr(value, "__name__", ""))
def test_one_seed_gives_one_result_and_not_a_word(mislabelled, method, settings, capfd):
    first, again, other = (method(*mislabelled, **settings, seed=seed)["value"] for seed in (3, 3, 4))
    assert first.tolist() == again.tolist() != other.tolist()
    assert capfd.readouterr() == ("", "")


def test_out_of_bag_values_are_those_counted_by_hand():
    from sklearn.ensemble import BaggingClassifier
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    names = np.where(X[:, 0] > 0, "yes", "no")
    plain = fb.Space(projection="none", scaling="none")
    rows = oob_values(fb.Table.from_arrays(X, names), estimators=50, space=plain, seed=5)["value"].to_numpy()
    bag = BaggingClassifier(DecisionTreeClassifier(), n_estimators=50, random_state=5).fit(X, (names == "yes") * 1)
    for row in range(30):
        unseen = [tree for tree, seen in zip(bag.estimators_, bag.estimators_samples_, strict=True) if row not in seen]
        right = [tree.predict(X[[row]])[0] == (names[row] == "yes") for tree in unseen]
        assert rows[row] == pytest.approx(np.mean(right))
    assert 0.0 < rows.min() < rows.max() == 1.0


def test_out_of_bag_needs_bags_without_each_row_and_two_classes():
    table = fb.Table.from_arrays(np.arange(9.0)[:, None], ["a", "b", "b"] * 3)
    with pytest.raises(SettingsError, check=coded("research.rows-in-every-bag")):
        oob_values(table, estimators=1)
    assert oob_values(table.replace(labels=np.full(9, "a")))["value"].tolist() == [1.0] * 9


def blobs(seed, size):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, size)
    return rng.standard_normal((size, 2)) + 2.0 * np.eye(3)[codes][:, :2], codes


def test_influence_is_the_first_order_effect_of_leaving_a_row_out():
    X, y = blobs(0, 120)
    y[0] = (y[0] + 1) % 3
    table, reference = fb.Table.from_arrays(X, y), fb.Table.from_arrays(*blobs(1, 80))
    value = influence_values(table, reference)["value"].to_numpy()
    game = RowGame.of(table, reference, None, 0)
    ours, theirs = (np.column_stack([part, np.ones(len(part))]) for part in (game.X, game.R))

    def loss(rows):
        # C·Σ loss: with fewer rows, the penalty keeps its weight against each row's loss.
        model = LogisticRegression(C=game.strength, fit_intercept=False, tol=1e-10, solver="newton-cg")
        model.fit(ours[rows], game.codes[rows])
        return -model.predict_log_proba(theirs)[np.arange(80), game.truth].mean()

    everything = np.arange(120)
    refitted = np.array([loss(np.delete(everything, row)) for row in range(120)]) - loss(everything)
    assert np.corrcoef(value, refitted)[0, 1] > 0.99
    assert np.polyfit(refitted, value, 1)[0] == pytest.approx(1.0, abs=0.15)
    assert np.corrcoef(value, row_loo(table, reference, utility="log-loss")["value"])[0, 1] > 0.9


def test_influence_accepts_classes_that_only_one_side_has():
    X, y = blobs(0, 40)
    table, reference = fb.Table.from_arrays(X, y), fb.Table.from_arrays(X, np.where(y == 0, 7, y))
    assert np.isfinite(influence_values(table, reference)["value"]).all()


def test_budgets_and_tables_that_make_no_sense_are_refused(mislabelled):
    for method, settings in PLAYED:
        with pytest.raises(SettingsError, check=parameter(*settings)):
            method(*mislabelled, **dict.fromkeys(settings, 0))
    with pytest.raises(SettingsError, check=parameter("estimators")):
        oob_values(mislabelled[0], estimators=True)
    with pytest.raises(SettingsError, check=parameter("alpha")):
        beta_shapley_values(*mislabelled, alpha=0.0)
    with pytest.raises(DataError, check=coded("research.single-row")):
        tmc_values(mislabelled[0].take(np.array([0])), mislabelled[1])


@pytest.fixture(params=["missing", "0.9.2 without pydvl.valuation", "0.9.2 with it", "broken"])
def unusable(request, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "pydvl"]:
        monkeypatch.delitem(sys.modules, name)
    if request.param == "missing":
        monkeypatch.setitem(sys.modules, "pydvl", None)
        return
    package = ModuleType("pydvl")
    package.__path__ = []
    package.__version__ = "0.10.0" if request.param == "broken" else "0.9.2"
    monkeypatch.setitem(sys.modules, "pydvl", package)
    if request.param == "0.9.2 with it":
        monkeypatch.setitem(sys.modules, "pydvl.valuation", ModuleType("pydvl.valuation"))


@pytest.mark.usefixtures("unusable")
def test_without_the_right_pydvl_the_message_says_what_to_install(mislabelled):
    for call in (load_pydvl, lambda: tmc_values(*mislabelled), lambda: influence_values(*mislabelled)):
        with pytest.raises(SettingsError, check=coded("research.pydvl-missing")):
            call()
