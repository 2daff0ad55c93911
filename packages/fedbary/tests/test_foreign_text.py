"""Text of other parties: no regular expression sees it, and time grows with its length and no faster."""

import time
from pathlib import Path

import pytest

import fedbary
from fedbary.data.export import quoted
from fedbary.errors import SchemaError
from fedbary.notes import Note
from fedbary.protocols.messages import Failure
from fedbary.strict_json import read_json
from fedbary.valuation.storage import row_file_names
from fedbary.views.display import as_hover, as_text
from fedbary.wording import as_plain, is_clean, on_one_line, without_control

# Over our own sentences, templates and docstrings, and what the user of this machine types.
OWN_TEXT = {
    "cli/commands/report.py", "cli/ui/command.py", "cli/ui/settings.py",
    "deploy/plan.py", "filling.py",
}  # fmt: skip
# Over the header and cells of an owner's own table, by patterns that never go back in a text.
OWN_TABLE = {
    "checkup/findings.py", "data/files.py", "columns/date.py", "data/formats/csv.py",
    "columns/category.py",
}  # fmt: skip
SOURCE = Path(fedbary.__file__).parent


def test_regular_expressions_are_for_our_own_text():
    using = {
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        if {"import re", "from re import"} & {line.strip()[:14].strip() for line in file.read_text().splitlines()}
    }
    assert using <= OWN_TEXT | OWN_TABLE


def _refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - its words are Python's
        read_json(text, longest=10**9)


@pytest.mark.parametrize("part", ["1", "[]", "{}", "[[[[[[]]]]]]", '""', '{"code":"a.b","facts":{}}'])
def test_a_text_of_many_parts_is_refused_before_it_is_read(part):
    """A server's schema may have 64 MiB; in lists of single digits that took eight seconds and a gigabyte."""
    text = "[" + ",".join([part] * (32 * 2**20 // len(part))) + "]"
    start = time.thread_time()
    _refused(text)
    assert time.thread_time() - start < 1.0


USES = {
    "redacted failure": lambda text: str(Failure.of(SchemaError("schema.other-fingerprint", expected=text)).redacted()),
    "note": lambda text: str(Note("schema.other-fingerprint", {"expected": text, "own": text})),
    "is_clean": is_clean,
    "without_control": without_control,
    "as_plain": lambda text: as_plain(text, 200),
    "on_one_line": on_one_line,
    "cell": quoted,
    "file name": lambda text: row_file_names([text]),
    "axis": as_text,
    "hover": as_hover,
    "json": _refused,
}


@pytest.mark.parametrize("use", USES)
def test_a_long_text_of_anybody_takes_no_time(use):
    """Twenty thousand brackets kept a server busy for minutes."""
    slow = {}
    for piece in ("[", "[[", "{", "+1", "=", "www.", "\u202e", "\ud800", "\\u", '"', "a_", "-9e"):
        started = time.thread_time()
        USES[use](piece * 100_000)
        if (seconds := time.thread_time() - started) >= 1.0:
            slow[piece] = seconds
    assert not slow


@pytest.mark.parametrize(
    ("cell", "harmful"),
    [("-", False), ("+", False), ("-1", False), ("+1.5e-3", False), ("-1.", False), ("-1+1", True), ("-e", True),
     ("--1", True), ("-1e", True), ("+inf", True), ("-1_0", True), ("=1", True), ("@x", True), ("-0", False)],
)  # fmt: skip
def test_signed_numbers_are_no_formulas(cell, harmful):
    assert quoted(cell) == (f"'{cell}" if harmful else cell)
