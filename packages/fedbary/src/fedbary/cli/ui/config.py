"""`--config run.toml`: options of a command from a file, below those that are typed."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path
from typing import Any, TypeAlias, get_args, get_type_hints

import typer

from fedbary.checks import did_you_mean
from fedbary.cli.ui.command_kinds import any_command
from fedbary.cli.ui.session import session
from fedbary.cli.ui.settings_options import LIST
from fedbary.errors import SettingsError

Parameter: TypeAlias = Any  # Click's, which Typer brings along or not, depending on its release


def use_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the file's values the defaults of the command's options, so that typed options win."""
    if path is not None:
        known = {_key(option): option for option in context.command.params if option.name not in ("config", "help")}
        values = _read(path)
        assert context.command.callback is not None
        hints = get_type_hints(any_command) | get_type_hints(inspect.unwrap(context.command.callback))
        context.default_map = session().configured = {
            str(known[key].name): _value(known[key], key, value, path, of=hints.get(str(known[key].name)))
            for key, value in _named(values, known, path)
        }
    return path


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise SettingsError("cli.no-config-file", file=str(path))
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError("cli.config-not-toml", file=str(path), why=str(error)) from error


def _named(values: dict[str, Any], known: dict[str, Parameter], path: Path) -> list[tuple[str, Any]]:
    named = []
    for written, value in values.items():
        key = written.replace("-", "_")
        if key not in known:
            guess = did_you_mean(key, known)
            raise SettingsError(
                "cli.config-unknown-key",
                file=str(path),
                key=written,
                guess=guess or None,
                known=None if guess else ", ".join(sorted(known)),
            )
        named.append((key, value))
    return named


def _value(option: Parameter, key: str, value: Any, path: Path, of: Any) -> Any:
    flag = bool(getattr(option, "is_flag", False))
    many = option.nargs != 1
    if isinstance(value, list) and option.metavar == LIST and all(isinstance(item, str) for item in value):
        value = ",".join(value)
    items = value if many and isinstance(value, list) else [value]
    if not all(isinstance(item, bool) if flag else isinstance(item, str | int | float) for item in items) or (
        not flag and any(isinstance(item, bool) for item in items)
    ):
        expected = "true or false" if flag else "text, or a list of texts" if many else "one text or number"
        raise SettingsError("cli.config-wrong-value", key=key, file=str(path), expected=expected, got=repr(value))
    if flag:
        return value
    # A path is meant relative to the file, wherever the command runs.
    is_path = key == "files" or Path in (of, *get_args(of))
    # As text, so that the file's values pass the same checks as typed ones.
    texts = [str(path.parent / str(item)) if is_path else str(item) for item in items]
    return texts if many else texts[0]


def _key(option: Parameter) -> str:
    """An option's long name, as a key: ``--min-group`` is ``min_group``."""
    return str(max(option.opts, key=len)).lstrip("-").replace("-", "_")
