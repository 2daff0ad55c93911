"""Options that are made from the settings' dataclasses: all fields, the same defaults, words from the docstrings."""

from dataclasses import dataclass, fields
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from fedbary.cli.app import app
from fedbary.cli.ui.command import command as command_of
from fedbary.cli.ui.settings import SettingsOf
from fedbary.protocols.registry import PROTOCOLS
from fedbary.space.options import Space
from fedbary.valuation.rows import RowRules
from fedbary.views.page import Page

pytest_plugins = ["cli_fixtures"]

COMMANDS = typer.main.get_command(app).commands


def options(command):
    return {option.name: option for option in COMMANDS[command].params}


@pytest.mark.parametrize(
    ("command", "settings", "without"),
    [
        ("value", Space, set()),
        ("value", RowRules, set()),
    ],
)
def test_every_field_is_an_option_with_its_default(command, settings, without):
    found = options(command)
    for field in fields(settings):
        if field.name not in without:
            assert found[field.name].default == field.default
            assert found[field.name].opts == [f"--{field.name.replace('_', '-')}"]


def test_every_field_of_every_protocol_is_an_option_that_is_left_to_the_protocol():
    found = options("value")
    for name, settings in PROTOCOLS.items():
        for field in fields(settings):
            option = found[field.name]
            assert option.default in (None, False)
            everyone = all(field.name in {other.name for other in fields(one)} for one in PROTOCOLS.values())
            assert everyone or name in option.help


def test_every_generated_option_is_explained_in_a_sentence():
    generated = {field.name for one in (Space, RowRules, *PROTOCOLS.values()) for field in fields(one)}
    for name in generated & set(options("value")):
        assert len(options("value")[name].help.split()) >= 2
        assert options("value")[name].help.endswith(".")


@dataclass
class Few:
    """Settings.

    Parameters
    ----------
    points : int
        How many points there are; more are slower.
    """

    points: int = 5


@dataclass
class Many(Few):
    points: int = 50


Many.__doc__ = Few.__doc__


def test_the_words_are_the_gist_of_the_docstring_and_the_defaults_of_those_who_have_the_option():
    (one,) = SettingsOf(Few, panel="").options()
    assert (one.default.help, one.default.default) == ("How many points there are.", 5)
    (same,) = SettingsOf({"few": Few, "other": Few}, panel="").options()
    assert (same.default.help, same.default.default) == ("How many points there are. Default: 5.", None)
    (two,) = SettingsOf({"few": Few, "many": Many}, panel="").options()
    assert two.default.help == "How many points there are. Default: 5 (few), 50 (many)."


@pytest.mark.parametrize(
    ("protocol", "option", "owners"),
    [
        ("interpolation", ("--epsilon", 1), "--protocol sketch or cards."),
        ("sketch", ("--rounds", 3), "--protocol interpolation."),
        ("cards", ("--allow-reconstruction",), "--protocol interpolation."),
    ],
)
def test_an_option_of_another_protocol_is_refused_with_those_that_have_it(fedbary, sites, protocol, option, owners):
    code, out, err = fedbary("value", sites, "--label", "ill", "--protocol", protocol, *option)
    assert (code, out) == (2, "")
    assert err == (
        f"error: {option[0]} is not an option of the {protocol} protocol: leave it out, or choose {owners}\n"
    )


def test_a_command_gets_its_settings_and_its_own_options():
    got = {}

    @command_of("small a", space=SettingsOf(Space, panel="Rows"))
    def command(name: Annotated[str, typer.Argument()], *, space: Space, loud: bool = False) -> Page:
        """Do it."""
        got.update(name=name, space=space, loud=loud)
        return Page()

    small = typer.Typer()
    small.command()(command)
    done = CliRunner().invoke(small, ["a", "--projection", "12", "--metric", "within", "--loud"])
    assert done.exit_code == 0
    assert got == {"name": "a", "space": Space(projection=12, metric="within"), "loud": True}
    assert CliRunner().invoke(small, ["a", "--shrinkage", "much"]).exit_code == 2
