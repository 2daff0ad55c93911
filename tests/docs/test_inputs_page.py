"""Every line of the tables in docs/inputs.md works, on real files and with the real objects."""

import re

import pytest
import shell
from input_files import ROOT, penguins, write_inputs

from postgres import postgres

PAGE = ROOT / "docs" / "inputs.md"
_LINE = re.compile(r"^\| (?P<what>[^|]+) \| `(?P<line>.+)` \|$", re.MULTILINE)
LINES = [(found["what"], found["line"].replace("\\|", "|")) for found in _LINE.finditer(PAGE.read_text("utf-8"))]
COMMANDS = [line for line in LINES if line[1].startswith("fedbary ")]
PYTHON = [line for line in LINES if line[1].startswith(("fb.", "list(fb."))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("inputs")
    write_inputs(home)
    return home


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """A PostgreSQL server with the penguins in it."""
    with postgres(tmp_path_factory.mktemp("pg"), birds=penguins()) as url:
        yield url


@pytest.mark.parametrize("line", [line for _, line in COMMANDS], ids=[what for what, _ in COMMANDS])
def test_a_command_works(folder, tmp_path, request, monkeypatch, line):
    if "$DATABASE" in line:
        monkeypatch.setenv("DATABASE", request.getfixturevalue("database"))
    monkeypatch.setenv("FEDBARY_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(folder)
    code, said = shell.run(line + (f" -o {tmp_path}/out" if line.startswith("fedbary value") else ""))
    assert code == 0, said
    assert "Traceback" not in said


@pytest.mark.parametrize("line", [line for _, line in PYTHON], ids=[what for what, _ in PYTHON])
def test_a_line_of_python_works(folder, monkeypatch, line):
    from input_objects import names

    monkeypatch.chdir(folder)
    result = eval(line, names(line))
    assert result is not None
    if hasattr(result, "failed"):
        assert not result.failed


def test_every_row_of_both_tables_is_run():
    text = PAGE.read_text("utf-8")
    tables = [part.split("\n\n")[0].strip().splitlines()[1:] for part in text.split("| you have | you type |")[1:]]
    assert [len(COMMANDS), len(PYTHON)] == [len(rows) for rows in tables]
