"""How a networked run ended, in a file of its output folder: for whoever started it and cannot see its process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.data.atomic import write_atomically
from fedbary.errors import FedbaryError, ProtocolError, as_note
from fedbary.notes import Note
from fedbary.strict_json import read_json
from fedbary.valuation.outcome import Status
from fedbary.wording import as_plain

if TYPE_CHECKING:
    from fedbary.valuation.result import Valuation

NAME = "outcome.json"
REPORT = "report.html"
_VERSION, _KEY, _LONGEST = 1, "fedbary_outcome", 2**20
_LONGEST_TEXT = 5000
_TOO_FEW = frozenset({"engines.too-few-nodes", "engines.nobody-came"})
_BUG, _BAD_INPUT, _SOME_FAILED, _INTERRUPTED = 1, 2, 3, 130


class RunStatus(StrEnum):
    """How far a run is, or how it ended.

    ``refused``: what was asked cannot be done, for a wrong setting or a reference that cannot be read, or no owner
    allows it. ``some-failed``: the result is there, and not all clients are in it.
    """

    RUNNING = "running"
    DONE = "done"
    SOME_FAILED = "some-failed"
    REFUSED = "refused"
    TOO_FEW_NODES = "too-few-nodes"
    FAILED = "failed"


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended.

    Parameters
    ----------
    status : RunStatus
        How it ended, or that it goes on.
    exit_code : int, optional
        What the command that waits for the run ends with, as all commands do: 0 all clients valued, 3 some failed and
        the result is written, 2 something must be mended or allowed, 1 a bug of ours, 130 interrupted.
    code, text : str
        Why, for programs and in words.
    engine, run, session : str
        The network, what it calls the run, and what the nodes call it.
    report : str, optional
        The report's file beside this one, once it is there.
    """

    status: RunStatus = RunStatus.RUNNING
    exit_code: int | None = None
    code: str | None = None
    text: str = ""
    engine: str = ""
    run: str | None = None
    session: str | None = None
    report: str | None = None

    def failed(self, error: BaseException) -> RunOutcome:
        """The outcome of a run that an exception ended."""
        note = as_note(error)
        match error:
            case FedbaryError():
                status = RunStatus.TOO_FEW_NODES if error.code in _TOO_FEW else RunStatus.REFUSED
                return replace(self, status=status, exit_code=_BAD_INPUT, code=error.code, text=str(note))
            case KeyboardInterrupt() | SystemExit():
                return replace(self, status=RunStatus.FAILED, exit_code=_INTERRUPTED, text="interrupted")
            case OSError():  # a full disk, or a folder that cannot be written: nothing that is ours to mend
                where = f"'{error.filename}': " if error.filename else ""
                text = f"{where}{error.strerror or error}"
                return replace(self, status=RunStatus.FAILED, exit_code=_BAD_INPUT, code=note.code, text=text)
        return replace(self, status=RunStatus.FAILED, exit_code=_BUG, code=note.code, text=str(note))

    def ended(self, result: Valuation) -> RunOutcome:
        """The outcome of a run that has a result, whatever became of its clients."""
        count, failed = len(result.outcomes), tuple(result.failed)
        written = replace(self, report=REPORT)
        if not failed:
            note = Note("engines.all-valued", {"count": count})
            return replace(written, status=RunStatus.DONE, exit_code=0, text=str(note))
        if all(outcome.status is Status.REFUSED for outcome in result.outcomes.values()):
            whys = {outcome.notes[0].to_text(): str(outcome.notes[0]) for outcome in result.outcomes.values()}
            note = Note("engines.all-refused", {"why": "; ".join(whys.values())})
            return replace(written, status=RunStatus.REFUSED, exit_code=_BAD_INPUT, code=note.code, text=str(note))
        note = Note("engines.some-failed", {"failed": len(failed), "count": count, "names": failed})
        return replace(written, status=RunStatus.SOME_FAILED, exit_code=_SOME_FAILED, code=note.code, text=str(note))

    def save(self, folder: Path) -> Path:
        """Write it, whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        said = as_plain(self.text, _LONGEST_TEXT)  # a path may hold what is no Unicode
        content = json.dumps({_KEY: _VERSION, **asdict(replace(self, text=said))}, indent=2)
        return write_atomically(folder / NAME, lambda draft: draft.write_text(content + "\n", encoding="ascii"))


@contextmanager
def failure_recorded(folder: Path, begun: Callable[[], RunOutcome]) -> Iterator[None]:
    """Write how a run ended if it ends badly; the exception goes on, so that the network hears of it, too."""
    try:
        yield
    except BaseException as error:
        with suppress(OSError):  # a full disk must not hide why the run failed
            begun().failed(error).save(folder)
        raise


def read_outcome(folder: str | Path) -> RunOutcome | None:
    """What the run in a folder wrote of its end so far; None where no run has begun there."""
    file = Path(folder) / NAME
    try:
        content = read_json(file.read_text(encoding="utf-8"), longest=_LONGEST)
        return _read(content)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise ProtocolError("engines.outcome-unreadable", file=str(file)) from error


def _read(content: Mapping[str, Any]) -> RunOutcome:
    given = dict(content)
    if given.pop(_KEY) != _VERSION:
        raise ValueError("an outcome of another version")
    texts = (given.get(name) for name in ("code", "text", "engine", "run", "session"))
    code = given.get("exit_code")
    if not all(isinstance(text, str | None) for text in texts) or not (code is None or type(code) is int):
        raise TypeError("an outcome of other types")
    if given.get("report") not in (None, REPORT):  # it is opened in a browser
        raise ValueError("a report that no run writes")
    return RunOutcome(**{**given, "status": RunStatus(given["status"])})
