"""The state of a run on disk: one NPZ file of plain arrays, replaced atomically after every round."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.columns.column import UNREAD
from fedbary.compute import device_used
from fedbary.data.atomic import read_arrays, write_arrays
from fedbary.data.frames import WITHOUT_LABEL
from fedbary.data.table import Table
from fedbary.engines.events import EVENTS, EventLog, EventObserver, Listener
from fedbary.engines.local import LocalEngine, one_thread
from fedbary.engines.run import SILENT, Engine, Observer, Observers, Work, run
from fedbary.errors import FedbaryError, ProtocolError, SettingsError, Waiting
from fedbary.forms import array_text, below, text_array, under
from fedbary.guard.policy import most_messages
from fedbary.notes import Note
from fedbary.protocols.cards import Cards
from fedbary.protocols.host import Host, shared_secret
from fedbary.protocols.messages import ServerProtocol, Settings, State, injective_digest
from fedbary.protocols.registry import PROTOCOLS, claims_of, only_in_one_process
from fedbary.space.description import LEFT_OUT, OF_FEW
from fedbary.space.row_identity import content_digest
from fedbary.valuation.result import Valuation

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.errors import FedbaryError
    from fedbary.space.options import Space
    from fedbary.valuation.result import Valuation
    from fedbary.valuation.rows import RowRules

CHECKPOINT = "checkpoint.npz"
_SEAL = "digest"


class Checkpoint(Observer):
    """Keeps the states of the protocol and of the engine after every round, until the run is finished.

    Parameters
    ----------
    folder : path
        Where the file is.
    resume : bool
        Whether to read what an interrupted run left there.
    keep : bool
        Whether the file stays when the run is finished, so that the same call gives its result again.
    """

    def __init__(self, folder: Path, *, resume: bool, keep: bool = False) -> None:
        self._file, self._keep = folder / CHECKPOINT, keep
        self._stored = _read_checkpoint(self._file) if resume else {}
        self._identity = ""

    @property
    def engine(self) -> State:
        """The engine's state before the interruption; empty where there was none."""
        return below(self._stored, "engine/")

    def restore(self, protocol: ServerProtocol, identity: str) -> None:
        """Let the protocol go on, if there is something to go on from and it is of the same run."""
        self._identity = identity
        if not self._stored:
            return
        if "identity" not in self._stored or array_text(self._stored["identity"]) != identity:
            raise ProtocolError("engines.checkpoint-of-another-run", file=str(self._file))
        protocol.restore(below(self._stored, "server/"))

    def absorbed(self, protocol: ServerProtocol, engine: Engine) -> None:
        """Write both states."""
        arrays = {"identity": text_array(self._identity)}
        arrays |= under("server/", protocol.state()) | under("engine/", engine.state())
        write_arrays(self._file, {**arrays, _SEAL: text_array(injective_digest(CHECKPOINT, {}, arrays))})

    def finished(self, result: Valuation) -> None:  # noqa: ARG002 - an observer's signature
        """Nothing is left to go on with."""
        if not self._keep:
            self._file.unlink(missing_ok=True)


def _read_checkpoint(file: Path) -> State:
    try:
        stored = read_arrays(file)
        if stored and array_text(stored.pop(_SEAL, text_array(""))) != injective_digest(CHECKPOINT, {}, stored):
            raise ValueError("it was changed")
        return stored
    except ValueError as error:
        raise ProtocolError("engines.checkpoint-damaged", file=str(file), why=str(error)) from error


_OF_A_ROW = ("example", "row", "found")


def with_reading_notes(
    result: Valuation, reference: Table | None, tables: Mapping[str, Table | FedbaryError]
) -> Valuation:
    """The result with a note on each column that somebody's reading left out, instead of one that it is lacking.

    Owners on other machines have these notes in their own logs; of theirs only what the protocol tells is known.
    """
    read = {n: table for n, table in tables.items() if isinstance(table, Table) and result.outcomes[n].ok}
    unread: dict[str, dict[str, Note]] = {}
    for whose, table in (*([] if reference is None else [("", reference)]), *read.items()):
        for note in table.notes:
            if note.code == UNREAD:
                unread.setdefault(str(note.facts["column"]), {})[whose] = note
    columns = [_of_column(found, len(read)) for found in unread.values()]
    agreed = [
        note for note in result.notes if note.code not in (LEFT_OUT, OF_FEW) or note.facts["column"] not in unread
    ]
    outcomes = dict(result.outcomes)
    for name, table in read.items():
        unlabelled = tuple(note for note in table.notes if note.code == WITHOUT_LABEL)
        outcomes[name] = replace(outcomes[name], notes=(*outcomes[name].notes, *unlabelled))
    unlabelled = () if reference is None else tuple(note for note in reference.notes if note.code == WITHOUT_LABEL)
    said = (*(Note(note.code, {**note.facts, "where": "reference"}) for note in unlabelled), *columns, *agreed)
    return replace(result, notes=said, outcomes=outcomes)


def _of_column(found: Mapping[str, Note], clients: int) -> Note:
    """The first note on a column, without what a row holds, and with the client's name where others can use it."""
    whose, note = next(iter(found.items()))
    why = note.facts["why"]
    assert isinstance(why, Note)
    told = Note(why.code, {name: fact for name, fact in why.facts.items() if name not in _OF_A_ROW})
    where = {} if not whose or len(found) == clients else {"where": whose}
    return Note(note.code, {"column": note.facts["column"], "why": told, **where})


_PACKAGES = ("fedbary", "numpy", "scipy", "POT", "scikit-learn")


def run_session(
    protocol: Settings,
    engine: Engine,
    *,
    reference: Table | None,
    space: Space,
    rules: RowRules,
    seed: int,
    tables: Mapping[str, Table | FedbaryError] | None = None,
    progress: Listener | None = None,
    require_card: bool = False,
) -> Valuation:
    """Ask who takes part, run the protocol with them, and say in the result how it was made.

    With ``require_card`` a protocol without cards is refused: its numbers are claims that nothing is held against.
    """
    if require_card and protocol.name != Cards.name:
        raise SettingsError("engines.no-card", protocol=protocol.name)
    if not isinstance(engine, LocalEngine):
        if type(protocol) is not PROTOCOLS.get(protocol.name):
            raise only_in_one_process(protocol.name)
        if alone := getattr(protocol, "only_in_one_process", ""):
            raise SettingsError("engines.only-in-one-process", protocol=protocol.name, setting=alone)
    work = Work(protocol, rules, tables, shared_secret(seed))
    goes_on = engine.patient and most_messages(protocol) > 1
    resume = engine.resume or goes_on
    log = None if engine.folder is None else EventLog(engine.folder / EVENTS, append=resume)
    checkpoint = None if engine.folder is None else Checkpoint(engine.folder, resume=resume, keep=goes_on)
    listeners = [listener for listener in (progress, log) if listener is not None]
    observer: Observer = EventObserver(*listeners) if listeners else SILENT
    if checkpoint is not None:
        observer = Observers(observer, checkpoint)
    # Only the log hears of a bad end: whoever listens here meets the exception itself.
    with one_thread(), nullcontext() if log is None else log.until_stopped():
        clients = engine.clients(work, {} if checkpoint is None else checkpoint.engine, observer)
        settings = _settings(rules, seed, reference, engine)
        secret = secrets.randbits(62) if engine.networked else None
        host = Host(engine.map, observer.busy, secret, engine.one_answer)
        server = protocol.server(clients, reference, space, rules=rules, seed=seed, host=host)
        if checkpoint is not None:
            checkpoint.restore(server, _identity(protocol, space, settings, clients))
        observer.started([engine.label(client) for client in clients])
        try:
            result = run(server, engine, observer)
        except Waiting:
            if goes_on and checkpoint is not None:  # what was asked stays asked, with the same randomness
                checkpoint.absorbed(server, engine)
            raise
    result = with_reading_notes(result, reference, tables or {})
    notes = result.notes
    if tables is None:  # in one process nobody claims anything
        said = "held-against-cards" if protocol.name == Cards.name else "self-reported"
        notes = (*notes, Note(f"valuation.{said}", {"numbers": claims_of(protocol.name)}))
    return replace(result, settings=result.settings | settings | {"device": device_used()}, notes=notes)


def _settings(rules: RowRules, seed: int, reference: Table | None, engine: Engine) -> dict[str, Any]:
    """What a result says of how it was made."""
    return {
        **asdict(rules),
        "seed": seed,
        "reference_rows": None if reference is None else len(reference),
        "reference_digest": None if reference is None else content_digest(reference),
        "versions": {name: version(name) for name in _PACKAGES},
        **engine.facts(),
    }


def _identity(protocol: Settings, space: Space, settings: Mapping[str, Any], clients: list[str]) -> str:
    """What must be the same for a checkpoint to fit: the settings and who takes part."""
    content = {
        **asdict(protocol),
        "protocol": protocol.name,
        "space": asdict(space),
        **settings,
        "clients": clients,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
