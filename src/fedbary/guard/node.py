"""A data owner's node: answers the server's questions, remembers its state in files, and keeps its results."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.data.atomic import read_arrays, write_arrays
from fedbary.errors import ProtocolError, as_note
from fedbary.guard.envelope import Envelope
from fedbary.guard.guarded_client import GuardedClient, redacted_failure
from fedbary.guard.ledger import Ledger
from fedbary.guard.node_config import NodeConfig
from fedbary.guard.owner_results import save_rows
from fedbary.guard.policy import OwnerPolicy
from fedbary.notes import notes_from_text, notes_to_text
from fedbary.protocols.forms import Exchange, check_message
from fedbary.protocols.messages import (
    ClientProtocol,
    Failure,
    Message,
    Reply,
    Settings,
    State,
    array_text,
    below,
    text_array,
    under,
)
from fedbary.protocols.randomness import shared_secret
from fedbary.protocols.registry import PROTOCOLS, exchanges_of
from fedbary.strict_json import read_json
from fedbary.valuation.rules import RowRules
from fedbary.wording import as_plain

if TYPE_CHECKING:
    from fedbary.data.table import Table

STATE, LOG = "state.npz", "errors.log"
_LONGEST_LINE = 2000
_LONGEST_SETTINGS = 2**20
# The last message of protocols that do not name one after which row values are final.
FINISH = "finish"


@dataclass(frozen=True)
class Asked:
    """The protocol as the server asks for it; the owner's policy has the last word."""

    protocol: Settings
    rules: RowRules
    simulation: Mapping[str, Any]

    def to_json(self) -> str:
        """As text for every message, so that a node needs nothing but the message."""
        content = {"protocol": self.protocol.name, "options": asdict(self.protocol), "rules": asdict(self.rules)}
        return json.dumps(content | {"simulation": dict(self.simulation)}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Asked:
        """Read it back; a server that asks for something unknown is refused."""
        try:
            content = read_json(text, longest=_LONGEST_SETTINGS)
            protocol = PROTOCOLS[content["protocol"]](**content["options"])
            return cls(protocol, RowRules(**content["rules"]), dict(content["simulation"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ProtocolError("guard.settings-unknown") from error


def answer(
    message: Message, envelope: Envelope, config: NodeConfig, partition: int | None
) -> tuple[Reply | Failure, Envelope]:
    """What leaves the node for a message: the answer, or a code with public facts that says why there is none.

    The last message gets the same answer again, from the file, so that a server may repeat itself.
    """
    own = replace(envelope, name=config.name, settings="")
    epsilon = None
    try:
        asked = Asked.from_json(envelope.settings)
        check_message({FINISH: Exchange(), **exchanges_of(asked.protocol.name)}, asked.protocol.name, message)
        epsilon = getattr(asked.protocol, "epsilon", None)
        reply, flagged = _answer(message, envelope, asked, config, partition)
        return reply, replace(own, flagged=flagged)
    except Exception as error:
        _log(error, config)
        return redacted_failure(error, epsilon), own


def _answer(
    message: Message, envelope: Envelope, asked: Asked, config: NodeConfig, partition: int | None
) -> tuple[Reply | Failure, int | None]:
    folder = config.run_folder(envelope.session)
    state = read_arrays(folder / STATE)
    step = int(state.get("step", 0))
    if step and step == envelope.step and array_text(state["last.digest"]) == _question(message):
        return _last_reply(state)
    if envelope.step != step + 1:
        raise ProtocolError("guard.out-of-step", asked=envelope.step, here=step + 1)
    client = _client(asked, config, partition, envelope.session)
    if state:
        client.restore(below(state, "client."))
    reply = Reply(message.round) if message.kind == FINISH else _respond(client, message, config)
    if isinstance(reply, Failure):
        # What was asked counts even where it was refused; otherwise a server could ask until it is answered.
        _save(folder, {**_without_client(state), **under("client.", client.state())})
        return reply, None
    flagged = None
    if message.kind == FINISH or message.kind in asked.protocol.row_values_after:
        # In a simulation nobody would look at a report of each of perhaps a thousand clients.
        table = _table(config, _as_json(asked.simulation), None) if partition is None and config.report else None
        results = config.output / envelope.session
        save_rows(client, asked.protocol, asked.rules, config, folder=results, table=table)
        flagged = client.flag_count() if isinstance(client, GuardedClient) else None
    _save(folder, {**_replied(message, reply, envelope.step, flagged), **under("client.", client.state())})
    return reply, flagged


def _respond(client: ClientProtocol, message: Message, config: NodeConfig) -> Reply | Failure:
    if isinstance(client, GuardedClient):
        return client.respond(message, log=lambda error: _log(error, config))
    try:
        return client.answer(message)
    except Exception as error:
        _log(error, config)
        return Failure.of(error).redacted()


def _log(error: Exception, config: NodeConfig) -> None:
    """Write the whole text of an error down, for the owner alone."""
    note = as_note(error)
    line = f"{datetime.now(UTC).isoformat(timespec='seconds')} {note.code} {as_plain(str(note), _LONGEST_LINE)}\n"
    with suppress(OSError):  # a full disk must not hide why there is no answer
        config.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(config.home / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(file, "a", encoding="utf-8") as log:
            log.write(line)


def _client(asked: Asked, config: NodeConfig, partition: int | None, session: str) -> ClientProtocol:
    """The owner's half behind its policy and ledger; in a simulation the owners are one, who needs neither."""
    table = _table(config, _as_json(asked.simulation), partition)
    if partition is not None:
        secret = shared_secret(int(asked.simulation.get("run_seed", 0)))
        return asked.protocol.client(table, rules=asked.rules, seed=secret)
    policy = OwnerPolicy() if config.policy is None else OwnerPolicy.load(config.policy)
    return GuardedClient.for_table(
        table,
        asked.protocol,
        policy=policy,
        ledger=Ledger(config.home / "ledger.jsonl"),
        run=session,
        seed=config.secret(),
        rules=asked.rules,
    )


def _as_json(simulation: Mapping[str, Any]) -> str:
    return json.dumps(dict(simulation), sort_keys=True)


@lru_cache(maxsize=4)
def _table(config: NodeConfig, simulation: str, partition: int | None) -> Table:
    return config.table(json.loads(simulation), partition)


def _question(message: Message) -> str:
    return f"{message.kind} {message.round} {message.digest}"


def _replied(message: Message, reply: Reply, step: int, flagged: int | None) -> dict[str, np.ndarray]:
    """How far the node is, and its last answer."""
    content = {"round": reply.round, "scalars": dict(reply.scalars), "flagged": flagged}
    return {
        "step": np.array(step),
        "last.digest": text_array(_question(message)),
        "last.scalars": text_array(json.dumps(content, default=_plain)),
        "last.notes": text_array(notes_to_text(reply.notes)),
        **under("last.array.", reply.arrays),
    }


def _without_client(state: State) -> dict[str, np.ndarray]:
    return {key: array for key, array in state.items() if not key.startswith("client.")}


def _save(folder: Path, state: State) -> None:
    write_arrays(folder / STATE, state, mode=0o600)


def _last_reply(state: State) -> tuple[Reply, int | None]:
    """What `_replied` holds."""
    content = json.loads(array_text(state["last.scalars"]))
    notes = notes_from_text(array_text(state["last.notes"]))
    reply = Reply(int(content["round"]), content["scalars"], below(state, "last.array."), notes)
    return reply, content["flagged"]


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent")
