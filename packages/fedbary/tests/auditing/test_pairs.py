"""Two questions of one table tell nothing that the better one of them does not tell alone."""

import numpy as np
import pytest

import fedbary as fb
from audit_policies import guarding_policy, private_policy
from fedbary.auditing.owner import Defence, undisturbed
from fedbary.auditing.pairs import CELLS, MOST_TRIALS, SECRETS, Asked, Asker, PairGame, Told, pairs
from fedbary.auditing.scene import Scene

OTHER = "another label"
DEFAULT = Defence(fb.Cards(), fb.OwnerPolicy())
UNGUARDED = Defence(fb.Cards(), None)
# All versions, engines and labels; what subtracts, and in both orders.
ENGINES = [("local", "local"), ("files", "files"), ("node", "node"), ("files", "node"), ("node", "files")]
QUESTIONS = [
    ("card", "sketch"),
    ("sketch", "card"),
    ("card", "evidence"),
    ("sketch", "evidence"),
    ("evidence", "sketch"),
]


def people(rows, seed, *, numbers=False):
    rng = np.random.default_rng(seed)
    labels = rng.normal(size=rows) if numbers else rng.choice(["ill", "well"], rows)
    return fb.Table.from_arrays(rng.normal(size=(rows, 2)), labels)


def scene(defence=DEFAULT, trials=60, **options):
    return Scene(people(120, 1, **options), people(60, 2, **options), defence, trials, seed=0)


def marks_read(played, pair, kind, world, seed=0):
    """The marks of the secret row that subtraction gives, and how far they lead to the right one of two rows."""
    game, rng = PairGame(played, Asker(played), kind), np.random.default_rng(seed)
    with undisturbed(), played.defence.owner(game.table(world, rng), rng) as owner:
        marks = game.subtracted(*game.told(owner, pair))
    return marks, game.towards(marks) * (2 * world - 1), game.worlds[world]


# --- the attack itself --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["added row", "removed row", "edited cell"])
@pytest.mark.parametrize("world", [0, 1])
def test_where_nobody_guards_subtraction_reads_every_cell(kind, world):
    marks, _, truth = marks_read(scene(UNGUARDED), (Asked("card"), Asked("card")), kind, world)
    np.testing.assert_array_equal(marks, truth)


@pytest.mark.parametrize(("first", "second"), [("card", "interpolation"), ("sketch", "card"), ("sketch", "evidence")])
def test_every_question_counts_the_same_marks(first, second):
    """With a server that is trusted all answers are of all rows, and differ in the row that came."""
    policy = fb.OwnerPolicy(protocols=("sketch", "cards", "interpolation"), trust_server=True, max_questions=9)
    marks, _, truth = marks_read(scene(Defence(fb.Cards(), policy)), (Asked(first), Asked(second)), "added row", 1)
    told = slice(1 if second == "evidence" else CELLS)
    np.testing.assert_array_equal(marks[told], truth[told])


def test_answers_that_differ_in_more_than_a_row_are_not_taken_for_one():
    assert np.isnan(Told(5.0, 2.0**18 + 0.3, 90.0).less(Told(5.0, 0.0, 90.0))[1:]).all()
    assert np.isnan(Told().less(Told(1.0, 1.0, 1.0))).all()


def test_a_mean_is_taken_for_that_of_as_many_rows_as_make_it_whole():
    """A server knows how many rows a table has, and how many a card is made of: one of them is behind a sketch."""
    for rows in (89.0, 90.0):
        found = Told(rows=90.0, mean=13.0 / rows).less(Told(0.0, 12.0, 89.0))
        np.testing.assert_array_equal(found, np.eye(CELLS)[1])


# --- what is promised ---------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["", OTHER], ids=["same label", "another label"])
@pytest.mark.parametrize("engines", ENGINES, ids="-".join)
@pytest.mark.parametrize("questions", QUESTIONS, ids="-".join)
@pytest.mark.parametrize("kind", SECRETS)
def test_no_pair_of_questions_leads_to_the_row(kind, questions, engines, label):
    """Exact answers of one lineage are made of the same rows, whatever asks, and whenever."""
    pair = Asked(questions[0], engines[0]), Asked(questions[1], engines[1], label)
    assert not all(marks_read(scene(), pair, kind, world, seed)[1] > 0.0 for seed, world in enumerate([0, 1] * 3))


@pytest.mark.parametrize(("kind", "numbers"), [("hidden row", False), ("added row", True)])
def test_the_default_policy_keeps_the_promise_about_pairs(kind, numbers):
    played = scene(trials=MOST_TRIALS - 1, numbers=numbers)  # in one process alone
    with undisturbed():
        found = PairGame(played, Asker(played), kind).finding()
    assert found.holds, str(found.what)
    assert found.what.facts["read"] < 0.1


def test_every_secret_has_a_line_and_numbers_have_no_lone_class(monkeypatch):
    monkeypatch.setattr(PairGame, "finding", lambda game: game._kind)
    assert pairs(scene()) == SECRETS
    assert set(SECRETS) - set(pairs(scene(numbers=True))) == {"lone class"}


@pytest.mark.parametrize(
    "defence",
    [
        Defence(fb.Sketch(), guarding_policy()),
        Defence(fb.Sketch(epsilon=0.5), private_policy(0.5)),
        Defence(fb.Interpolation(rounds=4), guarding_policy("interpolation")),
    ],
    ids=lambda defence: defence.asked.name,
)
def test_a_table_with_all_its_versions_is_asked_once(defence):
    played = scene(defence, trials=20)
    with undisturbed():
        found = PairGame(played, Asker(played), "added row").finding()
    assert found.holds
    assert found.limit >= 0.5


def test_of_a_server_that_is_trusted_nothing_is_claimed():
    played = scene(Defence(fb.Cards(), fb.OwnerPolicy(trust_server=True, max_questions=2)), trials=20)
    with undisturbed():
        found = PairGame(played, Asker(played), "added row").finding()
    assert (found.value, found.limit, found.holds, found.what.facts["read"]) == (1.0, None, None, 1.0)
