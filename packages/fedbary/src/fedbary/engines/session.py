"""One run from its settings to its result: whoever takes part, whatever the engine, watched and resumable."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fedbary.compute import device_used
from fedbary.engines.checkpoint import Checkpoint
from fedbary.engines.events import NAME as EVENTS
from fedbary.engines.events import EventLog, EventObserver, Listener
from fedbary.engines.local import LocalEngine, one_thread
from fedbary.engines.reading_notes import with_reading_notes
from fedbary.engines.run import SILENT, Engine, Observer, Observers, Work, run
from fedbary.errors import SettingsError, Waiting
from fedbary.guard.questions import most_messages
from fedbary.notes import Note
from fedbary.protocols.cards import Cards
from fedbary.protocols.host import Host
from fedbary.protocols.messages import Settings
from fedbary.protocols.randomness import shared_secret
from fedbary.protocols.registry import PROTOCOLS, claims_of, only_in_one_process
from fedbary.space.row_identity import content_digest

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.errors import FedbaryError
    from fedbary.space.options import Space
    from fedbary.valuation.result import Valuation
    from fedbary.valuation.rows import RowRules

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
