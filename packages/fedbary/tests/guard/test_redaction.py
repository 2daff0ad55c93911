"""What is an owner's own never leaves in words, and words from elsewhere decide nothing."""

import json
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fedbary.filling import COMMAND, PYTHON
from fedbary.notes import Note, notes_from_text, notes_to_text
from fedbary.sentences import AREAS, area
from fedbary.wording import is_plain

SECRET = "Ann', Brown 1961"
SENTENCES = {f"{name}.{what}": said for name in AREAS for what, said in area(name).items()}
UNKNOWN = "for a reason that this version of fedbary does not know"


# --- by field -----------------------------------------------------------------------------------------


def harmless(template):
    """Facts for a sentence that fit its formats and hold no secret."""
    facts = {}
    for part in template.replace("[[", "").replace("]]", "").split("|"):
        for _, name, form, _ in string.Formatter().parse(part):
            if name:
                how = (form or "").split(" ")[0]
                facts[name] = ("shown",) if how in ("quoted", "listed") else 2 if form else "shown"
    return facts


def test_no_private_fact_of_any_sentence_is_shown_once_it_is_redacted():
    wrong = []
    for code, said in SENTENCES.items():
        try:
            assert_redacted(code, said)
        except Exception as error:
            wrong.append(f"{code}: {error}")
    assert not wrong, "\n".join(wrong)


def assert_redacted(code, said):
    named = {**harmless(said.text), **harmless(said.command)}
    private = dict.fromkeys({*named, "where"} - said.public, SECRET)
    note = Note(code, named | private)
    redacted = note.redacted()
    assert redacted.facts.keys() == named.keys() & said.public
    for shown in (redacted.text(PYTHON), redacted.text(COMMAND), redacted.to_text(), repr(redacted)):
        assert "Brown" not in shown
    assert Note.from_json(json.loads(redacted.to_text())) == redacted
    assert "Brown" in str(note)  # otherwise the test would prove nothing


def test_a_note_within_a_note_is_redacted_too():
    inner = Note("internal.error", {"kind": "KeyError", "text": SECRET})
    outer = Note("valuation.no-row-values", {"why": inner})
    assert SECRET in str(outer)
    assert outer.redacted().facts == {"why": Note("internal.error", {"kind": "KeyError"})}


# --- from elsewhere -----------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
NOTE_LIKE = st.fixed_dictionaries(
    {"code": st.sampled_from(sorted(SENTENCES)) | st.text(max_size=30)},
    optional={
        "facts": st.dictionaries(st.sampled_from(["count", "least", "classes", "why", "rows"]), JSON, max_size=5)
    },
)


@given(NOTE_LIKE | JSON)
@example({"code": "schema.ignores-columns", "facts": {"count": "many"}})
@example({"code": "schema.lacks-classes", "facts": {"classes": 7, "count": [], "least": float("nan")}})
def test_whatever_is_read_as_a_note_is_plain_and_can_be_shown(content):
    try:
        note = Note.from_json(content)
    except ValueError:
        return
    assert note.code in SENTENCES
    for shown in (note.text(PYTHON), note.text(COMMAND)):
        assert is_plain(shown)
    note.to_text()


def nested(depth):
    note = {"code": "internal.unknown-code"}
    for _ in range(depth):
        note = {"code": "valuation.no-row-values", "facts": {"why": {"note": note}}}
    return note


@pytest.mark.parametrize(
    "content",
    [
        None,
        "no row values",
        [],
        {},
        {"code": 3},
        {"code": "data.no-rows", "facts": []},
        {"code": "data.no-rows", "text": "an extra key"},
        {"code": "data.no-rows", "facts": {"not a name": 1}},
        {"code": "data.no-rows", "facts": {f"f{i}": 1 for i in range(21)}},
        {"code": "internal.error", "facts": {"kind": "a\x1b[31m"}},
        {"code": "internal.error", "facts": {"kind": "a\nb"}},
        {"code": "internal.error", "facts": {"kind": "\ud800"}},
        {"code": "internal.error", "facts": {"kind": "\u202e"}},
        {"code": "internal.error", "facts": {"kind": "x" * 501}},
        {"code": "internal.error", "facts": {"kind": 2**63}},
        {"code": "internal.error", "facts": {"kind": ["x"] * 51}},
        {"code": "internal.error", "facts": {"kind": [["x"]]}},
        {"code": "internal.error", "facts": {"kind": {"text": "x"}}},
        nested(5),
    ],
)
def test_what_is_no_note_is_refused(content):
    with pytest.raises(ValueError, match=r"note|fact"):
        Note.from_json(content)


def test_depths_that_would_exhaust_the_stack_and_endless_lists_are_refused():
    with pytest.raises(ValueError, match="deep"):
        notes_from_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(ValueError, match="short list"):
        notes_from_text(notes_to_text((Note("data.no-rows"),) * 51))
    assert notes_from_text(json.dumps([nested(3)]))


@pytest.mark.parametrize("code", ["weather.rain", "data.no-such-code", "", "data", "os.system", "sentences.say"])
def test_an_unknown_code_says_no_more_than_that(code):
    note = Note.from_json({"code": code, "facts": {"text": "free words"}})
    assert note == Note("internal.unknown-code")
    assert str(note) == UNKNOWN == str(Note("weather.rain", {"text": "free words"}))


@given(st.text(st.characters(), max_size=600), st.lists(st.text(st.characters(), max_size=30), max_size=80))
def test_what_is_written_can_be_read_whatever_a_column_is_called(name, names):
    note = Note("schema.columns-missing", {"where": name, "missing": tuple(names), "count": len(names), "extra": None})
    read = notes_from_text(notes_to_text((note,)))[0]
    assert (read.code, read.facts["count"], len(read.facts["missing"])) == (note.code, len(names), min(len(names), 50))
    assert is_plain(str(read))
