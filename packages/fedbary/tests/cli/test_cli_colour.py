"""Escape codes: none in files and pipes, none with NO_COLOR or TERM=dumb, whatever FORCE_COLOR says."""

import json
import os
import pty
import subprocess

import pytest
from cli_fixtures import FEDBARY

pytest_plugins = ["cli_fixtures"]

COLOURS = ("\x1b[3", "\x1b[1;3", "\x1b[9")


def on_a_terminal(arguments, cwd, **environment):
    """What the command prints to a real (pseudo) terminal of 80 columns."""
    leader, follower = pty.openpty()
    names = ("NO_COLOR", "FORCE_COLOR", "TERM")
    env = {name: value for name, value in os.environ.items() if name not in names} | {"COLUMNS": "80"} | environment
    with subprocess.Popen(
        [FEDBARY, *map(str, arguments)], cwd=cwd, env=env, stdin=follower, stdout=follower, stderr=follower
    ) as process:
        os.close(follower)
        parts = []
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:  # Linux says so when the last writer is gone
                break
            if not part:
                break
            parts.append(part)
        process.wait(300)
    os.close(leader)
    return b"".join(parts).decode("utf-8", "replace")


@pytest.fixture
def commands(fedbary, sites, tmp_path):
    value = ("value", sites, "--label", "ill", "--id", "id", "--reference", "reference.csv")
    assert fedbary(*value, "-o", "out")[0] == 0
    return {
        "help": ("--help",),
        "value --help": ("value", "--help"),
        "rows": ("rows", "out", "--client", "north"),
        "doctor": ("doctor",),
        "value": (*value, "-o", "again"),
        "error": ("vlaue",),
    }


def test_pipes_get_plain_text(commands, shell):
    for name, arguments in commands.items():
        done = shell(*arguments)
        assert "\x1b" not in done.stdout + done.stderr, name


@pytest.mark.parametrize(
    "environment", [{"NO_COLOR": "1", "FORCE_COLOR": "1", "TERM": "xterm-256color"}, {"TERM": "dumb"}]
)
def test_a_terminal_without_colour_gets_none(commands, tmp_path, environment):
    for name, arguments in commands.items():
        out = on_a_terminal(arguments, tmp_path, **environment)
        assert not any(code in out for code in COLOURS), (name, out)
        if environment.get("TERM") == "dumb":
            assert "\x1b" not in out, (name, out)


def test_json_is_plain_even_where_colour_is_forced(shell, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert json.loads(shell("doctor", "--json").stdout)["findings"]


def test_a_terminal_with_colour_gets_some(tmp_path):
    assert any(code in on_a_terminal(("--help",), tmp_path, TERM="xterm-256color") for code in COLOURS)
