"""Options that are made from the settings of the library: a field's name, type, default and docstring are its option's.

A command takes settings as one parameter, and `with_settings` puts the options of their fields in its place:

    @with_settings(space=SettingsOf(Space, panel="How rows become points"))
    def value(files: Files, *, space: Space) -> None: ...
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import cached_property, wraps
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from fedbary.cli.ui.completion import one_of

# How an option that takes several names is shown.
LIST = "A,B,…"
# A section of a numpydoc docstring; in it, names flush left and what is said of them indented.
_PARAMETERS = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(\w+) : [^\n]*\n((?:[ ]+[^\n]*\n?|\n)*)", re.MULTILINE)
# Up to where the details begin: a full stop, a semicolon or a colon that no bracket holds.
_GIST = re.compile(r"(?:\([^)]*\)|[^.;:(]|[.;:](?!\s|$))+")
_DEFAULT = re.compile(r"Default: (?:\([^)]*\)|[^.(]|\.(?!\s|$))+\.")


@dataclass(frozen=True)
class SettingsOf:
    """The settings behind a parameter of a command: of one class, whose object the command gets.

    Parameters
    ----------
    settings : type
        A dataclass, whose fields become options.
    panel : str
        Title of the options' panel in the help.
    without : tuple of str
        Fields that do not become options.
    """

    settings: type
    panel: str
    without: tuple[str, ...] = ()

    def options(self) -> list[inspect.Parameter]:
        """One parameter for each field."""
        gists, types = _gists(self.settings), get_type_hints(self.settings)
        found = []
        for field in _fields(self.settings):
            if field.name not in self.without:
                words = _sentences(gists.get(field.name, ""), _choices(types[field.name]))
                found.append(_option(field.name, types[field.name], field.default, words, self.panel))
        return found

    def build(self, typed: Mapping[str, object]) -> Any:
        """The settings from what was typed; they check it themselves."""
        types = get_type_hints(self.settings)
        return self.settings(**{name: _read(value, types[name]) for name, value in typed.items()})


@dataclass(frozen=True)
class SettingsOfOneOf:
    """The settings behind a parameter of a command: of one class of several; the command gets what was typed.

    Parameters
    ----------
    settings : mapping
        Dataclasses by the name of what they are settings of. An option stands for the field of every class that has it,
        and says which.
    panel : str
        Title of the options' panel in the help.
    """

    settings: Mapping[str, Callable[..., Any]]
    panel: str

    def owners(self, option: str) -> dict[str, Field[Any]]:
        """Who has this option: the field of each."""
        return self._fields.get(option, {})

    @cached_property
    def _fields(self) -> dict[str, dict[str, Field[Any]]]:
        found: dict[str, dict[str, Field[Any]]] = {}
        for name, settings in self.settings.items():
            for field in _fields(settings):
                found.setdefault(field.name, {})[name] = field
        return found

    def options(self) -> list[inspect.Parameter]:
        """One parameter for each name that a field has anywhere."""
        types = {name: get_type_hints(settings) for name, settings in self.settings.items()}
        gists = {name: _gists(settings) for name, settings in self.settings.items()}
        found = []
        for option, owners in self._fields.items():
            words: dict[str, dict[str, Any]] = {}
            for owner, field in owners.items():
                sentence = _sentences(gists[owner].get(option, ""), _choices(types[owner][option]))
                words.setdefault(sentence, {})[owner] = field.default
            texts = []
            for sentence, defaults in words.items():
                whose = "" if len(defaults) == len(self.settings) else f"{', '.join(defaults)}: "
                texts.append(f"{whose}{sentence}{_default_in_words(defaults)}")
            kind = types[next(iter(owners))][option]
            unset = False if kind is bool else None
            found.append(_option(option, kind, unset, " ".join(texts), self.panel))
        return found

    def build(self, typed: Mapping[str, object]) -> dict[str, object]:
        """What was typed, without what was not."""
        return {name: value for name, value in typed.items() if value is not None and value is not False}


def with_settings(**parameters: SettingsOf | SettingsOfOneOf) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of settings in the place of the parameters that take them."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        options = {name: settings.options() for name, settings in parameters.items()}

        @wraps(command)
        def run(**typed: Any) -> None:
            for name, settings in parameters.items():
                typed[name] = settings.build({option.name: typed.pop(option.name) for option in options[name]})
            command(**typed)

        taken: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(command).parameters.items():
            taken += options.get(name, [parameter.replace(annotation=hints[name])])
        # Typer reads one or the other, depending on its version.
        del run.__wrapped__
        run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}
        return run

    return decorate


def _option(name: str, kind: Any, default: Any, words: str, panel: str) -> inspect.Parameter:
    """An option as Typer reads it from a signature."""
    plain = _plain(kind)
    choices = _choices(kind)
    default = None if _is_list(kind) else default
    typed = typer.Option(
        default,
        f"--{name.replace('_', '-')}",
        help=words,
        metavar=LIST if _is_list(kind) else "NAME" if plain is str else None,
        rich_help_panel=panel,
        autocompletion=one_of(*choices) if choices else None,
    )
    annotation = plain if plain is bool else plain | None if default is None else plain
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=typed, annotation=annotation)


def _fields(settings: Any) -> list[Field[Any]]:
    return [field for field in fields(settings) if field.default is not MISSING]


def _alternatives(kind: Any) -> list[Any]:
    """The types of a union, without None.

    Examples
    --------
    >>> _alternatives(int | None), _alternatives(bool)
    ([<class 'int'>], [<class 'bool'>])
    """
    many = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return [one for one in many if one is not NoneType]


def _plain(kind: Any) -> Any:
    """What Typer is to read: bool, int, float or, where names are among the choices or in a list, text."""
    first, *more = _alternatives(kind)
    return str if more or get_origin(first) in (Literal, tuple) else first


def _is_list(kind: Any) -> bool:
    """Whether several names are typed as one text with commas."""
    return get_origin(_alternatives(kind)[0]) is tuple


def _choices(kind: Any) -> tuple[str, ...]:
    return tuple(name for one in _alternatives(kind) if get_origin(one) is Literal for name in get_args(one))


def _read(value: object, kind: Any) -> object:
    """A number where text may be one, and names where a text has commas."""
    if _is_list(kind):
        return value or ()
    return int(value) if isinstance(value, str) and int in _alternatives(kind) and value.isdecimal() else value


def _gists(settings: Callable[..., Any]) -> dict[str, str]:
    """What a class's docstring says of each parameter: the gist of its first sentence, and its default in words.

    Examples
    --------
    >>> from fedbary.protocols.sketch import Sketch
    >>> _gists(Sketch)["lower"]
    'Lower end of the interval.'
    """
    section = _PARAMETERS.search(inspect.getdoc(settings) or "")
    found = {}
    for name, text in _ENTRY.findall(section[1] if section else ""):
        line = " ".join(text.replace("``", "").split())
        gist, default = _GIST.match(line), _DEFAULT.search(line)
        found[name] = " ".join([*([f"{gist[0]}."] if gist else []), *([default[0]] if default else [])])
    return found


def _sentences(gist: str, choices: tuple[str, ...]) -> str:
    """The gist with the names to choose from behind its first sentence, where it does not name them itself."""
    if all(name in gist for name in choices):
        return gist
    *some, last = choices
    first, stop, rest = gist.partition(". ")
    return f"{first.removesuffix('.')}: {', '.join(some)} or {last}.{f' {rest}' if stop else ''}"


def _default_in_words(defaults: Mapping[str, Any]) -> str:
    """The default of each class, where it is more than to be left out.

    Examples
    --------
    >>> _default_in_words({"sketch": 5, "cards": 5}), _default_in_words({"sketch": 100, "interpolation": 50})
    (' Default: 5.', ' Default: 100 (sketch), 50 (interpolation).')
    """
    known = {owner: default for owner, default in defaults.items() if default not in (None, False)}
    if not known:
        return ""
    if len(known) == len(defaults) and len(set(known.values())) == 1:
        return f" Default: {next(iter(known.values()))}."
    return f" Default: {', '.join(f'{default} ({owner})' for owner, default in known.items())}."
