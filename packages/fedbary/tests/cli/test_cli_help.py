"""Every command teaches itself: help that fits, an example that parses, no jargon."""

import re
import shlex

import pytest
import typer

from fedbary.cli.app import app

pytest_plugins = ["cli_fixtures"]

ROOT = typer.main.get_command(app)
JARGON = ("FedbaryError", "callback", "joblib", "kwargs", "dataclass", "loky", "None", "TODO", "γ", "η", "tuple")


def walk(command, path=()):
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from walk(inner, (*path, name))


COMMANDS = dict(walk(ROOT))
IDS = [" ".join(path) or "fedbary" for path in COMMANDS]


@pytest.mark.parametrize("path", COMMANDS, ids=IDS)
def test_help_fits_80_columns_and_has_an_example_without_jargon(fedbary, monkeypatch, path):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = fedbary(*path, "--help")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "\n" not in COMMANDS[path].help.replace("\n\n", "")  # so that any terminal can wrap it
    assert ("Example:  fedbary " + " ".join(path) if path else "Start with:  fedbary demo") in out
    assert [word for word in JARGON if re.search(rf"\b{re.escape(word)}\b", out)] == []
    assert fedbary(*path, "-h")[:2] == (0, out)


@pytest.mark.parametrize("path", [("value",), ("rows",), ("policy", "check")], ids=" ".join)
def test_arguments_are_explained(fedbary, path):
    panel = fedbary(*path, "--help")[1].partition("Arguments")[2].partition("Options")[0]
    assert re.search(r"(files|folder|file)\S* .*[a-z] [a-z]", panel)


@pytest.mark.parametrize("path", [path for path in COMMANDS if path], ids=IDS[1:])
def test_every_example_parses(path):
    text = COMMANDS[path].epilog.removeprefix("Example:  ").replace("\\\n", " ")
    program, *words = shlex.split(text)
    assert program == "fedbary"
    command = ROOT
    with typer.Context(ROOT, info_name="fedbary"):
        while hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        assert command.make_context("example", words).args == []


@pytest.mark.parametrize("path", [path for path in COMMANDS if path], ids=IDS[1:])
def test_the_shared_options_are_everywhere(path):
    options = {name for parameter in COMMANDS[path].params for name in parameter.opts}
    assert {"--quiet", "--verbose", "--log"} <= options


@pytest.mark.parametrize(
    "path",
    [
        *(("value",), ("rows",), ("check",), ("preview",)),
        *(("audit",), ("ledger",), ("policy", "check"), ("federation", "status"), ("demo",), ("doctor",), ("watch",)),
        *(("ask",), ("answer",), ("card",), ("show",), ("federation", "run"), ("federation", "doctor")),
    ],
    ids=" ".join,
)
def test_what_prints_results_prints_json(path):
    assert any("--json" in parameter.opts for parameter in COMMANDS[path].params)
