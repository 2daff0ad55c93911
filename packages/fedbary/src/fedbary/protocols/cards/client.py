"""A client of the cards protocol: one card leaves; the model that comes back values its rows at home."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import numpy as np

from fedbary.data.table import Table
from fedbary.errors import FedbaryError, PrivacyError, ProtocolError
from fedbary.forms import below, under
from fedbary.judging.evidence import Groups
from fedbary.judging.federation import Judgement
from fedbary.judging.judge import Judge
from fedbary.judging.model import JudgingModel
from fedbary.protocols.cards import Cards
from fedbary.protocols.cards.card import Card
from fedbary.protocols.cards.exact_card import as_in, card_of_different_rows
from fedbary.protocols.cards.forms import EXCHANGES
from fedbary.protocols.cards.private_card import private_card
from fedbary.protocols.client import Client, judge_of, judged_alone, label_evidence_of, row_columns, sent_schema
from fedbary.protocols.halves import Private
from fedbary.protocols.messages import Message, Reply
from fedbary.protocols.released_table import Release, guarded_card
from fedbary.space.description import check_table
from fedbary.space.encode import require_columns
from fedbary.space.options import Space, Task
from fedbary.space.row_identity import row_keys
from fedbary.space.schema import Schema
from fedbary.valuation.rows import RowRules

if TYPE_CHECKING:
    from fedbary.valuation.rows import ScoredRows


class CardsClient(Client):
    """Sends the card; received, under the kinds of the messages, are the model, common weights and the judgement."""

    def __init__(
        self,
        settings: Cards,
        table: Table,
        *,
        rules: RowRules,
        seed: int,  # noqa: ARG002 - nothing is drawn
        release: Release | None,
    ) -> None:
        self._settings, self._trusted = settings, settings.policy == "trusted"
        super().__init__(settings, table, rules=rules, release=release, trusted=self._trusted)
        # Of the released rows, and of all.
        self._judges: dict[str, Judge] = {}

    def answer(self, message: Message) -> Reply:
        """Answer with the card, or with what the model says of the rows; the same message gets the same answer."""
        if message.kind not in ("card", "model", "evidence", "flags"):
            raise ProtocolError("protocols.unknown-message", protocol="cards", kind=message.kind)
        self.require_rows()
        schema = sent_schema(message)
        if schema is not None:
            require_columns(as_in(self._asked, schema), schema)
        if message.kind == "card" and schema is None and self._private:
            raise PrivacyError("protocols.card-needs-schema")
        if message.kind in ("evidence", "flags") and self._schema is None:
            raise ProtocolError("protocols.rows-before-model")
        # From here on even a refusal depends on the rows, so the message is counted first.
        self._first.check(message)
        if message.kind == "model":
            self._schema, self._received, self._judges = schema, {}, {}
        if message.kind != "card":
            self._received |= under(f"{message.kind}.", message.arrays)
            self._scored = None
        if message.kind not in self._left:
            self._left[message.kind] = self._reply(message, schema)
        return replace(self._left[message.kind], round=message.round)

    def row_values(self) -> ScoredRows:
        """Both channels, value, flags, suspects, reasons and suggestions; never part of a reply."""
        if self._schema is None:
            raise ProtocolError("protocols.rows-before-model")
        if self._scored is None:
            judge = self._judge(self._table, self._groups(self._table, self._settings.min_group))
            weights = self._received.get("evidence.weights")
            judgement = None
            if "flags.numbers" in self._received:
                judgement = Judgement.from_arrays(below(self._received, "flags."))
            judged, judgement = judged_alone(judge, weights, judgement, rate=self._rules.fdr)
            self._scored = row_columns(
                as_in(self._table, self._schema), self._schema, judge, judged, judgement, rules=self._rules
            )
            self._judges = {}
        return self._scored

    def _reply(self, message: Message, schema: Schema | None) -> Reply:
        """Everything that leaves this machine."""
        if message.kind == "card":
            asked = str(message.scalars.get("task", "auto"))
            tasks: dict[str, Task] = {name: name for name in get_args(Task)}
            if asked not in tasks:
                raise ProtocolError("protocols.message-unfit", kind=message.kind, name="task")
            return card_reply(self._card(schema, tasks[asked]))
        rows = {"rows": len(self._asked)} if message.kind == "model" else {}
        # What the rows are like beside the card, epsilon would not cover.
        if self._private or not self._settings.numbers or message.kind == "flags":
            return Reply(0, rows)
        try:
            return Reply(0, rows, self._told(message))
        except FedbaryError as error:
            logging.getLogger("fedbary.owner").warning("Nothing about the rows left: %s", error)
            return Reply(0, rows)

    def _told(self, message: Message) -> Mapping[str, np.ndarray]:
        """Weights that suit these rows; or, by weights that came, what they say of the rows."""
        schema = self._schema
        assert schema is not None
        released = self._released.of(schema.label.kind)
        groups = self._groups(released.rows, released.least)
        judge = self._judge(released.rows, groups)
        if message.kind == "model" and "alone" not in message.scalars:
            return {"weights": judge.own_weights(groups)}
        judged, _ = judged_alone(judge, message.arrays.get("weights"), None, rate=self._rules.fdr)
        told = judge.evidence(judged, groups).to_arrays()
        found = label_evidence_of(as_in(released.rows, schema), schema, judge, groups)
        return told if found is None else {**told, **found.to_arrays()}

    def _card(self, schema: Schema | None, task: Task) -> Card:
        if isinstance(trust := self._settings.trust, Private):
            assert schema is not None
            return private_card(self._asked, schema, epsilon=trust.epsilon, delta=trust.delta)
        released = self._released.of(check_table(self._table, Space(task=task)))
        if self._trusted:
            card = card_of_different_rows(released.rows, released.kind, told=released.as_a_card)
        else:
            card = guarded_card(released)
        return replace(card, rows=released.declared, shared=self._trusted or self._settings.shared)

    def _groups(self, rows: Table, least: int) -> Groups | None:
        """Which rows are copies, where no fewer than some different ones may decide what leaves."""
        if self._trusted:
            return None
        return Groups(np.unique(row_keys(rows), return_inverse=True)[1], least)

    def _judge(self, rows: Table, groups: Groups | None) -> Judge:
        """The received model at work on rows, which are read once for all messages."""
        schema, whose = self._schema, "own" if rows is self._table else "released"
        assert schema is not None
        if whose not in self._judges:
            model = JudgingModel.from_arrays(below(self._received, "model."), width=schema.value_width)
            self._judges[whose] = judge_of(as_in(rows, schema), schema, model, projected=True, groups=groups)
        return self._judges[whose]


def card_reply(card: Card) -> Reply:
    """A card as what leaves its owner."""
    header, arrays = card.to_parts()
    second = arrays.pop("second")
    return Reply(0, {"rows": card.rows, "card": header}, {**arrays, "second" if card.full else "squares": second})


def card_of(reply: Reply) -> Card:
    """The card in such a reply; one that has not the form of a card is refused before anything of it is used."""
    if (error := EXCHANGES["card"].reply.misfit(reply.scalars, reply.arrays)) is not None:
        raise ProtocolError("protocols.not-a-card", why=str(error)) from error
    arrays = dict(reply.arrays)
    arrays["second"] = arrays["second"] if "second" in arrays else arrays.pop("squares")
    return Card.from_parts(str(reply.scalars["card"]), arrays)
