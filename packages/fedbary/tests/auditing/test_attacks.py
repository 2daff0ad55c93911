"""Every attack succeeds where nobody guards, and fails where that is promised."""

from importlib.util import find_spec

import numpy as np
import pytest

import fedbary as fb
from audit_policies import MANY_QUESTIONS, guarding_policy, private_policy, trusting_policy
from clock import Clock
from fedbary.auditing.inference import attribute, counts, form, membership, neighbours, refusals
from fedbary.auditing.owner import Defence, Owner
from fedbary.auditing.probes import blind, read_averages, sketch_near
from fedbary.auditing.reconstruction import card_rows, joint_rounds, known_t, repeated_questions, unknown_t
from fedbary.auditing.scene import Scene
from fedbary.protocols.messages import Failure

TRUSTED = Defence(fb.Sketch(), trusting_policy())
COARSEN = Defence(fb.Sketch(), guarding_policy())
PRIVATE = Defence(fb.Sketch(epsilon=0.5), private_policy(0.5))
TRUSTED_CARDS = Defence(fb.Cards(), trusting_policy("cards"))
GUARDED_CARDS = Defence(fb.Cards(), guarding_policy("cards"))
PRIVATE_CARDS = Defence(fb.Cards(epsilon=0.5), private_policy(0.5))
NOISY_CARDS = pytest.param(
    PRIVATE_CARDS, marks=pytest.mark.skipif(find_spec("dp_accounting") is None, reason="needs the extra 'privacy'")
)
INTERPOLATION = Defence(fb.Interpolation(rounds=4), guarding_policy("interpolation"))
OPEN_INTERPOLATION = Defence(fb.Interpolation(allow_reconstruction=True), None)


def people(rows, seed):
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.4
    X = rng.normal(size=(rows, 4)) + ill[:, None]
    return fb.Table.from_arrays(X, np.where(ill, "ill", "well"), columns=["age", "dose", "pulse", "weight"])


def scene(defence, trials=40, rows=100):
    return Scene(people(rows, 1), people(150, 2), defence, trials, seed=0)


# --- reconstruction -----------------------------------------------------------------------------------


def test_repeated_questions_read_rows_from_an_owner_who_answers_them():
    assert repeated_questions(scene(TRUSTED)).value == 1.0


def test_merging_points_does_not_stop_repeated_questions_and_counting_them_does():
    many = Defence(fb.Sketch(), fb.OwnerPolicy(max_questions=MANY_QUESTIONS))
    assert repeated_questions(scene(many)).value == 1.0
    found = repeated_questions(scene(COARSEN))
    assert (found.value, found.limit, found.holds, found.what.facts["answered"]) == (0.0, 0.0, True, 1)


def test_repeated_questions_read_nothing_through_noise():
    for budget in (0.5, 1000.0):
        defence = Defence(fb.Sketch(epsilon=0.5), private_policy(budget))
        assert repeated_questions(scene(defence)).value == 0.0


@pytest.mark.parametrize("attack", [known_t, unknown_t])
def test_as_many_points_as_rows_are_the_rows(attack):
    assert attack(scene(OPEN_INTERPOLATION)).value == 1.0
    found = attack(scene(INTERPOLATION))
    assert (found.value, found.holds) == (0.0, True)


def test_a_class_that_nobody_has_gives_the_secret_t_away():
    """What is left after undoing t are averages of rows: those of the first round have the table's mean."""
    played = scene(INTERPOLATION)
    with played.defence.owner(played.table, np.random.default_rng(0)) as owner:
        found = read_averages(owner, played, [np.eye(blind(played.schema)[0].point_width)[0]] * 2)
    rows = played.placed(played.table, blind(played.schema)[0])
    assert len(found) == 3
    for one in found:
        np.testing.assert_allclose(one.averages.mean(axis=0), rows.mean(axis=0), atol=1e-6)


@pytest.mark.parametrize(
    ("rounds", "policy", "share"), [(10, trusting_policy, 1.0), (5, trusting_policy, 0.0), (4, guarding_policy, 0.0)]
)
def test_more_rounds_than_rows_in_a_group_give_all_columns_to_who_knows_two(rounds, policy, share):
    """Groups of ``min_group`` = 5 rows do not survive ten rounds, so only a trusted server may ask for them."""
    found = joint_rounds(scene(Defence(fb.Interpolation(rounds=rounds), policy("interpolation"))))
    # The owner draws its t afresh, and with it near ties between groups, of which one or the other is guessed wrongly.
    assert (found.value, found.holds) == (pytest.approx(share, abs=0.2 * share), None)


def test_odd_rows_are_read_off_exact_cards_only():
    """A lone cell, level, class or mark, and two columns that differ in one row; off guarded cards none is read."""
    assert card_rows(scene(TRUSTED_CARDS)).value == 1.0
    found = card_rows(scene(GUARDED_CARDS))
    assert (found.value, found.limit, found.holds) == (0.0, 0.0, True)


def test_odd_rows_are_not_read_through_noise():
    pytest.importorskip("dp_accounting")
    found = card_rows(scene(PRIVATE_CARDS))
    assert (found.value, found.limit, found.holds) == (0.0, 0.0, True)


# --- membership ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("defence", [TRUSTED, OPEN_INTERPOLATION], ids=lambda d: d.asked.name)
def test_a_known_row_is_found_where_nobody_guards(defence):
    assert membership(scene(defence)).value > 0.9


@pytest.mark.parametrize("defence", [PRIVATE, NOISY_CARDS], ids=lambda d: d.asked.name)
def test_a_known_row_is_not_found_through_noise(defence):
    found = membership(scene(defence))
    assert found.holds
    assert found.limit < 0.017


def test_guards_of_cards_do_not_hide_a_known_row_from_who_knows_all_others():
    known, *_ = neighbours(scene(GUARDED_CARDS))
    assert (known.value, known.limit) == (1.0, None)


def test_exact_answers_have_no_epsilon_and_private_ones_keep_theirs():
    known, epsilon, _ = neighbours(scene(TRUSTED))
    assert known.value == 1.0
    assert epsilon.low > 1.0
    known, epsilon, _ = neighbours(scene(PRIVATE))
    assert known.holds
    assert epsilon.holds
    assert epsilon.limit == 0.5


def test_noise_that_is_too_small_breaks_the_promise(monkeypatch):
    """The audit would notice: ε = 8 where 0.5 is claimed."""
    from fedbary.protocols.sketch import Sketch

    honest = Sketch.client
    monkeypatch.setattr(
        Sketch,
        "client",
        lambda self, *a, **k: honest(fb.Sketch(epsilon=8.0, policy="dp", numbers=False), *a, **k),
        raising=True,
    )
    _, epsilon, _ = neighbours(scene(PRIVATE, trials=120))
    assert epsilon.holds is False


# --- inference ----------------------------------------------------------------------------------------


def test_the_label_of_a_known_row_is_read_from_exact_answers_only():
    assert attribute(scene(TRUSTED)).value == 1.0
    found = attribute(scene(PRIVATE))
    assert found.holds
    assert found.limit < 0.63


@pytest.mark.parametrize("defence", [TRUSTED, COARSEN, GUARDED_CARDS, INTERPOLATION], ids=lambda d: d.asked.name)
def test_counts_are_read_to_a_row_from_all_exact_answers(defence):
    assert counts(scene(defence)).value > 0.95


@pytest.mark.parametrize("defence", [PRIVATE, NOISY_CARDS], ids=lambda d: d.asked.name)
def test_counts_are_not_read_through_noise(defence):
    assert counts(scene(defence)).holds


# --- side channels ------------------------------------------------------------------------------------


def test_odd_rows_change_the_outcome_of_exact_answers():
    assert refusals(scene(Defence(fb.Sketch(), None))).value > 0.0


@pytest.mark.parametrize("defence", [PRIVATE, NOISY_CARDS], ids=lambda d: d.asked.name)
def test_with_noise_no_odd_row_changes_the_outcome(defence):
    found = refusals(scene(defence))
    assert (found.value, found.holds) == (0.0, True)


def test_an_owner_who_is_slower_with_a_row_is_noticed(monkeypatch):
    quick, target, clock = Owner.ask, scene(PRIVATE), Clock()
    row = target.table.take([target.target]).columns["age"][0]

    def slow(self, message):
        clock.sleep(0.05 * (row in self.table.columns["age"]))
        return quick(self, message)

    monkeypatch.setattr(Owner, "ask", slow)
    monkeypatch.setattr("fedbary.auditing.inference.time", clock)
    *_, seconds = neighbours(scene(PRIVATE, trials=40))
    assert seconds.value > 0.8
    assert seconds.holds is False


def test_the_form_of_an_answer_is_everything_but_its_numbers():
    played = scene(COARSEN)
    with played.defence.owner(played.table, np.random.default_rng(0)) as owner:
        first, again = owner.ask(played.honest), owner.ask(played.honest)
    assert isinstance(again, Failure)
    assert form(first) != form(again)
    assert form(first)[0] == sorted(first.scalars)


def test_a_model_that_speaks_of_one_row_tells_its_label_to_a_server_that_is_trusted_only():
    """All numbers about rows are among what an audit looks at, and the model is the attacker's."""
    data = fb.datasets.load("breast-cancer")
    trusted, guarded = (
        attribute(Scene(data.train, data.test, Defence(fb.Sketch(policy=policy), None), 60, 0))
        for policy in ("trusted", "coarsen")
    )
    assert trusted.value > 0.95
    assert guarded.value < 0.7


def test_the_model_that_looks_for_a_row_is_one_that_owners_judge_by():
    """A question that is refused for its form alone would prove nothing."""
    breast = fb.datasets.load("breast-cancer")
    scene = Scene(breast.train.take(range(100)), breast.test, Defence(fb.Sketch(), None), 20, 0)
    question = sketch_near(scene, scene.points[scene.target])
    others = scene.table.take([*np.delete(np.arange(100), scene.target), 0])
    shares = []
    for table in (scene.table, others):
        with scene.defence.owner(table, np.random.default_rng(0)) as owner:
            shares.append(owner.ask(question).scalars["wrong_labels"])
    assert shares[0] > shares[1]
