"""One message is one file: the same bytes for the same content, and whatever else comes is refused by its name."""

import json
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codes import coded
from fedbary.data.atomic import write_arrays
from fedbary.engines.files.message_file import FileKind, MessageFile, save_answer, save_question
from fedbary.errors import DataError, SettingsError
from fedbary.forms import text_array
from fedbary.guard.node import Envelope
from fedbary.notes import Note
from fedbary.protocols.messages import Failure, Message, Reply
from fedbary.valuation.outcome import Status

ASKED = Envelope("ab" * 16, "step", 3, 2, settings="{}", nonce="cd")
ARRAYS = {"x": np.arange(6.0).reshape(2, 3), "codes": np.array([1, 2])}


@pytest.fixture
def question(tmp_path):
    return save_question(Message("step", 3, {"a": True, "b": 0.1, "c": "ä"}, ARRAYS), ASKED, tmp_path / "q.fb")


def test_a_question_comes_back_to_the_last_bit(question):
    message, envelope = MessageFile.load(question, FileKind.QUESTION).message()
    assert (message.kind, message.round, dict(message.scalars)) == ("step", 3, {"a": True, "b": 0.1, "c": "ä"})
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(message.arrays[name], array, strict=True)
    assert envelope == ASKED


def test_an_answer_comes_back_with_its_notes(tmp_path):
    notes = (Note("schema.lacks-classes", {"least": 5, "count": 1, "classes": ("b",)}),)
    own = Envelope("ab" * 16, "step", 3, 2, name="north", nonce="cd", flagged=7)
    found, envelope = MessageFile.load(
        save_answer(Reply(3, {"rows": 4}, ARRAYS, notes), own, tmp_path / "n.answer")
    ).reply()
    assert (found.round, dict(found.scalars), found.notes) == (3, {"rows": 4}, notes)
    assert envelope == own


def test_a_failure_leaves_as_a_code_with_public_facts(tmp_path):
    failure = Failure(Note("internal.error", {"kind": "KeyError", "text": "'Ann'"}), Status.REFUSED)
    file = save_answer(failure, ASKED, tmp_path / "n.answer")
    assert b"Ann" not in file.read_bytes()
    found, _ = MessageFile.load(file).reply()
    assert (found.status, found.note.facts) == (Status.REFUSED, {"kind": "KeyError"})


def test_the_same_content_is_the_same_bytes(question, tmp_path):
    message, envelope = MessageFile.load(question).message()
    assert save_question(message, envelope, tmp_path / "again.fb").read_bytes() == question.read_bytes()


@given(at=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_no_flipped_bit_is_read_as_another_message(tmp_path_factory, at, bit):
    folder = tmp_path_factory.mktemp("bits")
    file = save_question(Message("step", 3, {"b": 0.1}, ARRAYS), ASKED, folder / "q.fb")
    honest = MessageFile.load(file)
    content = bytearray(file.read_bytes())
    content[at % len(content)] ^= 1 << bit
    file.write_bytes(content)
    try:
        found = MessageFile.load(file)
    except DataError:
        return
    assert found.digest == honest.digest  # what the bit is in, such as a date of the archive, means nothing


@pytest.mark.parametrize("length", [0, 1, 100, 400, -30, -1])
def test_a_truncated_file_is_named(question, length):
    question.write_bytes(question.read_bytes()[:length])
    with pytest.raises(DataError) as caught:
        MessageFile.load(question)
    assert caught.value.code in ("engines.file-damaged", "engines.file-not-ours")
    assert str(question) in str(caught.value)


def rewritten(file, change):
    """The file with another head, its digest as it was."""
    with zipfile.ZipFile(file) as archive:
        head = json.loads(archive.read("fedbary.npy").split(b"\n", 1)[1])
    change(head)
    return write_arrays(file, {"fedbary": text_array(json.dumps(head)), **{f"array.{k}": v for k, v in ARRAYS.items()}})


def test_another_version_says_which(question):
    rewritten(question, lambda head: head.update(version=2))
    with pytest.raises(DataError, check=coded("engines.file-other-version")) as caught:
        MessageFile.load(question)
    assert caught.value.private["version"] == "2"


def test_a_changed_number_is_noticed(question):
    rewritten(question, lambda head: head["scalars"].update(b=0.2))
    with pytest.raises(DataError, check=coded("engines.file-damaged")):
        MessageFile.load(question)


def test_numbers_that_are_not_finite_are_named(tmp_path):
    file = save_question(Message("step", 0, {}, {"x": np.array([1.0, np.nan])}), ASKED, tmp_path / "q.fb")
    with pytest.raises(DataError, check=coded("engines.file-not-finite")) as caught:
        MessageFile.load(file)
    assert caught.value.private["name"] == "x"


def test_another_kind_is_named(question):
    with pytest.raises(DataError, check=coded("engines.file-other-kind")) as caught:
        MessageFile.load(question, FileKind.CARD, FileKind.ANSWER)
    assert caught.value.private["kind"] == "question"


def test_the_suffix_is_that_of_the_kind(tmp_path):
    with pytest.raises(SettingsError, check=coded("engines.file-suffix")):
        save_question(Message("step", 0), ASKED, tmp_path / "q.answer")


def test_there_is_no_pickle_in_it(tmp_path):
    np.savez(tmp_path / "bad.npz", fedbary=np.array([{"kind": "sketch"}], dtype=object))
    with pytest.raises(DataError, check=coded("engines.file-damaged")):
        MessageFile.load(tmp_path / "bad.npz")


def test_a_file_that_is_not_there_and_one_that_is_no_message(tmp_path):
    with pytest.raises(DataError, check=coded("engines.no-file")):
        MessageFile.load(tmp_path / "none.fb")
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, check=coded("engines.file-not-ours")):
        MessageFile.load(tmp_path / "table.csv")
    np.savez(tmp_path / "other.npz", x=np.arange(3))
    with pytest.raises(DataError, check=coded("engines.file-not-ours")):
        MessageFile.load(tmp_path / "other.npz")
