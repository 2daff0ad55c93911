"""Help, version, and what every kind of ending looks like to a shell."""

import re
import subprocess
import sys

import pytest

import fedbary as fb

pytest_plugins = ["cli_fixtures"]


def test_help_names_the_commands(shell):
    done = shell("--help")
    assert done.returncode == 0
    assert all(command in done.stdout for command in ("demo", "value", "rows", "check", "card"))


@pytest.mark.parametrize("arguments", [["--help"], ["value", "--help"]], ids=" ".join)
def test_help_imports_nothing_heavy(arguments):
    """That is what makes it answer at once, although options are made from the settings' classes."""
    code = (
        f"import sys\nfrom fedbary.cli import main\nmain({arguments})\n"
        "sys.exit(sum(name in sys.modules for name in ('numpy', 'pandas', 'scipy', 'sklearn', 'torch', 'ot')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("command", ["demo", "value", "rows", "check"])
def test_every_command_has_an_example(fedbary, command):
    code, out, _ = fedbary(command, "--help")
    assert code == 0
    assert f"Example:  fedbary {command}" in out


def test_without_arguments_the_help_is_shown(fedbary):
    code, out, _ = fedbary()
    assert (code, "Usage: fedbary" in out) == (0, True)


@pytest.mark.parametrize("group", ["policy", "federation"])
def test_a_group_without_a_command_shows_its_help(fedbary, group):
    code, out, err = fedbary(group)
    assert (code, f"Usage: fedbary {group}" in out, err) == (0, True, "")


def test_version(fedbary):
    assert fedbary("--version") == (0, f"fedbary {fb.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fly"], "There is no command 'fly'; 'fedbary --help' lists them."),
        (["vlaue"], "There is no command 'vlaue' (did you mean 'value'?); 'fedbary --help' lists them."),
        (
            ["policy", "chekc"],
            "There is no command 'chekc' (did you mean 'check'?); 'fedbary policy --help' lists them.",
        ),
        (["value", "x.csv"], "No label column was given: name it with --label COL."),
    ],
)
def test_wrong_usage_is_one_sentence(fedbary, arguments, sentence):
    assert fedbary(*arguments) == (2, "", f"error: {sentence}\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["check"], r"Missing argument '(TABLE|table)'\."),
        (["value", "--label", "y", "--rounds", "few"], r"Invalid value for '--rounds': .* valid integer.*"),
    ],
    ids=["missing", "invalid"],
)
def test_what_typer_refuses_in_words_of_its_own_is_one_sentence_too(fedbary, arguments, sentence):
    code, out, err = fedbary(*arguments)
    assert (code, out) == (2, "")
    assert re.fullmatch(f"error: {sentence}\n", err)


def raiser(error):
    def value(*args, **kwargs):
        raise error

    return value


def test_a_bug_asks_for_debug_which_shows_the_traceback(fedbary, sites, monkeypatch):
    monkeypatch.setattr("fedbary.api.value", raiser(ZeroDivisionError("a\nbug")))
    code, out, err = fedbary("value", sites, "--label", "ill")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "ZeroDivisionError: a bug" in err
    assert "--debug" in err
    code, _, err = fedbary("--debug", "value", sites, "--label", "ill")
    assert (code, "Traceback" in err) == (1, True)


def test_an_interrupt_ends_with_130(fedbary, sites, monkeypatch):
    monkeypatch.setattr("fedbary.api.value", raiser(KeyboardInterrupt()))
    assert fedbary("value", sites, "--label", "ill")[0] == 130


def test_clients_are_needed(refused):
    assert refused("value", "--label", "y").code == "cli.no-client-given"


def test_an_output_folder_that_is_a_file_is_bad_input(refused, sites):
    assert refused("value", sites, "--label", "ill", "-o", "reference.csv").code == "valuation.not-a-folder"
