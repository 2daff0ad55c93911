"""Commands: each returns a `Page`, takes the options of the whole command line, and may be configured by a file."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias, get_args, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from fedbary.checks import did_you_mean
from fedbary.cli.ui.options import LIST, flag, option
from fedbary.cli.ui.session import on_interrupt, session
from fedbary.cli.ui.settings import SettingsOf
from fedbary.cli.ui.terminal import finish
from fedbary.errors import SettingsError
from fedbary.satellites import COMMANDS, is_missing, missing
from fedbary.views.page import Page

Parameter: TypeAlias = Any  # Click's, which Typer brings along or not, depending on its release
_EXAMPLE_WIDTH = 64  # beside the word Example, the margin and the backslash


def command(
    example: str, *, json: bool = True, **settings: SettingsOf
) -> Callable[[Callable[..., Page]], Callable[..., None]]:
    """Make a command of a function that returns a page.

    It gets the options of settings in the place of the parameters that take them, and --json, with which the page's
    data is printed and nothing else.
    """

    def decorate(function: Callable[..., Page]) -> Callable[..., None]:
        hints = get_type_hints(function)
        options = {name: one.options() for name, one in settings.items()}

        @wraps(function)
        def run(**typed: Any) -> None:
            session().json = typed.pop("json", False)
            for name, one in settings.items():
                typed[name] = one.build({option.name: typed.pop(option.name) for option in options[name]})
            finish(function(**typed))

        taken: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(function).parameters.items():
            taken += options.get(name, [parameter.replace(annotation=hints[name])])
        if json:
            words = "Print JSON, and nothing else, to standard output."
            taken.append(
                inspect.Parameter(
                    "json", inspect.Parameter.KEYWORD_ONLY, default=flag("--json", words), annotation=bool
                )
            )
        # Typer reads one or the other, depending on its version.
        del run.__wrapped__
        run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}
        run.example = example  # type: ignore[attr-defined]
        return run

    return decorate


def register(app: typer.Typer, *commands: Callable[..., None]) -> None:
    """Give an application these commands, called as their functions, with their docstrings as help."""
    for one in commands:
        app.command(cls=Command, help=paragraphs(one.__doc__), epilog=example_of(one.example))(one)  # type: ignore[attr-defined]


def group(words: str, example: str) -> typer.Typer:
    """An application for commands that stand behind a common word."""
    return typer.Typer(cls=Group, no_args_is_help=True, help=words, epilog=example_of(example))


class Command(TyperCommand):
    """A command that also takes --quiet, --verbose and --log, which may stand before its name as well."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        for parameter in self.params:
            if parameter.default is None and isinstance(parameter, TyperOption | TyperArgument):
                parameter.show_default = False  # older typers show "None"
        self.params += _shared_options()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help, that of arguments included: Click 8.5 forgets what Typer has said of them."""
        said = inspect.signature(inspect.unwrap(self.callback)).parameters if self.callback else {}
        for parameter in self.params:
            if isinstance(parameter, TyperArgument) and not parameter.help and parameter.name in said:
                parameter.help = said[parameter.name].default.help
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
        self.params += _shared_options()

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
    r"""A command as the last words of its help, on lines of a narrow terminal that can be copied as they are."""
    lines: list[str] = []
    for part in re.split(r" (?=--?\w)", line):  # an option and its value stay together
        if lines and len(lines[-1]) + 1 + len(part) <= _EXAMPLE_WIDTH:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return "Example:  " + " \\\n\n".join(lines)


def paragraphs(text: str | None) -> str:
    r"""A docstring with one line per paragraph, which a terminal of any width can wrap."""
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n")).strip()


def _of_session(words: str, metavar: str | None, *names: str, default: bool | None = None) -> Any:
    """An option of any command: the session learns of it, before the command runs."""
    name = names[-1].removeprefix("--")

    def tell(context: typer.Context, value: Any) -> None:
        if value and not context.resilient_parsing:
            session().keep_log(value) if name == "log" else setattr(session(), name, True)

    more: Any = {"panel": "Any command", "callback": tell, "expose_value": False, "dir_okay": name != "log"}
    return option(words, metavar, *names, default=default, **more)


_QUIET = _of_session("Print errors only, and what --json asks for.", None, "-q", "--quiet", default=False)
_VERBOSE = _of_session("Say on standard error what is being done.", None, "-v", "--verbose", default=False)
_LOG = _of_session("Append what happens and how long it takes; no data, no names.", "FILE", "--log")


def _any_command(quiet: bool = _QUIET, verbose: bool = _VERBOSE, log: Path | None = _LOG) -> None:
    """The options of any command, as a signature from which every release of Typer makes its own kind of option."""


def _shared_options() -> list[Any]:
    made = typer.Typer(add_completion=False, context_settings={"help_option_names": []})
    made.command()(_any_command)
    return list(typer.main.get_command(made).params)


def _use_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the file's values the defaults of the command's options, so that typed options win."""
    if path is None:
        return None
    if not path.is_file():
        raise SettingsError("cli.no-config-file", file=str(path))
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError("cli.config-not-toml", file=str(path), why=str(error)) from error
    # An option's long name is its key: --min-group is min_group.
    options = [parameter for parameter in context.command.params if parameter.name not in ("config", "help")]
    known = {str(max(one.opts, key=len)).lstrip("-").replace("-", "_"): one for one in options}
    assert context.command.callback is not None
    types = get_type_hints(_any_command) | get_type_hints(inspect.unwrap(context.command.callback))
    context.default_map = session().configured = {}
    for written, value in values.items():
        key = written.replace("-", "_")
        if key not in known:
            guess = did_you_mean(key, known)
            names = None if guess else ", ".join(sorted(known))
            raise SettingsError("cli.config-unknown-key", file=str(path), key=written, guess=guess or None, known=names)
        name = str(known[key].name)
        context.default_map[name] = _configured(known[key], key, value, path, types.get(name))
    return path


def _configured(one: Parameter, key: str, value: Any, path: Path, kind: Any) -> Any:
    is_flag, many = bool(getattr(one, "is_flag", False)), one.nargs != 1
    if isinstance(value, list) and one.metavar == LIST and all(isinstance(item, str) for item in value):
        value = ",".join(value)
    items = value if many and isinstance(value, list) else [value]
    fits = bool if is_flag else str | int | float
    if not all(isinstance(item, fits) and isinstance(item, bool) == is_flag for item in items):
        expected = "true or false" if is_flag else "text, or a list of texts" if many else "one text or number"
        raise SettingsError("cli.config-wrong-value", key=key, file=str(path), expected=expected, got=repr(value))
    if is_flag:
        return value
    # A path is meant relative to the file, wherever the command runs.
    is_path = key == "files" or Path in (kind, *get_args(kind))
    # As text, so that the file's values pass the same checks as typed ones.
    texts = [str(path.parent / str(item)) if is_path else str(item) for item in items]
    return texts if many else texts[0]


CONFIG = option("A TOML file with any of these options; typed ones win.", "FILE", is_eager=True, callback=_use_config)
