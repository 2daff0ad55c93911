"""Cards that left leave again, and no two exact answers of a table, whatever its versions, show few rows."""

import numpy as np
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import DataError, PrivacyError
from fedbary.guard.guarded_client import GuardedClient, reply_digest
from fedbary.guard.ledger import Ledger
from fedbary.guard.policy import OwnerPolicy
from fedbary.protocols.cards.client import card_of
from fedbary.protocols.messages import Message, Reply
from fedbary.space.columns import ColumnSpec
from fedbary.space.labels import LabelSpec

CARD = Message("card", 0)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.jsonl")


def rows(count, seed=0, width=3):
    rng = np.random.default_rng(seed)
    return fb.Table.from_arrays(rng.normal(size=(count, width)), np.array(["a", "b"])[rng.integers(0, 2, count)])


def joined(*tables):
    return fb.Table.from_arrays(
        np.concatenate([table.columns["x"] for table in tables]), np.concatenate([table.labels for table in tables])
    )


def owner(table, ledger, run="may", asked=None, seed=1, **policy):
    return GuardedClient.for_table(
        table, asked or fb.Cards(), policy=OwnerPolicy(**policy), ledger=ledger, run=run, seed=seed
    )


def lines(ledger):
    """Without those of answers that cost nothing."""
    return [line.what for line in ledger.read().entries if line.what != "free"]


def test_a_card_is_one_question_and_leaves_again_for_free(ledger):
    first = owner(rows(100), ledger).answer(CARD)
    again = owner(rows(100), ledger, run="june", asked=fb.Cards(worth=True, robust=False)).answer(CARD)
    assert reply_digest(first) == reply_digest(again)
    assert lines(ledger) == ["question", "reply"]


def test_other_rows_do_not_change_what_leaves_until_the_owner_decides(ledger):
    first = owner(rows(100), ledger).answer(CARD)
    edited = joined(rows(100), rows(100, seed=5))
    assert reply_digest(owner(edited, ledger, run="june").answer(CARD)) == reply_digest(first)
    ledger.allow("cards", 1, 0.0, "new rows")
    assert reply_digest(owner(edited, ledger, run="july").answer(CARD)) != reply_digest(first)


@pytest.mark.parametrize(
    ("change", "another"),
    [
        (lambda old: joined(old, rows(1, seed=9)), False),
        (lambda old: old.take(range(1, 100)), False),
        (lambda old: joined(old.take(range(1, 100)), rows(40, seed=9)), False),
        (lambda old: old.take(np.random.default_rng(0).permutation(100)), False),
        (lambda old: joined(old, old), False),
        (lambda old: joined(old, rows(40, seed=9)), True),
        (lambda old: old.take(range(60)), False),
    ],
    ids=["one more", "one less", "one less and many more", "another order", "copies", "many more", "many less"],
)
def test_a_new_version_leaves_only_where_enough_rows_came_and_none_went(ledger, change, another):
    old = rows(100)
    first = owner(old, ledger).answer(CARD)
    ledger.allow("cards", 1, 0.0, "corrected")
    second = owner(change(old), ledger, run="june").answer(CARD)
    assert (reply_digest(second) != reply_digest(first)) == another
    assert lines(ledger) == ["question", "reply", "allow", "question", "reply"]


def test_the_difference_of_two_cards_was_a_row(ledger):
    """The attack that the rule stops: two exact cards of tables that differ in one row."""
    from fedbary.protocols.cards.exact_card import exact_card

    old, new = rows(100), rows(1, seed=9)
    before, after = (exact_card(table).about(np.zeros(3)) for table in (old, joined(old, new)))
    assert np.allclose((after.sums - before.sums).sum(axis=0), new.columns["x"][0])
    first = owner(old, ledger).answer(CARD)
    ledger.allow("cards", 1, 0.0, "one patient more")
    second = owner(joined(old, new), ledger, run="june").answer(CARD)
    assert all(np.array_equal(first.arrays[name], second.arrays[name]) for name in first.arrays)


def test_a_row_that_came_while_a_column_of_all_rows_was_edited_is_not_read(ledger):
    """Days since admission grow: all rows went, all came, and the other columns differed by the new row."""

    def version(count, later):
        table = rows(101).take(range(count))
        days = np.random.default_rng(1).integers(1, 400, 101)[:count] + later
        return fb.Table({"x": table.columns["x"], "days": days}, table.labels)

    first = card_of(owner(version(100, later=0), ledger).answer(CARD))
    ledger.allow("cards", 1, 0.0, "june")
    second = card_of(owner(version(101, later=30), ledger, run="june").answer(CARD))
    differs = np.subtract(*(card.about(np.zeros(4)).sums.sum(axis=0) for card in (second, first)))
    assert not np.allclose(differs[1:], rows(101).columns["x"][100])
    assert not differs.any()


def test_what_is_left_of_a_class_is_no_class_of_one(ledger):
    """Thirty of 31 rows went: they were enough to be told, and so the one that stayed was a class of its own."""
    table = rows(300)
    table = table.replace(labels=np.array(["a"] * 31 + ["b"] * 269, dtype=object))
    owner(table, ledger).answer(CARD)
    ledger.allow("cards", 1, 0.0, "june")
    card = card_of(owner(table.take(range(30, 300)), ledger, run="june").answer(CARD))
    assert card.counts.min() >= 5


def test_products_of_columns_need_many_new_rows(ledger):
    old = rows(400, width=10)
    assert card_of(owner(old, ledger).answer(CARD)).full
    for run, more, full in (("june", 40, False), ("july", 120, True)):
        ledger.allow("cards", 1, 0.0, "new rows")
        old = joined(old, rows(more, seed=more, width=10))
        assert card_of(owner(old, ledger, run=run).answer(CARD)).full == full


@pytest.mark.parametrize("steps", [(50, 100), (200, 40, 40)])
def test_a_row_that_came_with_few_others_is_not_read_off_products_of_many(ledger, steps):
    """Among few rows none is left out for a combination that it breaks, as no products are told; then many came."""
    parts = []
    for place, count in enumerate(steps):
        part = rows(count, seed=place, width=12)
        part.columns["x"][:, -1] = part.columns["x"][:, :2].sum(axis=1)
        parts.append(part)
    few = min(range(len(steps)), key=steps.__getitem__)
    parts[few].columns["x"][7, -1] += 1.5
    for upto in range(1, len(parts) + 1):
        card = card_of(owner(joined(*parts[:upto]), ledger, run=str(upto), max_questions=3).answer(CARD))
        ledger.allow("cards", 1, 0.0, "new rows")
    broken = np.array([-1.0, -1.0, *[0.0] * 9, 1.0])
    assert not card.full or broken @ card.about(np.zeros(12)).second @ broken < 1e-9


def test_one_new_row_with_a_level_is_not_read_off_two_cards(ledger):
    """Sums over a level differ by the one new row that has it."""

    def levelled(table, levels):
        columns = {f"x{column}": table.columns["x"][:, column] for column in range(3)}
        return fb.Table({**columns, "level": levels}, table.labels)

    old, new = rows(200), rows(100, seed=9)
    levels = np.array(["p", "q"] * 100, dtype=object)
    more = np.array(["q"] + ["p"] * 99, dtype=object)
    first = card_of(owner(levelled(old, levels), ledger).answer(CARD))
    assert first.full
    ledger.allow("cards", 1, 0.0, "new rows")
    both = levelled(joined(old, new), np.concatenate([levels, more]))
    second = card_of(owner(both, ledger, run="june").answer(CARD))
    assert second.columns == first.columns
    of_q = [card.about(np.zeros(card.width)).sums[:, 1].sum() for card in (first, second)]
    assert second.full
    assert of_q[0] == pytest.approx(of_q[1])


def test_another_min_group_is_no_other_card(ledger):
    first = owner(rows(100), ledger, max_questions=2).answer(CARD)
    second = owner(rows(100), ledger, run="june", asked=fb.Cards(min_group=9), max_questions=2).answer(CARD)
    assert reply_digest(first) == reply_digest(second)


def test_consent_is_that_of_today(ledger):
    first = card_of(owner(rows(100), ledger, share_card_with_others=True).answer(CARD))
    again = card_of(owner(rows(100), ledger, run="june").answer(CARD))
    assert (first.shared, again.shared) == (True, False)
    assert np.array_equal(first.second, again.second)
    assert lines(ledger) == ["question", "reply"]


def test_a_server_that_is_trusted_does_not_share_what_its_owner_does_not(ledger):
    assert not card_of(owner(rows(100), ledger, trust_server=True).answer(CARD)).shared


def test_after_a_reset_the_rows_are_others(ledger):
    first = owner(rows(100), ledger).answer(CARD)
    assert ledger.released.is_file()
    ledger.reset("another table")
    assert not ledger.released.exists()
    second = owner(rows(101), ledger, run="june").answer(CARD)
    assert reply_digest(first) != reply_digest(second)


def test_what_is_kept_can_be_read_by_the_owner_alone_and_holds_no_row(ledger):
    table = rows(100)
    owner(table, ledger).answer(CARD)
    folder = ledger.path.parent / "cards"
    assert folder.stat().st_mode & 0o077 == 0
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert not any(cell.tobytes() in file.read_bytes() for cell in table.columns["x"].ravel())


def test_released_rows_are_the_owner_s_alone_and_damaged_ones_are_not_replaced(ledger):
    owner(rows(100), ledger).answer(CARD)
    (file,) = (ledger.path.parent / "released").iterdir()
    assert not (file.stat().st_mode | file.parent.stat().st_mode) & 0o077
    file.write_bytes(b"PK" + file.read_bytes()[2:200])
    ledger.allow("cards", 1, 0.0, "again")
    with pytest.raises(DataError, check=coded("guard.released-damaged")):
        owner(rows(101), ledger, run="june")
    ledger.reset("damaged")
    assert isinstance(owner(rows(101), ledger, run="july").respond(CARD), Reply)


class Model:
    """An owner's half that answers a model with numbers."""

    def __init__(self, fails=False):
        self.seen, self.fails = [], fails

    def answer(self, message):
        self.seen.append(message.kind)
        if self.fails:
            raise ValueError("row 17")
        return Reply(message.round, {"rows": 100, "wrong_labels": 0.25})

    def state(self):
        return {}


def with_model(ledger, asked, inner, **policy):
    client = owner(rows(100), ledger, run="june", asked=asked, **policy)
    client._inner = inner
    return client


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize(
    ("asked", "policy"),
    [(fb.Cards(epsilon=1.0), {}), (fb.Cards(numbers=False), {}), (fb.Cards(), {"share_numbers": False})],
    ids=["epsilon", "no numbers asked", "no numbers shared"],
)
def test_a_model_is_looked_at_but_nothing_about_it_leaves(ledger, asked, policy, fails):
    inner = Model(fails)
    found = with_model(ledger, asked, inner, **policy).respond(Message("model", 0))
    assert inner.seen == ["model"]
    assert (found.scalars, dict(found.arrays), lines(ledger)) == ({"rows": 100}, {}, [])


@pytest.mark.parametrize("asked", [fb.Cards(epsilon=1.0), fb.Cards(numbers=False)], ids=["epsilon", "no numbers"])
@pytest.mark.parametrize("kind", ["evidence", "flags"])
def test_no_evidence_leaves_beside_the_card(ledger, asked, kind):
    inner = Model()
    found = with_model(ledger, asked, inner).respond(Message(kind, 0))
    assert (inner.seen, found.scalars, dict(found.arrays), lines(ledger)) == ([kind], {}, {}, [])


def test_numbers_leave_once_and_later_models_are_read_at_home(ledger):
    inner, model = Model(), Message("model", 0)
    june, again = (with_model(ledger, fb.Cards(), inner) for _ in range(2))
    first = june.respond(model)
    assert first.scalars["wrong_labels"] == 0.25
    second = again.respond(Message("model", 0, {"other": 1}))
    assert second.scalars == {"rows": 100}
    assert (inner.seen, lines(ledger)) == (["model", "model"], ["question", "reply"])


def test_delta_is_spent_beside_epsilon(ledger):
    asked = fb.Cards(epsilon=0.5, delta=6e-7)
    own = {"epsilon_budget": 2.0, "max_delta": 1e-6}
    for run, schema in (("may", "one"), ("june", "two")):
        client = owner(rows(100), ledger, run=run, asked=asked, **own)
        client._inner, client._cards = Model(), None
        found = client.respond(Message("card", 0, {"public": schema}))
        assert isinstance(found, Reply) == (run == "may")
    assert found.note.code == "guard.delta-spent"
    account = ledger.read()
    assert (account.spent(), account.spent_delta()) == (0.5, 6e-7)
    ledger.allow("cards", 0, 0.0, "one more", delta=2e-7)
    client = owner(rows(100), ledger, run="july", asked=asked, **own)
    client._inner, client._cards = Model(), None
    assert isinstance(client.respond(Message("card", 0, {"public": "two"})), Reply)
    assert ledger.read().spent_delta() == 1.2e-6


def test_other_guards_make_no_other_card_of_the_same_rows(ledger):
    """With 30 rows for a group the class of 20 is left out, and cells are cut off elsewhere."""
    small = fb.Table.from_arrays(np.random.default_rng(3).normal(size=(20, 3)), ["c"] * 20)
    table = joined(rows(200), small)
    first = owner(table, ledger, asked=fb.Cards(min_group=30)).answer(CARD)
    ledger.allow("cards", 1, 0.0, "once more")
    again = owner(table, ledger, run="june", asked=fb.Cards(min_group=5)).answer(CARD)
    assert reply_digest(again) == reply_digest(first)


def test_no_card_differs_by_few_rows_from_any_that_left_before(ledger):
    """Five rows come, then four of them leave with an old one: beside the first card that is one row for another."""
    first, new = rows(200), fb.Table.from_arrays(np.random.default_rng(9).normal(size=(5, 3)), ["a"] * 5)
    old = int(np.flatnonzero(first.labels == "a")[0])
    second = joined(first, new)
    third = second.take([row for row in range(205) if row not in (old, 201, 202, 203, 204)])
    left = []
    for run, table in enumerate((first, second, third)):
        ledger.allow("cards", 1, 0.0, "new rows")
        left.append(reply_digest(owner(table, ledger, run=str(run)).answer(CARD)))
    assert left[0] != left[1]
    assert left[1] == left[2]


def sketch_of(table, read):
    """A question whose one answer packs what ``read`` says of the columns: a sum over rows."""
    columns = tuple(
        ColumnSpec(name, "numeric", 1, (0.0,), (weight**-0.5,), (), (0.0,)) for name, weight in read.items()
    )
    label = LabelSpec(table.label_name, "classes", "onehot", ("a", "b"), weight=0.0)
    schema = fb.Schema(columns=columns, label=label, missing="indicate", shared_mark=False)
    scalars = {"schema": schema.to_json(), "fingerprint": schema.fingerprint, "cap": 1e20}
    arrays = {"points": np.zeros((1, schema.point_width)), "weights": np.ones(1), "variances": np.zeros(1)}
    return Message("sketch", 0, scalars, arrays)


def patients(count, seed=0, **cells):
    rng = np.random.default_rng(seed)
    columns = {"age": rng.integers(18, 95, count) * 1.0, "hiv": (rng.random(count) < 0.3) * 1.0}
    labels = np.array(["a", "b"], dtype=object)[rng.integers(0, 2, count)]
    for name, cell in cells.items():
        if name == "label":
            labels[0] = cell
        else:
            columns[name][0] = cell
    return fb.Table(columns, labels)


READ = {"hiv": 1.0, "age": 1024.0}


def subtracted(first, second, ledger, order):
    """The sum of ``READ`` over the rows of a sketch, less that over the rows of a card, by whoever asks both."""
    for kind in order:
        if kind == "card":
            card = card_of(owner(first if order[0] == "card" else second, ledger, run=kind).answer(CARD))
        else:
            table = first if order[0] == "sketch" else second
            found = owner(table, ledger, run=kind, asked=fb.Sketch()).answer(sketch_of(table, READ))
    about = card.about(np.zeros(card.width))
    squares = dict(zip(("age", "hiv"), np.diag(about.second), strict=True))
    return found.scalars["cost"] * about.counts.sum() - sum(READ[name] * squares[name] for name in READ)


@pytest.mark.parametrize("order", [("card", "sketch"), ("sketch", "card")])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"label": "alone", "age": 55.0, "hiv": 1.0},) * 2,
        ({"age": 55.0, "hiv": 1.0}, {"age": 56.0, "hiv": 1.0}),
    ],
    ids=["a class of one row", "an edited cell"],
)
def test_a_card_and_a_sketch_subtract_to_nothing(ledger, order, first, second):
    assert subtracted(patients(400, **first), patients(400, **second), ledger, order) == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize("order", [("card", "sketch"), ("sketch", "card")])
@pytest.mark.parametrize("fewer", [0, 1], ids=["a row added", "a row removed"])
def test_two_versions_subtract_to_nothing(ledger, order, fewer):
    more, less = patients(400), patients(400).take(range(1, 400))
    first, second = (less, more) if fewer == 0 else (more, less)
    assert subtracted(first, second, ledger, order) == pytest.approx(0.0, abs=1e-3)


def test_without_the_rows_that_were_released_nothing_is_released_anew(ledger):
    owner(rows(100), ledger, trust_server=True).answer(CARD)
    with pytest.raises(PrivacyError, check=coded("guard.released-missing")):
        owner(rows(100), ledger, run="june", asked=fb.Sketch())
    ledger.reset("the server is not trusted any more")
    assert isinstance(owner(rows(100), ledger, run="july"), GuardedClient)


def test_with_another_label_rows_are_not_released_again(ledger):
    table = patients(400)
    owner(table, ledger).answer(CARD)
    other = table.replace(label_name="outcome")
    with pytest.raises(PrivacyError, check=coded("guard.released-label")):
        owner(other, ledger, run="june", asked=fb.Sketch())
    assert isinstance(owner(other, ledger, run="july", asked=fb.Sketch(epsilon=1.0)), GuardedClient)
