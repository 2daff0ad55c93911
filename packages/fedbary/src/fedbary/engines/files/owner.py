"""An owner's side without a server: a card that nobody asked for, and answers to questions that came as files.

Policy and ledger are those of the owner's node (`fedbary.guard.node`); nothing here answers past them.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fedbary.data.atomic import private_folder, write_atomically
from fedbary.data.table import Table
from fedbary.engines.files.message_file import FileKind, MessageFile
from fedbary.engines.packed import packed_reply
from fedbary.errors import ProtocolError
from fedbary.guard import node
from fedbary.guard.guarded_client import reply_digest
from fedbary.guard.node import Envelope, asked_reading, own_table
from fedbary.guard.node_config import NodeConfig
from fedbary.protocols.cards import Cards
from fedbary.protocols.messages import Failure, Message, Reply
from fedbary.space.options import Task
from fedbary.space.schema import Schema
from fedbary.strict_json import read_json
from fedbary.valuation.rows import RowRules

_CARD_OF_RUN, _LONGEST = "card.json", 2**20


def card_question(task: Task = "auto", schema: Schema | None = None) -> Message:
    """The question whose answer is a card: nobody steers it."""
    public = {} if schema is None else {"schema": schema.to_json(), "fingerprint": schema.fingerprint}
    return Message("card", 0, {"task": task, **public})


def make_card(
    config: NodeConfig,
    settings: Cards,
    *,
    schema: Schema | None = None,
    task: Task = "auto",
    seen: Callable[[Table], object] = lambda _: None,
) -> MessageFile | Failure:
    """The card of an owner's table as a file, or what refuses it; the card that left before is the same file again.

    A card begins a run, which the owner names: the model that comes back for it is the run's next message. A table that
    cannot be read, or whose columns are not the schema's, raises what is wrong in full, and counts nothing: nobody but
    the owner is there to hear it. ``seen`` is called with the table as it was read.
    """
    question = card_question(task, schema)
    seen(_tried_at_home(question, settings, config))
    asked = node.Question(settings, RowRules(), {}).to_json()
    envelope = Envelope(secrets.token_hex(16), "card", 0, 1, settings=asked)
    found, own = node.answer(question, envelope, config)
    if isinstance(found, Failure):
        return found
    session = _begun(config, asked, found, envelope.session)
    return MessageFile.of(FileKind.CARD, packed_reply(found, replace(own, session=session)))


def answer_file(file: MessageFile, config: NodeConfig) -> MessageFile:
    """The answer to a question or a model; a refusal is an answer, too."""
    message, envelope = file.message()
    if file.kind is FileKind.MODEL:
        # How a card was made was the owner's choice, and stays it.
        envelope = replace(envelope, settings=_settings_of(config, envelope.session))
    found, own = node.answer(message, envelope, config)
    return MessageFile.of(FileKind.ANSWER, packed_reply(found, own))


def _tried_at_home(question: Message, settings: Cards, config: NodeConfig) -> Table:
    """Make the card and throw it away: what would fail must not use up the owner's question. Returns the table."""
    table = own_table(config, asked_reading(question), private=settings.epsilon is not None)
    settings.client(table, rules=RowRules(), seed=0).answer(question)
    return table


def _begun(config: NodeConfig, asked: str, card: Reply, session: str) -> str:
    """The run in which this card left first."""
    digest = reply_digest(card)
    for folder in sorted((config.home / "runs").iterdir(), key=lambda folder: folder.stat().st_mtime_ns):
        if folder.name != session and _content(folder).get("card") == digest:
            return folder.name
    text = json.dumps({"card": digest, "settings": asked})
    file = private_folder(config.run_folder(session)) / _CARD_OF_RUN
    write_atomically(file, lambda draft: draft.write_text(text, encoding="utf-8"), mode=0o600)
    return session


def _settings_of(config: NodeConfig, session: str) -> str:
    content = _content(config.run_folder(session))
    if not content:
        raise ProtocolError("engines.model-without-card")
    return str(content["settings"])


def _content(folder: Path) -> dict[str, object]:
    try:
        return dict(read_json((folder / _CARD_OF_RUN).read_text(encoding="utf-8"), longest=_LONGEST))
    except (OSError, ValueError, TypeError):
        return {}
