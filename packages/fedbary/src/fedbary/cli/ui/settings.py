"""Options that are made from the settings of the library: a field's name, type, default and docstring are its option's.

A command takes settings as one parameter, and `fedbary.cli.ui.command` puts the options of their fields in its place:

    @command("fedbary value sites", space=SettingsOf(Space, panel="How rows become points"))
    def value(files: Files, *, space: Space) -> Page: ...
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import cached_property
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from fedbary.cli.ui.options import LIST, one_of, option
from fedbary.data.options import ReadOptions
from fedbary.errors import SettingsError
from fedbary.protocols.registry import PROTOCOLS, protocol_named
from fedbary.space.options import RowRules, Space

if TYPE_CHECKING:
    from fedbary.protocols.messages import Settings

# A section of a numpydoc docstring; in it, names flush left and what is said of them indented.
_PARAMETERS = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(\w+) : [^\n]*\n((?:[ ]+[^\n]*\n?|\n)*)", re.MULTILINE)
# Up to where the details begin: a full stop, a semicolon or a colon that no bracket holds.
_GIST = re.compile(r"(?:\([^)]*\)|[^.;:(]|[.;:](?!\s|$))+")
_DEFAULT = re.compile(r"Default: (?:\([^)]*\)|[^.(]|\.(?!\s|$))+\.")


@dataclass(frozen=True)
class SettingsOf:
    """The settings behind a parameter of a command: of one class, or of one of several.

    Parameters
    ----------
    settings : type or mapping
        A dataclass, whose fields become options, and whose object the command gets. Or several by the name of what they
        are settings of: an option stands for the field of every class that has it, and says which; the command gets
        what was typed, without what was not.
    panel : str
        Title of the options' panel in the help.
    without : tuple of str
        Fields that do not become options.
    """

    settings: Callable[..., Any] | Mapping[str, Callable[..., Any]]
    panel: str
    without: tuple[str, ...] = ()

    @cached_property
    def classes(self) -> Mapping[str, Callable[..., Any]]:
        return self.settings if isinstance(self.settings, Mapping) else {"": self.settings}

    @cached_property
    def owners(self) -> dict[str, dict[str, Field[Any]]]:
        """Who has an option: the field of each."""
        owners: dict[str, dict[str, Field[Any]]] = {}
        for name, settings in self.classes.items():
            for field in fields(settings):  # type: ignore[arg-type]
                if field.default is not MISSING and field.name not in self.without:
                    owners.setdefault(field.name, {})[name] = field
        return owners

    def options(self) -> list[inspect.Parameter]:
        """One parameter for each name that a field has anywhere, as Typer reads it from a signature."""
        types = {name: get_type_hints(settings) for name, settings in self.classes.items()}
        gists = {name: _gists(settings) for name, settings in self.classes.items()}
        made = []
        for name, owners in self.owners.items():
            words: dict[str, dict[str, Any]] = {}
            for owner, field in owners.items():
                sentence = _sentences(gists[owner].get(name, ""), _choices(types[owner][name]))
                words.setdefault(sentence, {})[owner] = field.default
            kind, first = types[next(iter(owners))][name], next(iter(owners.values())).default
            plain, choices, many = _plain(kind), _choices(kind), _is_list(kind)
            alone = self.classes is not self.settings
            default = None if many else first if alone else False if plain is bool else None
            made.append(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    annotation=plain | None if default is None else plain,
                    default=option(
                        *(" ".join(self._said(words)), LIST if many else "NAME" if plain is str else None),
                        f"--{name.replace('_', '-')}",
                        default=default,
                        panel=self.panel,
                        complete=one_of(*choices) if choices else None,
                    ),
                )
            )
        return made

    def _said(self, words: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Each sentence with those of whom it is true, and their defaults, which the help of one class has anyway."""
        if self.classes is not self.settings:
            return list(words)
        return [
            ("" if len(defaults) == len(self.classes) else f"{', '.join(defaults)}: ") + text + _in_words(defaults)
            for text, defaults in words.items()
        ]

    def build(self, typed: Mapping[str, object]) -> Any:
        """The settings from what was typed; they check it themselves."""
        if isinstance(self.settings, Mapping):
            return {name: value for name, value in typed.items() if value is not None and value is not False}
        types = get_type_hints(self.settings)
        return self.settings(**{name: _read(value, types[name]) for name, value in typed.items()})


PROTOCOL_OPTIONS = SettingsOf(PROTOCOLS, panel="The protocol")
# Of a run: the protocol's, the rules of flags, the space.
OF_RUN: Any = {
    "protocol_options": PROTOCOL_OPTIONS,
    "rules": SettingsOf(RowRules, panel="Flags"),
    "space": SettingsOf(Space, panel="How rows become points"),
}
# How files are read: an owner's own one has no clients in it.
READING = SettingsOf(ReadOptions, panel="Reading the files")
OWN_READING = SettingsOf(ReadOptions, panel="Reading the table", without=("client_column",))


def chosen_protocol(name: str, typed: Mapping[str, object], *, in_one_process: bool = False) -> Settings:
    """A protocol's settings from the options that were typed; one that it does not have is refused."""
    settings = PROTOCOLS.get(name) or protocol_named(name, in_one_process=in_one_process)
    has = {field.name for field in fields(settings)}  # type: ignore[arg-type]
    for name_of_option in typed:
        if name_of_option not in has:
            raise SettingsError(
                "cli.option-of-another-protocol",
                typed=f"--{name_of_option.replace('_', '-')}",
                protocol=name,
                owners=" or ".join(PROTOCOL_OPTIONS.owners.get(name_of_option, {})),
            )
    return settings(**typed)


def _alternatives(kind: Any) -> list[Any]:
    """The types of a union, without None."""
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
    """What a class's docstring says of each parameter: the gist of its first sentence, and its default in words."""
    section = _PARAMETERS.search(inspect.getdoc(settings) or "")
    gists = {}
    for name, text in _ENTRY.findall(section[1] if section else ""):
        line = " ".join(text.replace("``", "").split())
        gist, default = _GIST.match(line), _DEFAULT.search(line)
        gists[name] = " ".join([*([f"{gist[0]}."] if gist else []), *([default[0]] if default else [])])
    return gists


def _sentences(gist: str, choices: tuple[str, ...]) -> str:
    """The gist with the names to choose from behind its first sentence, where it does not name them itself."""
    if all(name in gist for name in choices):
        return gist
    *some, last = choices
    first, stop, rest = gist.partition(". ")
    return f"{first.removesuffix('.')}: {', '.join(some)} or {last}.{f' {rest}' if stop else ''}"


def _in_words(defaults: Mapping[str, Any]) -> str:
    """The default of each class, where it is more than to be left out."""
    known = {owner: default for owner, default in defaults.items() if default not in (None, False)}
    if not known:
        return ""
    if len(known) == len(defaults) and len(set(known.values())) == 1:
        return f" Default: {next(iter(known.values()))}."
    return f" Default: {', '.join(f'{default} ({owner})' for owner, default in known.items())}."
