"""The other packages of this repository: joined to the core by entry points, and named where they are missing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fedbary.errors import SettingsError, wrong_parameter

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# Package → the extra of fedbary that brings it.
EXTRAS = {"fedbary_flower": "flower", "fedbary_nvflare": "nvflare", "fedbary_lab": "lab"}
# What is typed at the command line although another package brings it.
COMMANDS = {"compare": "fedbary_lab", "boost": "fedbary_lab", "datasets": "fedbary_lab", "reproduce": "fedbary_lab"}


def is_missing(package: str) -> bool:
    """Whether a package of this repository is not installed."""
    return find_spec(package) is None


def missing(package: str, wanted: str) -> SettingsError:
    """What to type where something is wanted that a missing package would bring.

    Examples
    --------
    >>> str(missing("fedbary_lab", "fb.boost"))
    "fb.boost needs the package fedbary-lab, which is not installed: pip install 'fedbary[lab]'"
    """
    return SettingsError(
        "settings.package-missing", wanted=wanted, package=package.replace("_", "-"), extra=EXTRAS[package]
    )


def names_of(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__`, which imports a public name from its home when it is first used.

    Where a package of this repository is missing for it, the `ImportError` says what to install.
    """

    def attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        try:
            return getattr(import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            raise ImportError(str(missing(error.name, f"{module}.{name}"))) from error

    return attribute


Item = TypeVar("Item")

BROKEN_PLUG_IN = ("settings.plug-in-broken", "settings.plug-in-twice")
# They mean something where names are listed, or given with options.
_MARKS = ",@"


class Registry(Mapping[str, Item], Generic[Item]):
    """A mapping that can be added to, by `register` or by an entry point of an installed package.

    Entry points are loaded when their name is asked for, never earlier: importing this package stays quick, and a
    broken plug-in fails where it is used and nowhere else. Iterating gives what is there without loading any, so that
    the tables of an experiment do not depend on what else is installed; `offered` names all.

    Parameters
    ----------
    group : str
        The group of entry points, such as ``fedbary.row_methods``.
    built_in : mapping
        What this package has; none of it can be replaced.
    read : callable
        (name, what a plug-in or a program brings) → item.

    Examples
    --------
    >>> shapes = Registry("fedbary.doctest", {"cube": 6}, lambda name, sides: sides)
    >>> shapes.register("prism", 5)
    >>> list(shapes), shapes["prism"], "ball" in shapes
    (['cube', 'prism'], 5, False)
    """

    def __init__(self, group: str, built_in: Mapping[str, Item], read: Callable[[str, Any], Item]) -> None:
        self.group = group
        self._built_in, self._read = built_in, read
        self._added: dict[str, Item] = {}
        self._only: Collection[str] | None = None

    def register(self, name: str, brought: Any, *, taken: Collection[str] = ()) -> None:
        """Add an item, or replace one that was added before; names of this package stay what they are."""
        if not isinstance(name, str) or not name or set(_MARKS) & set(name) or name != name.strip():
            raise wrong_parameter("name", "register", "a text without commas, @ and blanks around it", name)
        if name in self._built_in or name in taken:
            raise SettingsError("settings.name-taken", name=name)
        self._added[name] = self._read(name, brought)

    def forget(self, name: str) -> None:
        """Take back what was registered."""
        del self._added[name]

    @property
    def added(self) -> tuple[str, ...]:
        """What was registered, and the plug-ins that were used so far."""
        return tuple(self._added)

    def offered(self) -> list[str]:
        """All names, those of plug-ins that nobody has used yet included."""
        return list(dict.fromkeys([*self._built_in, *self._added, *(point.name for point in self._points())]))

    def package(self, name: str) -> str:
        """The installed package that offers this name, with its version; empty where none does."""
        if name in self._built_in:
            return ""
        return next((_package(point) for point in self._points() if point.name == name), "")

    @contextmanager
    def narrowed(self, names: Collection[str] | None) -> Iterator[None]:
        """Iterate over these names only, for a while; every other one can still be asked for."""
        before, self._only = self._only, names
        try:
            yield
        finally:
            self._only = before

    def compared(self, usual: Collection[str]) -> list[str]:
        """The names that it is narrowed to, or else these usual ones and all that were added."""
        return list(dict.fromkeys([*usual, *self._added]) if self._only is None else self._only)

    def __getitem__(self, name: str) -> Item:
        if name in self._built_in:
            return self._built_in[name]
        if name not in self._added:
            self._added[name] = self._load(name)
        return self._added[name]

    def __contains__(self, name: object) -> bool:
        return name in self._built_in or name in self._added or any(point.name == name for point in self._points())

    def __iter__(self) -> Iterator[str]:
        there = (*self._built_in, *self._added)
        return iter(there if self._only is None else [name for name in there if name in self._only])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _points(self) -> list[EntryPoint]:
        from importlib.metadata import entry_points

        return list(entry_points(group=self.group))

    def _load(self, name: str) -> Item:
        points = [point for point in self._points() if point.name == name]
        if not points:
            raise KeyError(name)
        if len(points) > 1:
            packages = ", ".join(map(_package, points))
            raise SettingsError("settings.plug-in-twice", name=name, packages=packages, group=self.group)
        (point,) = points
        try:
            return self._read(name, point.load())
        except Exception as error:  # a stranger's code, which may fail in any way
            why = f"{type(error).__name__}: {error}"
            raise SettingsError("settings.plug-in-broken", name=name, package=_package(point), why=why) from error


def first_line(brought: Any, otherwise: str) -> str:
    """What a function says of itself in the first line of its description."""
    return ((getattr(brought, "__doc__", None) or "").strip().splitlines() or [otherwise])[0]


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value
