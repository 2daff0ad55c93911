"""One call of the command line: how much it says, and the log that it may keep.

The log is made to be sent to somebody else. Each line is JSON, and holds nothing but

- the time, the version of fedbary, of Python and of the system, and how many cores there are,
- the command and the names of the options that were given, never their values,
- phases and events in words of this package, with counts and durations; clients by number, never by name,
- how the command ended: exit code, seconds, peak memory, and of an error its type and the line of fedbary's code.

Paths, names of clients, files and columns, labels, row ids, row values and the words of an error are never in it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, TextIO

import typer
from typer.core import TyperOption

from fedbary import __version__
from fedbary.errors import SettingsError
from fedbary.filling import COMMAND, speaking
from fedbary.satellites import EXTRAS

if TYPE_CHECKING:
    from fedbary.engines.events import Event

_ANSWERS = {"client-replied": "answered", "client-failed": "failed"}
_MOMENTS = {
    "nodes-joined": "the nodes have joined",
    "run-started": "the run has started",
    "run-finished": "the run has finished",
    "run-stopped": "the run has stopped",
}
Fact = str | int | float | list[str]
# Joiners belong to emoji and to Persian or Indic words; every other invisible character could move the cursor,
# colour the screen or turn the writing direction.
_JOINERS = "\u200c\u200d"


def visible(text: object) -> str:
    """The text without characters that a terminal would act on."""
    return "".join(c if c.isprintable() or c in _JOINERS else "�" for c in str(text))


def one_line(text: str) -> str:
    """The text as a single visible line."""
    return visible(" ".join(text.split()))


class Interrupted(Exception):  # noqa: N818 - no error: the user wanted it; and typer swallows KeyboardInterrupt
    """The user stopped the command; the message says what is left of its work."""


@contextmanager
def on_interrupt(sentence: Callable[[], str]) -> Iterator[None]:
    """Where the work inside is interrupted, say what is left of it, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(sentence()) from None


@dataclass
class Session:
    """What was asked of the whole command line, and the log."""

    debug: bool = False
    quiet: bool = False
    verbose: bool = False
    json: bool = False
    arguments: list[str] = field(default_factory=list)
    configured: dict[str, Any] = field(default_factory=dict)
    _log: TextIO | None = None
    _started: float = field(default_factory=time.perf_counter)
    _numbers: dict[str, int] = field(default_factory=dict)

    @property
    def listens(self) -> bool:
        return self.verbose or self._log is not None

    def keep_log(self, path: Path) -> None:
        """Append to this file from now on; only its owner can read it."""
        if self._log is not None:
            self._log.close()
        try:
            self._log = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8")
        except OSError as error:
            raise SettingsError("cli.log-unwritable", file=str(path), why=error.strerror) from error

    def begin(self, context: typer.Context) -> None:
        if self.quiet and self.verbose:
            raise SettingsError("cli.quiet-and-verbose")
        given = [
            parameter.opts[-1] if isinstance(parameter, TyperOption) else parameter.metavar or parameter.name.upper()
            for parameter in context.command.params
            if parameter.name and getattr(context.get_parameter_source(parameter.name), "name", "") == "COMMANDLINE"
        ]
        self.note(
            "started",
            version=__version__,
            python=".".join(map(str, sys.version_info[:3])),
            system=sys.platform,
            cores=os.cpu_count() or 1,
            command=context.command_path,
            options=given,
        )

    def note(self, what: str, **facts: Fact) -> None:
        """Append a line to the log; see the top of this file for what may be in it."""
        if self._log is None:
            return
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "what": what, **facts}
        self._log.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._log.flush()

    def say(self, words: str) -> None:
        """Tell the user, on standard error, if more words were asked for."""
        if self.verbose:
            print(f"{self.elapsed():7.1f} s  {one_line(words)}", file=sys.stderr, flush=True)

    def phase(self, words: str) -> None:
        """Say and note that something begins; the words must come from this package."""
        self.say(words)
        self.note("phase", phase=words, at=round(self.elapsed(), 3))

    def record(self, event: Event) -> None:
        """Say and note an event of a run; the log gets neither names nor reasons."""
        if words := _words(event):
            self.say(words)
        asked = event.detail if event.kind == "server-busy" else event.asked
        facts: dict[str, Fact] = {"kind": event.kind, "exchange": event.exchange, "asked": asked}
        facts |= {"done": event.done, "total": event.total, "at": round(self.elapsed(), 3)}
        if event.client:
            facts["client"] = self._numbers.setdefault(event.client, len(self._numbers) + 1)
        self.note("event", **{name: fact for name, fact in facts.items() if fact not in ("", 0)})

    def end(self, code: int, error: BaseException | None = None) -> None:
        facts: dict[str, Fact] = {"code": code, "seconds": round(self.elapsed(), 3)}
        if error is not None:
            facts |= {"error": type(error).__name__, "raised_at": _place(error)}
        if peak := peak_megabytes():
            facts["peak_megabytes"] = peak
        self.note("ended", **facts)
        if self._log is not None:
            self._log.close()
            self._log = None

    def typed_command(self, *more: str) -> str:
        """The command that was typed, with more arguments, to be copied into a shell."""
        arguments = [*self.arguments, *(argument for argument in more if argument not in self.arguments)]
        return " ".join([program(), *map(quote, arguments)])

    def elapsed(self) -> float:
        return time.perf_counter() - self._started


_current: ContextVar[Session | None] = ContextVar("fedbary's session", default=None)


def session() -> Session:
    """The session of the command that runs; a silent one where none does."""
    return _current.get() or Session()


@contextmanager
def new_session(arguments: list[str]) -> Iterator[Session]:
    """The session of a command with these arguments, which `session` finds while it runs."""
    begun = Session(arguments=arguments)
    before = _current.set(begun)
    try:
        with speaking(COMMAND):
            yield begun
    finally:
        _current.reset(before)


def _words(event: Event) -> str:
    """An event for the user who runs the command, and may know names and reasons; nothing where it says nothing new."""
    place = f"exchange {event.exchange} ({event.asked})"
    if event.kind == "server-busy":
        return event.detail
    if event.kind in _ANSWERS:
        why = f": {event.detail}" if event.detail else ""
        return f"{place}: {event.client} {_ANSWERS[event.kind]}, {event.done} of {event.total}{why}"
    if event.kind in ("round-started", "round-finished"):
        return f"{place} {event.kind.removeprefix('round-')}"
    return _MOMENTS.get(event.kind, "")


def program() -> str:
    """How this program was called: after `make demo` it is not on the PATH."""
    called = Path(sys.argv[0])
    if shutil.which("fedbary") or called.name != "fedbary":
        return "fedbary"
    return quote(min(str(called), os.path.relpath(called), key=len))


def _place(error: BaseException) -> str:
    """The innermost line of fedbary's own code, or of another package of this repository, that the error passed."""
    core = Path(__file__).resolve().parents[2]
    others = [Path(str(sys.modules[name].__file__)).parent for name in EXTRAS if name in sys.modules]
    place, trace = "", error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        for home in (core, *others):
            if file.is_relative_to(home):
                place = f"{file.relative_to(core if home == core else home.parent)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def peak_megabytes() -> int | None:
    """The most memory that this process has used so far, where the system tells."""
    # A process inherits ru_maxrss from the one that has started it; Linux knows better.
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) * 1024 / 1e6)
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1e6 if sys.platform == "darwin" else 1e3))
