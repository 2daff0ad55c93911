"""Client-level methods on logs whose answers are known, and on real training."""

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded
from fedbary.games import Game, exact_shapley
from fedbary.notes import Note
from fedbary_lab.baselines.clients import METHODS, Setting, prepare, with_options
from fedbary_lab.baselines.clients.completed import completed
from fedbary_lab.baselines.clients.reconstructed import permutations_for
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.federation import Federation
from fedbary_lab.training.models import Logistic
from fedbary_lab.training.training_log import Head, Round, TrainingLog

SHAPLEY_ON_ROUNDS = ["mr", "gtg", "gtg-ti", "gtg-tib", "fedshapley", "fedshapley-gt", "comfedsv"]


def log(clients=4, rounds=3, size=6, *, seed=0, selected=None, counts=None):
    rng = np.random.default_rng(seed)
    chosen = selected or [range(clients)] * rounds
    turns = [Round(list(one), rng.standard_normal((len(one), size))) for one in chosen]
    names = [f"c{i}" for i in range(clients)]
    counts = rng.integers(1, 50, clients) if counts is None else counts
    return TrainingLog(names, counts, rng.standard_normal(size), turns, head=Head(0, 2, 2, 4))


def curved(weights):
    """A utility that is no accuracy, so that nothing is equal by chance."""
    return np.tanh(weights.sum(axis=1)) + 0.3 * np.cos(weights[:, 0])


def shapley(players, value):
    """Exact values; that these are those of the definition is shown where games are tested."""
    return exact_shapley(
        Game.of([str(at) for at in range(players)], lambda names: value(sorted(map(int, names))))
    ).values


def round_value(trained, turn, utility):
    def value(members):
        if not members:
            return float(utility(trained.before(turn)[None])[0])
        places = [list(trained.rounds[turn].selected).index(i) for i in members]
        counts = trained.counts[list(members)]
        return float(utility((counts / counts.sum() @ trained.rounds[turn].models[places])[None])[0])

    return value


@given(seed=st.integers(0, 10_000))
def test_mr_is_the_sum_of_every_rounds_shapley_values(seed):
    trained = log(seed=seed)
    found = METHODS["mr"].compute(Setting(trained, curved))
    expected = sum(shapley(4, round_value(trained, turn, curved)) for turn in range(3))
    np.testing.assert_allclose(found.values, expected, atol=1e-10)
    # What all rounds gained is what the training gained: everybody was selected.
    gained = curved(trained.final[None]) - curved(trained.initial[None])
    np.testing.assert_allclose(found.values.sum(), gained[0], atol=1e-10)


def test_or_plays_one_game_on_all_updates():
    trained = log()
    moved = sum(trained.updates(turn) for turn in range(3))

    def value(members):
        counts = trained.counts[list(members)]
        shift = counts / counts.sum() @ moved[list(members)] if members else 0.0
        return float(curved((trained.initial + shift)[None])[0])

    found = METHODS["or"].compute(Setting(trained, curved))
    np.testing.assert_allclose(found.values, shapley(4, value), atol=1e-10)
    assert found.evaluations == 16


@pytest.mark.parametrize("name", SHAPLEY_ON_ROUNDS[1:])
def test_sampled_methods_agree_with_mr_within_their_errors(name):
    setting = Setting(log(clients=5), curved, seed=3)
    truth, found = METHODS["mr"].compute(setting), METHODS[name].compute(setting)
    # Truncation may hide up to 0.01 a round.
    assert (np.abs(found.values - truth.values) <= 5 * found.standard_errors + 0.03).all()
    assert found.evaluations <= truth.evaluations


def test_gtg_oti_agrees_with_or():
    setting = Setting(log(clients=5), curved)
    truth, found = METHODS["or"].compute(setting), METHODS["gtg-oti"].compute(setting)
    assert (np.abs(found.values - truth.values) <= 5 * found.standard_errors + 0.01).all()


def test_fedshapley_is_exact_for_few_clients_and_never_truncated_for_many():
    few = Setting(log(clients=6, selected=[[0, 1, 2, 4], [5, 3]]), curved)
    exact, found = METHODS["mr"].compute(few), METHODS["fedshapley"].compute(few)
    np.testing.assert_array_equal(found.values, exact.values)
    assert found.evaluations == exact.evaluations == 2**4 + 2**2
    assert not found.standard_errors.any()
    # A utility that is flat behind the first client: whoever truncates stops there.
    many = Setting(log(clients=15, rounds=1), lambda w: np.where(np.abs(w).max(axis=1) < 9, 0.5, 0.0))
    many = replace(many, log=replace(many.log, initial=np.full(6, 10.0)))
    sampled = METHODS["fedshapley"].compute(many)
    assert 15 * permutations_for(15, 0.1, 0.05) < 2**15
    assert METHODS["gtg-ti"].compute(many).evaluations < 20 < 5_000 < sampled.evaluations < 2**15
    assert sampled.values.sum() == pytest.approx(0.5)


@given(seed=st.integers(0, 1000))
def test_comfedsv_is_mr_where_everybody_trained_in_every_round(seed):
    setting = Setting(log(clients=5, seed=seed), curved)
    found, exact = METHODS["comfedsv"].compute(setting), METHODS["mr"].compute(setting)
    np.testing.assert_allclose(found.values, exact.values, atol=1e-10)
    assert not found.standard_errors.any()
    assert found.evaluations == exact.evaluations


@given(seed=st.integers(0, 1000), rank=st.sampled_from([1, 2]))
def test_a_matrix_of_low_rank_is_completed_exactly(seed, rank):
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.5, 2.0, (6, rank)) @ rng.standard_normal((rank, 31))
    there = rng.random(truth.shape) < 0.7
    there[:rank], there[:, : 2 * rank] = True, True
    found = completed(np.where(there, truth, np.nan), rank=rank)
    np.testing.assert_array_equal(found[there], truth[there])
    if rank == 1:
        np.testing.assert_allclose(found, truth, atol=1e-4 * np.abs(truth).max())
    assert np.isnan(completed(np.array([[1.0, np.nan]]))[0, 1])  # nobody knows anything of that column


def test_comfedsv_knows_what_rounds_did_not_play_from_those_that_did():
    """Every round's game is the first one times a number, so that the matrix has rank 1; a and b are alike."""
    moves, gains, selected = np.array([1.0, 1.0, 4.0]), [1.0, 0.5, 0.25], [[0, 1, 2], [0, 2], [0, 2]]
    rounds, before = [], 0.0
    for gain, chosen in zip(gains, selected, strict=True):
        models = before + gain * moves[chosen]
        rounds.append(Round(chosen, models[:, None]))
        before = models.mean()
    setting = Setting(TrainingLog("abc", [1, 1, 1], [0.0], rounds), lambda w: w[:, 0])
    game = shapley(3, lambda members: float(moves[list(members)].mean()) if members else 0.0)
    found = METHODS["comfedsv"].compute(setting)
    np.testing.assert_allclose(found.values, sum(gains) * game, atol=1e-5)
    assert found.values[0] == pytest.approx(found.values[1], abs=1e-5)
    assert np.isnan(found.standard_errors).all()
    often, seldom, _ = METHODS["fedshapley"].compute(setting).values
    assert often != pytest.approx(seldom, abs=0.05)


def test_comfedsv_needs_a_round_of_everybody_and_samples_many_clients():
    with pytest.raises(fb.FedbaryError, check=coded("research.no-round-of-everybody")):
        METHODS["comfedsv"].compute(Setting(log(clients=3, selected=[[0, 1], [1, 2]]), curved))
    many = Setting(log(clients=12, rounds=2), curved)
    found, exact = METHODS["comfedsv"].compute(many), METHODS["mr"].compute(many)
    assert found.values.sum() == pytest.approx(exact.values.sum())
    assert found.evaluations < exact.evaluations / 5
    assert np.abs(found.values - exact.values).mean() <= 2 * found.standard_errors.mean()
    short = METHODS["comfedsv"].compute(replace(many, max_evaluations=20))
    assert not short.converged
    assert np.isnan(short.values).all()


def test_later_rounds_can_count_less_and_options_are_checked():
    setting = Setting(log(), curved)
    whole, first = (METHODS["mr"].compute(replace(setting, log=one)) for one in (setting.log, log_of_first(setting)))
    half = with_options("mr@decay=0.5").compute(setting)
    np.testing.assert_allclose(with_options("mr@decay=0").compute(setting).values, first.values)
    np.testing.assert_allclose(with_options("mr@decay=1").compute(setting).values, whole.values)
    assert not np.allclose(half.values, whole.values)
    assert with_options("tmr@between=0.5@decay=0.9").name == "tmr@between=0.5@decay=0.9"
    with pytest.raises(fb.FedbaryError, check=coded("research.no-such-option")):
        with_options("tmr@decey=0.9")
    with pytest.raises(fb.FedbaryError, check=coded("research.no-options")):
        with_options("or@decay=0.9")


@pytest.mark.parametrize(
    "text",
    ["tmr@decay=fast", "tmr@decay", "tmr@decay=-1", "tmr@decay=1.5", "mr@decay=nan", "gtg@within=inf",
     "fedshapley@epsilon=0", "fedshapley@delta=0", "fedshapley@delta=1", "comfedsv@rank=0", "comfedsv@rank=1.5"],
)  # fmt: skip
def test_an_option_is_a_number_that_makes_sense(text):
    with pytest.raises(fb.FedbaryError, check=coded("research.wrong-option")):
        with_options(text)


def log_of_first(setting):
    return replace(setting.log, rounds=setting.log.rounds[:1])


def test_flat_rounds_score_nothing_in_tmr_and_gtg():
    trained = log(rounds=2)
    still = Round(range(4), np.tile(trained.final, (4, 1)))
    longer = replace(trained, rounds=(*trained.rounds, still))
    noisy = Setting(longer, lambda w: curved(w) + 0.004 * np.sin(1e6 * w[:, 1]))
    for name in ("tmr", "gtg", "gtg-tib"):
        with_it, without = METHODS[name].compute(noisy), METHODS[name].compute(replace(noisy, log=trained))
        np.testing.assert_array_equal(with_it.values, without.values)


@pytest.mark.parametrize("name", ["mr", "fedshapley", "fedshapley-gt", "gtg"])
def test_clients_that_a_round_did_not_select_get_nothing_from_it(name):
    found = METHODS[name].compute(Setting(log(clients=3, selected=[[0, 1], [1, 0]]), curved))
    assert found.values[2] == 0.0
    assert (found.values[:2] != 0.0).all()


@pytest.mark.parametrize("name", ["shapfed", "fedce"])
def test_a_client_that_was_never_selected_has_no_similarity(name):
    trained = log(clients=3, selected=[[0, 1], [1, 0]])
    found = METHODS[name].compute(Setting(trained, curved, evaluate_own=lambda _, w: curved(w)))
    assert np.isnan(found.values[2])
    assert found.notes[0] == Note("research.never-selected", {"client": "c2"})
    assert np.isfinite(found.shares[:2]).all()


@pytest.mark.parametrize("name", list(METHODS))
def test_equal_clients_are_equal_to_every_method(name, digits):
    part = fb.partitions.by_size(digits, [60, 60, 300], seed=0).clients
    tables = {"a": part["client_1"], "b": part["client_2"], "again": part["client_1"]}
    prepared = prepare(Federation.from_tables(tables, part["client_3"]), training=FedAvg(rounds=3, seed=1))
    found = METHODS[name].compute(prepared.setting)
    error = 5 * np.nan_to_num(found.standard_errors).max() + 1e-6
    assert abs(found.values[0] - found.values[2]) <= error
    assert found.clients == ("a", "b", "again")


@pytest.mark.parametrize("name", ["exactfed", "loo", "datasv"])
def test_a_client_without_influence_is_worth_nothing(name):
    effect = np.array([3.0, 2.0, 1.0, 0.0])
    setting = Setting(log(), lambda w: w[:, 0], retrain=lambda masks: (masks @ effect)[:, None])
    found = METHODS[name].compute(setting)
    np.testing.assert_allclose(found.values, effect, atol=1e-12)


def test_exactfed_adds_up_to_what_training_gains(digits):
    part = fb.partitions.by_size(digits, [80, 40, 60, 400], seed=2).clients
    test = part.pop("client_4")
    prepared = prepare(Federation.from_tables(part, test), training=FedAvg(rounds=3, seed=0))
    setting = prepared.setting
    found = METHODS["exactfed"].compute(setting)
    gained = setting.evaluate(setting.log.final[None]) - setting.evaluate(setting.log.initial[None])
    np.testing.assert_allclose(found.values.sum(), gained[0], atol=1e-9)
    assert found.evaluations == 8
    assert METHODS["datasv"].compute(setting).evaluations <= 8


def test_cgsv_follows_its_formula_for_one_round():
    trained = TrainingLog(("a", "b"), [1, 3], [0.0, 0.0], [Round([0, 1], [[2.0, 0.0], [0.0, 5.0]])])
    # u = (.5, 0), (0, .5); u_N = (.125, .375); the cosines are 1/√10 and 3/√10, and r starts at zero.
    np.testing.assert_allclose(METHODS["cgsv"].compute(Setting(trained, curved)).values, [0.25, 0.75], atol=1e-6)


def test_cgsv_weighs_the_first_round_by_rows_and_later_ones_by_what_it_found():
    turn = [[1.0, 0.0], [0.0, 1.0]]
    trained = TrainingLog(("a", "b"), [1, 1], [0.0, 0.0], [Round([0, 1], turn), Round([0, 1], turn)])
    assert METHODS["cgsv"].compute(Setting(trained, curved)).values == pytest.approx([0.5, 0.5], abs=1e-6)
    again = [[1.25, 0.75], [0.25, 1.75]]  # the same updates, of the average (.25, .75)
    rows = TrainingLog(("a", "b"), [1, 3], [0.0, 0.0], [Round([0, 1], turn), Round([0, 1], again)])
    # After the first round r = (1, 3)/4; the cosines of the second are again (1, 3)/√10.
    r = 0.95 * np.array([0.25, 0.75]) + 0.05 * np.array([1, 3]) / np.sqrt(10)
    assert METHODS["cgsv"].compute(Setting(rows, curved)).values == pytest.approx(r / r.sum(), abs=1e-6)
    late = TrainingLog(("a", "b"), [1, 3], [0.0, 0.0], [Round([0], turn[:1]), Round([1], turn[1:])])
    assert METHODS["cgsv"].compute(Setting(late, curved)).values == pytest.approx([20 / 21, 1 / 21], abs=1e-6)


def test_shapfed_sees_the_class_in_which_a_client_differs():
    # Two classes of one weight and one bias each; b moves against the others in class 1.
    moves = [[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0], [1.0, 1.0, 1.0, 1.0]]
    trained = TrainingLog("abc", [1, 1, 1], np.zeros(4), [Round([0, 1, 2], moves)], head=Head(0, 2, 1, 2))
    np.testing.assert_allclose(METHODS["shapfed"].compute(Setting(trained, curved)).values, [1, 0, 1], atol=1e-12)
    with pytest.raises(fb.FedbaryError, check=coded("research.log-without-head")):
        METHODS["shapfed"].compute(Setting(replace(trained, head=None), curved))


def test_fedce_rewards_what_is_different():
    trained = TrainingLog("abc", [1, 1, 1], np.zeros(2), [Round([0, 1, 2], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])])
    found = METHODS["fedce"].compute(Setting(trained, curved, evaluate_own=lambda _, w: np.zeros(len(w))))
    # cos with the others: 1/√2, 1/√2, 0; the errors are all 1 in the first round.
    cos = np.array([1 - 0.5**0.5, 1 - 0.5**0.5, 1.0])
    np.testing.assert_allclose(found.values, (cos / cos.sum() + 1 / 3) / 2)
    with pytest.raises(fb.FedbaryError, check=coded("research.method-lacks-argument")):
        METHODS["fedce"].compute(Setting(trained, curved))


def test_fedce_takes_a_client_out_of_the_average_as_it_went_in():
    models = np.eye(3)
    trained = TrainingLog("abc", [900, 50, 50], np.zeros(3), [Round([0, 1, 2], models), Round([0, 1, 2], models)])
    asked = []
    METHODS["fedce"].compute(Setting(trained, curved, evaluate_own=lambda _, w: (asked.append(w[0]), w[:, 0])[1]))
    np.testing.assert_allclose(asked[0], [0.0, 0.5, 0.5], atol=1e-12)
    np.testing.assert_allclose(asked[1], [900 / 950, 0.0, 50 / 950], atol=1e-12)


def test_a_difference_of_exactly_the_threshold_is_one_whatever_its_digits():
    """Accuracies are k/1000: 0.585 − 0.575 is 0.010000000000000009."""
    for low in range(1, 990):
        ends = {False: low / 1000, True: (low + 10) / 1000}
        setting = Setting(log(rounds=1), lambda w, ends=ends: np.array([ends[bool(abs(v).max() < 9)] for v in w]))
        trained = replace(setting.log, initial=np.full(6, 10.0))
        assert not METHODS["tmr"].compute(replace(setting, log=trained)).values.any()


@pytest.mark.parametrize("name", ["mr", "gtg", "fedshapley-gt", "or", "fedce"])
@pytest.mark.parametrize("budget", [{"max_evaluations": 12}, {"max_evaluations": 1}, {"max_seconds": 0.01}])
def test_a_budget_ends_with_an_estimate_and_says_so(name, budget):
    def slow(weights):
        time.sleep(0.003 * len(weights))
        return curved(weights)

    setting = Setting(log(clients=8), slow, evaluate_own=lambda _, w: slow(w), **budget)
    found = METHODS[name].compute(setting)
    assert not found.converged
    assert found.notes
    # One evaluation, or as much as a busy machine does in a moment, may be too little for any estimate.
    assert np.isfinite(found.values).all() or budget in ({"max_evaluations": 1}, {"max_seconds": 0.01})
    assert found.evaluations <= budget.get("max_evaluations", np.inf)
    if name == "mr":
        assert np.isnan(found.standard_errors).all()


def test_too_many_clients_for_exactfed_and_missing_parts_are_one_sentence():
    many = log(clients=15, rounds=1)
    with pytest.raises(fb.FedbaryError, check=coded("research.too-many-clients-to-train")):
        METHODS["exactfed"].compute(Setting(many, curved, retrain=lambda masks: masks.astype(float)))
    with pytest.raises(fb.FedbaryError, check=coded("research.method-lacks-argument")):
        METHODS["loo"].compute(Setting(many, curved))
    federation = Federation.from_arrays({"x": ([[0.0], [1.0]], [0, 1])}, ([[0.0], [1.0]], [0, 1]))
    with pytest.raises(fb.FedbaryError, check=coded("research.log-of-other-clients")):
        prepare(federation, log=many)
    other = replace(many, names=("x",), counts=[2], rounds=[Round([0], many.rounds[0].models[:1])])
    with pytest.raises(fb.FedbaryError, check=coded("research.log-of-other-rows")):
        prepare(federation, log=replace(other, counts=[9]))
    with pytest.raises(fb.FedbaryError, check=coded("research.log-of-another-model")):
        prepare(federation, log=other, model=Logistic())
