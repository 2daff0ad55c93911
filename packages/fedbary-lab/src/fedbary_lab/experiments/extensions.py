"""An experiment with data sets and methods of one's own: `fedbary reproduce NAME --with mine.py`.

The modules of experiments know nothing of it. Their cells say which data set and which method they are of: cells of a
new one are those of one that is there, under the new name. An experiment whose cells compute all methods at once finds
one's own in the registry, because the file that registers them is run in every process before a cell is computed.
"""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from fedbary.checks import did_you_mean
from fedbary.data.datasets import DATASETS
from fedbary.errors import SettingsError
from fedbary_lab.baselines.clients.methods import METHODS
from fedbary_lab.baselines.row_methods import ROW_METHODS
from fedbary_lab.experiments import Experiment, federations
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.open_methods import OpenMethods


@dataclass(frozen=True)
class Extension:
    """What a researcher brings along.

    Parameters
    ----------
    file, source
        The Python file that registers it, and its text when the experiment began: every process runs the same one.
    data, methods
        The data sets that replace those of the experiment, and the methods that are compared; empty: all of it.
    """

    file: str = ""
    source: str = ""
    data: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()

    @classmethod
    def read(cls, file: Path | None, data: Sequence[str] = (), methods: Sequence[str] = ()) -> Extension:
        """The extension of a file, if there is one, with names of data sets and methods."""
        if file is None:
            return cls(data=tuple(data), methods=tuple(methods))
        try:
            source = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError("research.extension-unreadable", file=str(file), why=str(error)) from error
        return cls(str(file.resolve()), source, tuple(data), tuple(methods))

    @property
    def name(self) -> str:
        """What its results are called after."""
        return Path(self.file).stem if self.file else "own"

    @property
    def digest(self) -> str:
        """What numbers depend on besides the cell: the file's text, and the versions of plug-ins that are named."""
        packages = [DATASETS.package(name) for name in self.data]
        packages += [ROW_METHODS.package(name) or METHODS.package(name) for name in self.methods]
        return hashlib.sha256("\n".join([self.source, *packages]).encode()).hexdigest()

    def run(self) -> None:
        """Run the file in this process, once unless it has changed."""
        if not self.file or _RUN.get(self.file) == self.source:
            return
        name = f"fedbary_extension_{self.name}"
        module = ModuleType(name)
        module.__file__ = self.file
        sys.modules[name] = module
        if (folder := str(Path(self.file).parent)) not in sys.path:
            sys.path.insert(0, folder)  # as for any script, so that it can import what lies beside it
        federations.forget_data()  # a data set may be another one now
        try:
            exec(compile(self.source, self.file, "exec"), module.__dict__)  # noqa: S102 - this is what was asked for
        except (Exception, SystemExit) as error:  # a stranger's code, which may fail in any way
            where = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == self.file]
            line = error.lineno if isinstance(error, SyntaxError) else (where or [None])[-1]
            why = f"{type(error).__name__}: {error}"
            raise SettingsError("research.extension-failed", file=self.file, line=line, why=why) from error
        _RUN[self.file] = self.source


# The text of every file that this process has run.
_RUN: dict[str, str] = {}


@dataclass(frozen=True)
class Extended(Experiment):
    """An experiment with an extension; its results have a folder of their own."""

    extension: Extension = Extension()

    @property
    def digest(self) -> str:
        """What its cells depend on besides themselves and the code of core and laboratory."""
        return self.extension.digest

    @property
    def compute(self) -> Callable[[Any], list[Record]]:
        """The records of a cell, in any process."""
        return _Compute(self.extension, super().compute)

    def cells(self, smoke: bool) -> list[Any]:
        """The cells of these data sets and methods."""
        self.extension.run()
        cells, wanted = super().cells(smoke), self.extension
        if wanted.data:
            _check(wanted.data, DATASETS.offered(), "data.no-dataset")
            self._refuse_nothing(names_in(cells, "dataset"), "data sets", "--data")
            cells = cells_of(cells, "dataset", wanted.data)
        if self.client_methods:
            _check(wanted.methods, METHODS.offered(), "research.no-such-method", of=" that values clients")
            return cells
        there, methods = names_in(cells, "method"), getattr(self.module, "METHODS", None)
        if wanted.methods:
            self._refuse_nothing(there, "methods", "--methods")
            known = methods.offered() if isinstance(methods, OpenMethods) else there
            _check(wanted.methods, known, "research.no-such-method", of=" here")
            return cells_of(cells, "method", wanted.methods)
        own = ROW_METHODS.added if isinstance(methods, OpenMethods) else ()
        return list(dict.fromkeys([*cells, *cells_of(cells, "method", own)]))

    def folder(self, output: Path, *, smoke: bool) -> Path:
        """Where its files are; the tables of this package are not overwritten."""
        place = super().folder(output, smoke=smoke)
        return place.with_name(place.name.replace(self.name, f"{self.name}-{self.extension.name}", 1))

    def command(self, *, smoke: bool = False, only: str = "") -> str:
        """What computes it on the command line."""
        own = {"--with": self.extension.file and Path(self.extension.file).name}
        own |= {"--data": ",".join(self.extension.data), "--methods": ",".join(self.extension.methods)}
        options = [word for option, given in own.items() if given for word in (option, given)]
        return f"{super().command(smoke=smoke, only=only)} {shlex.join(options)}"

    def _refuse_nothing(self, there: Collection[str], what: str, option: str) -> None:
        if not there:
            raise SettingsError("research.nothing-to-choose", name=self.name, what=what, given=option)


@dataclass(frozen=True)
class _Compute:
    """What a process computes: the file first, then the cell, among the methods that were chosen."""

    extension: Extension
    inner: Callable[[Any], list[Record]]

    def __call__(self, cell: Any) -> list[Record]:
        self.extension.run()
        with METHODS.narrowed(self.extension.methods or None):
            return self.inner(cell)


def extended(experiment: Experiment, extension: Extension) -> Experiment:
    """The experiment with what a researcher brings along; as it is where that is nothing."""
    if extension == Extension():
        return experiment
    own = {field.name: getattr(experiment, field.name) for field in fields(experiment)}
    return Extended(**own, extension=extension)


def names_in(cells: Sequence[Any], field: str) -> tuple[str, ...]:
    """The data sets, or the methods, of these cells, each once."""
    return tuple(dict.fromkeys(str(getattr(cell, field)) for cell in cells if hasattr(cell, field)))


def cells_of(cells: Sequence[Any], field: str, names: Sequence[str]) -> list[Any]:
    """The cells of these data sets, or methods: a new one has those of the first one with the usual number of cells.

    Cells of several kinds are looked at one kind at a time; a kind that has no such field is left out.

    Examples
    --------
    >>> from fedbary_lab.experiments.five_cases import Cell
    >>> there = [Cell("digits", 3, 1, 0), Cell("digits", 3, 2, 0), Cell("mnist", 3, 1, 0), Cell("mnist", 3, 2, 0)]
    >>> [str(cell) for cell in cells_of(there, "dataset", ["mine"])]
    ['mine, N = 3, case 1, seed 0', 'mine, N = 3, case 2, seed 0']
    """
    found: list[Any] = []
    for kind in dict.fromkeys(type(cell) for cell in cells if hasattr(cell, field)):
        counts = Counter(getattr(cell, field) for cell in cells if type(cell) is kind)
        usual = Counter(counts.values()).most_common(1)[0][0]
        like = next(name for name, count in counts.items() if count == usual)
        for name in dict.fromkeys(names):
            model = name if name in counts else like
            mine = [cell for cell in cells if type(cell) is kind and getattr(cell, field) == model]
            found += [replace(cell, **{field: name}) for cell in mine]
    return list(dict.fromkeys(found))


def _check(names: Sequence[str], known: Sequence[str], code: str, **facts: str) -> None:
    for name in names:
        if name not in known:
            guess = did_you_mean(name, known)
            raise SettingsError(code, name=name, guess=guess, known=", ".join(known), **facts)
