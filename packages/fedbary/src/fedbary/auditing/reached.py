"""How a server's messages reach an owner behind its policy: in one process, as files, or at a node of a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fedbary.data.table import Table
from fedbary.engines.files.message_file import FileKind, MessageFile
from fedbary.engines.files.owner import answer_file, make_card
from fedbary.engines.packed import packed_message
from fedbary.guard import node
from fedbary.guard.envelope import Envelope
from fedbary.guard.node_config import NodeConfig, TableSource
from fedbary.guard.policy import OwnerPolicy
from fedbary.protocols.cards import Cards
from fedbary.protocols.messages import Failure, Message, Reply, Settings
from fedbary.space.schema import Schema
from fedbary.valuation.rows import RowRules

Ask = Callable[[Message], Reply | Failure]


def reached(
    engine: str, table: Callable[[], Table], settings: Settings, policy: OwnerPolicy, *, folder: Path, run: str
) -> Ask:
    """A run at a node, or by files, of the owner whose home this folder is: whatever the engine, it has one ledger.

    A Flower node and a FLARE site are both `fedbary.guard.node`.
    """
    rules, data = folder / "policy.toml", folder / "mine.csv"
    rules.write_text(policy.to_toml(), encoding="utf-8")
    asked = node.Asked(settings, RowRules(), {}).to_json()
    envelope = Envelope(run, settings=asked)

    def ask(message: Message) -> Reply | Failure:
        nonlocal envelope
        envelope = replace(envelope, kind=message.kind, round=message.round, step=envelope.step + 1)
        rows, label = table().to_frame(), table().label_name
        config = NodeConfig(folder, folder / "results", "owner", label=label, policy=rules, report=False)
        if engine == "node":
            return node.answer(message, envelope, replace(config, source=TableSource(lambda: rows)))[0]
        rows.to_csv(data, index=False)
        config = replace(config, data=data)
        try:
            if message.kind != "card":
                kind = FileKind.MODEL if isinstance(settings, Cards) else FileKind.QUESTION
                return answer_file(MessageFile.of(kind, packed_message(message, envelope)), config).reply()[0]
            assert isinstance(settings, Cards)
            schema = message.scalars.get("schema")
            made = make_card(config, settings, schema=None if schema is None else Schema.from_json(str(schema)))
            if isinstance(made, Failure):
                return made
            found, own = made.reply()
        except Exception as error:  # said to the owner alone
            return Failure.of(error).redacted()
        envelope = replace(envelope, session=own.session)
        return found

    return ask
