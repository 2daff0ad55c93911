"""The coordinator's side of a networked run: its config, how it ended, and the folder with its result."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.checks import number, whole
from fedbary.data.atomic import write_atomically
from fedbary.engines.events import EVENTS, EventLog
from fedbary.engines.networked import Patience
from fedbary.engines.nodes import Attendance
from fedbary.engines.session import run_session
from fedbary.errors import FedbaryError, ProtocolError, SettingsError, as_note, wrong_parameter
from fedbary.notes import Note
from fedbary.protocols.cards import Cards
from fedbary.protocols.messages import Scalar, Settings
from fedbary.protocols.registry import DEFAULT, protocol_named
from fedbary.space.options import Space
from fedbary.strict_json import read_json
from fedbary.valuation.outcome import Status
from fedbary.valuation.rows import RowRules
from fedbary.views.tables import valuation_text
from fedbary.wording import as_plain

if TYPE_CHECKING:
    from pathlib import Path

    from fedbary.data.table import Table
    from fedbary.engines.networked import NetworkedEngine
    from fedbary.valuation.result import Valuation

OUTCOME = "outcome.json"
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
        return write_atomically(folder / OUTCOME, lambda draft: draft.write_text(content + "\n", encoding="ascii"))


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
    file = Path(folder) / OUTCOME
    try:
        content = read_json(file.read_text(encoding="utf-8"), longest=_LONGEST)
        return _outcome_of(content)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise ProtocolError("engines.outcome-unreadable", file=str(file)) from error


def _outcome_of(content: Mapping[str, Any]) -> RunOutcome:
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


_SPACE, _SIMULATED = "space-", ("dataset", "partition", "clients", "rows")
# The keys of a run config that are of no protocol, with their defaults.
OWN_KEYS: Mapping[str, Scalar] = {
    "protocol": "",
    "reference": "",
    "label": "label",
    "id": "",
    "output": "fedbary-out",
    "resume": False,
    "seed": 0,
    "nodes": "",
    "num-nodes": 0,
    "min-nodes": 0,
    "join-deadline": 120.0,
    "settle": 3.0,
    "timeout": 600.0,
    "retries": 1,
    "poll": 0.2,
    "fdr": 0.1,
    "rule": "bh",
    "require-card": False,
    "train-rounds": 0,
}
_OWNER = "the run config"


@dataclass(frozen=True)
class RunConfig:
    """Everything that ``flwr run --run-config``, or the config of a FLARE job, can say."""

    protocol: Settings
    rules: RowRules
    space: Space
    seed: int
    simulation: Mapping[str, Any]
    reference: Path | None
    label: str
    id: str | None
    output: Path
    resume: bool
    attendance: Attendance
    patience: Patience
    require_card: bool = False
    train_rounds: int = 0

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> RunConfig:
        """Read a run config; an empty text stands for a setting's default."""
        given = {key: value for key, value in config.items() if value != ""}
        own = {**OWN_KEYS, **given}
        simulation = {key: given[key] for key in _SIMULATED if key in given}
        name = str(given.get("protocol", DEFAULT))
        settings = protocol_named(name)
        known = {field.name.replace("_", "-") for field in fields(settings)}  # type: ignore[arg-type]
        for key in given:
            if key not in (*OWN_KEYS, *_SIMULATED, *known) and not key.startswith(_SPACE):
                raise SettingsError("engines.unknown-run-config", key=key, owner=f"the {name} protocol")
        protocol = settings(**{key.replace("-", "_"): given[key] for key in given if key in known})
        seed = whole(own["seed"], "seed", _OWNER, least=0)
        if simulation:
            simulation |= {"seed": seed, "run_seed": seed}
        return cls(
            protocol=protocol,
            rules=RowRules(**{key: given[key] for key in ("fdr", "rule") if key in given}),
            simulation=simulation,
            space=protocol.space(_space(given)),
            seed=seed,
            reference=Path(str(own["reference"])) if own["reference"] else None,
            label=str(own["label"]),
            id=str(own["id"]) if own["id"] else None,
            output=output_folder(config),
            resume=bool(own["resume"]),
            attendance=_attendance(own),
            patience=Patience(
                number(own["timeout"], "timeout", _OWNER),
                number(own["poll"], "poll", _OWNER),
                whole(own["retries"], "retries", _OWNER, least=0),
            ),
            require_card=bool(own["require-card"]),
            train_rounds=whole(own["train-rounds"], "train-rounds", _OWNER, least=0),
        )


def output_folder(config: Mapping[str, Any]) -> Path:
    """Where the server writes, also where all else in a run config is wrong."""
    return Path(str(config.get("output") or "fedbary-out"))


def _attendance(given: Mapping[str, Any]) -> Attendance:
    """Everybody, unless names or numbers say otherwise; a simulation has as many nodes as ``clients``.

    Its server begins while nodes are still registered, so that only a number tells when all are there.
    """
    counted = {key: whole(given.get(key, 0), key, _OWNER, least=0) for key in ("num-nodes", "min-nodes", "clients")}
    names = tuple(filter(None, (name.strip() for name in str(given.get("nodes", "")).split(","))))
    most = counted["num-nodes"] or len(names) or counted["clients"]
    for key in ("num-nodes", "min-nodes"):
        limit = len(names) if key == "num-nodes" else most
        if limit and counted[key] > limit:
            raise wrong_parameter(key, _OWNER, f"at most {limit}, as no more nodes are asked", counted[key])
    wanted = counted["num-nodes"] or (0 if names else counted["clients"])
    deadline, settle = (
        number(given.get(key, default), key, _OWNER, zero=True)
        for key, default in (("join-deadline", Attendance.deadline), ("settle", Attendance.settle))
    )
    return Attendance(wanted or None, counted["min-nodes"] or None, deadline, names, settle)


def _space(given: Mapping[str, Any]) -> Space:
    chosen = {key.removeprefix(_SPACE).replace("-", "_"): given[key] for key in given if key.startswith(_SPACE)}
    known = {field.name for field in fields(Space)}
    for key in chosen:
        if key not in known:
            raise SettingsError("engines.unknown-run-config", key=f"{_SPACE}{key}", owner="the space")
    return Space(**chosen)


@contextmanager
def preparing(folder: Path, engine: str, run_id: str | None = None) -> Iterator[None]:
    """Let the folder and its events say what fails before there is an engine, such as a wrong run config."""
    with (
        failure_recorded(folder, lambda: RunOutcome(engine=engine, run=run_id)),
        EventLog(folder / EVENTS, append=True).until_stopped(),
    ):
        yield


def coordinate(engine: NetworkedEngine, run: RunConfig) -> Valuation:
    """Value the nodes as the run config says; the folder has the result and its report, the screen the verdict.

    How the run ended is in the folder, too, whatever happens (`fedbary.engines.coordinator`).
    """

    def begun() -> RunOutcome:
        return RunOutcome(engine=engine.name, run=engine.run_id, session=engine.session)

    with failure_recorded(run.output, begun):
        begun().save(run.output)
        result = valued(engine, run)
        result.save(run.output)
        result.report(run.output / REPORT)
        begun().ended(result).save(run.output)
    sys.stdout.write(valuation_text(result) + "\n")
    return result


def valued(engine: NetworkedEngine, run: RunConfig) -> Valuation:
    """The result of a run."""
    with EventLog(run.output / EVENTS, append=run.resume).until_stopped():
        reference = reference_of(run)
    return run_session(
        run.protocol,
        engine,
        reference=reference,
        space=run.space,
        rules=run.rules,
        seed=run.seed,
        require_card=run.require_card,
    )


def reference_of(run: RunConfig) -> Table | None:
    """The server's validation rows, if a run has any."""
    if run.reference is not None:
        from fedbary.data.files import read

        return read(run.reference, run.label, id=run.id)
    alone = isinstance(run.protocol, Cards) and not run.protocol.worth
    if run.simulation and not alone:
        from fedbary.guard.node import reference_table

        return reference_table(run.simulation)
    return None
