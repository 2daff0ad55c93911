"""The kinds of commands: all take the options of the whole command line, and all guess at misspelt names."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from fedbary.checks import did_you_mean
from fedbary.cli.ui.interrupts import on_interrupt
from fedbary.cli.ui.session import session
from fedbary.satellites import COMMANDS, is_missing, missing

_PANEL = "Any command"
_EXAMPLE_WIDTH = 64  # beside the word Example, the margin and the backslash


class Command(TyperCommand):
    """A command that also takes --quiet, --verbose and --log, which may stand before its name as well."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        for parameter in self.params:
            if parameter.default is None and isinstance(parameter, TyperOption | TyperArgument):
                parameter.show_default = False  # older typers show "None"
        self.params += shared_options()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help, that of arguments included: Click 8.5 forgets what Typer has said of them."""
        hints = get_type_hints(inspect.unwrap(self.callback), include_extras=True) if self.callback else {}
        for parameter in self.params:
            if isinstance(parameter, TyperArgument) and not parameter.help:
                said = getattr(hints.get(str(parameter.name)), "__metadata__", ())
                parameter.help = next((one.help for one in said if getattr(one, "help", None)), None)
        super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run it, once the log knows what runs."""
        session().begin(ctx)
        with on_interrupt(lambda: "interrupted: nothing was kept"):
            return super().invoke(ctx)


class Group(TyperGroup):
    """A group of commands that takes the same options, and says which command may have been meant."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params += shared_options()

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find a command by its name."""
        name = args[0]
        if self.get_command(ctx, name) is None and not ctx.resilient_parsing and not name.startswith("-"):
            if name in COMMANDS and is_missing(COMMANDS[name]):
                raise missing(COMMANDS[name], f"the command '{name}'")
            guess = did_you_mean(name, self.list_commands(ctx))
            ctx.fail(f"There is no command '{name}'{guess}; '{ctx.command_path} --help' lists them.")
        return super().resolve_command(ctx, args)


def example_of(line: str) -> str:
    r"""A command as the last words of its help, on lines of a narrow terminal that can be copied as they are.

    Examples
    --------
    >>> example_of("fedbary demo")
    'Example:  fedbary demo'
    """
    lines: list[str] = []
    for part in re.split(r" (?=--?\w)", line):  # an option and its value stay together
        if lines and len(lines[-1]) + 1 + len(part) <= _EXAMPLE_WIDTH:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return "Example:  " + " \\\n\n".join(lines)


def shared_options() -> list[Any]:
    """--quiet, --verbose and --log, for one command."""
    made = typer.Typer(add_completion=False, context_settings={"help_option_names": []})
    made.command()(any_command)
    return list(typer.main.get_command(made).params)


def _set_quiet(context: typer.Context, value: bool) -> None:
    if value and not context.resilient_parsing:
        session().quiet = True


def _set_verbose(context: typer.Context, value: bool) -> None:
    if value and not context.resilient_parsing:
        session().verbose = True


def _set_log(context: typer.Context, value: Path | None) -> None:
    if value is not None and not context.resilient_parsing:
        session().keep_log(value)


def any_command(
    quiet: Annotated[
        bool,
        typer.Option(
            *("-q", "--quiet"),
            help="Print errors only, and what --json asks for.",
            callback=_set_quiet,
            expose_value=False,
            rich_help_panel=_PANEL,
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            *("-v", "--verbose"),
            help="Say on standard error what is being done.",
            callback=_set_verbose,
            expose_value=False,
            rich_help_panel=_PANEL,
        ),
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option(
            help="Append what happens and how long it takes; no data, no names.",
            metavar="FILE",
            dir_okay=False,
            callback=_set_log,
            expose_value=False,
            rich_help_panel=_PANEL,
        ),
    ] = None,
) -> None:
    """The options of any command, as a signature from which every release of Typer makes its own kind of option."""
