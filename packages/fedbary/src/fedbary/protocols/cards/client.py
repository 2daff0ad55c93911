"""A client of the cards protocol: one card leaves; the model that comes back values its rows at home."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import numpy as np

from fedbary.data.table import Table
from fedbary.errors import DataError, FedbaryError, PrivacyError, ProtocolError
from fedbary.protocols.cards import Cards
from fedbary.protocols.cards.card import Card
from fedbary.protocols.cards.exact_card import card_of_different_rows
from fedbary.protocols.cards.guards import guarded_card
from fedbary.protocols.cards.looked_at import LookedAt, worth_keeping
from fedbary.protocols.cards.narrow import as_in, by_name, narrowed
from fedbary.protocols.cards.private_card import private_card
from fedbary.protocols.cards.row_scores import USUAL_TAIL, SeenRows, own_tail, score_rows, seen_rows
from fedbary.protocols.cards.temperature import own_temperature, refined
from fedbary.protocols.first_message import FirstMessage
from fedbary.protocols.messages import (
    Message,
    Reply,
    Scalar,
    State,
    array_text,
    below,
    text_array,
    under,
)
from fedbary.protocols.sketch.numbers import about_rows
from fedbary.space.description import check_table, without_names
from fedbary.space.encode import require_columns
from fedbary.space.options import Space, Task
from fedbary.space.row_identity import row_keys
from fedbary.space.schema import Schema
from fedbary.valuation.groups import Groups
from fedbary.valuation.rules import RowRules

if TYPE_CHECKING:
    from fedbary.valuation.scored_rows import ScoredRows


class CardsClient:
    """Holds the rows, and the owner's policy on what may leave."""

    def __init__(self, settings: Cards, table: Table, *, rules: RowRules) -> None:
        self._settings, self._table, self._rules = settings, table, rules
        self._first = FirstMessage()
        self._left: dict[str, Reply] = {}
        self._schema: Schema | None = None
        self._arrays: Mapping[str, np.ndarray] = {}
        self._tail = USUAL_TAIL
        self._seen: SeenRows | None = None
        self._looked: LookedAt | None = None
        self._scored: ScoredRows | None = None

    def answer(self, message: Message) -> Reply:
        """Answer with the card, or with what the model says of the rows; the same message gets the same answer."""
        if message.kind not in ("card", "fit", "model"):
            raise ProtocolError("protocols.unknown-message", protocol="cards", kind=message.kind)
        if len(self._table) < self._settings.min_group:
            raise DataError("schema.too-few-rows", rows=len(self._table), least=self._settings.min_group)
        schema = _schema(message)
        if schema is not None:
            require_columns(as_in(self._table, schema), schema)
        if message.kind == "card" and schema is None and self._settings.epsilon is not None:
            raise PrivacyError("protocols.card-needs-schema")
        # From here on even a refusal depends on the rows, so the message is counted first.
        self._first.check(message)
        if message.kind != "card":
            assert schema is not None
            self._schema, self._seen, self._scored = schema, None, None
            self._arrays = dict(message.arrays)
            self._tail = float(message.scalars.get("tail", USUAL_TAIL))
            if "refine" in message.scalars:
                self._refine(schema, float(message.scalars["refine"]))
        if message.kind not in self._left:
            self._left[message.kind] = self._reply(message, schema)
        return replace(self._left[message.kind], round=message.round)

    def row_values(self) -> ScoredRows:
        """Both channels, value, suspects, reasons and suggestions; never part of a reply."""
        if self._schema is None:
            raise ProtocolError("protocols.rows-before-model")
        return self._scored or self._score(None)

    def state(self) -> State:
        """What came from the server and what went to it; the rows stay where they are."""
        left = {kind: reply.scalars for kind, reply in self._left.items()}
        state = {"first": text_array(self._first.to_text()), "left": text_array(json.dumps(left))}
        for kind, reply in self._left.items():
            state |= under(f"reply.{kind}.", reply.arrays)
        if self._schema is not None:
            told = {"schema": text_array(self._schema.to_json()), "tail": np.array(self._tail)}
            state |= {**told, **under("array.", self._arrays)}
        return state

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        if not state:
            return
        self._first.from_text(array_text(state["first"]))
        left = json.loads(array_text(state["left"]))
        self._left = {kind: Reply(0, scalars, below(state, f"reply.{kind}.")) for kind, scalars in left.items()}
        if "schema" in state:
            self._schema, self._arrays = Schema.from_json(array_text(state["schema"])), below(state, "array.")
            self._tail = float(state["tail"])

    def _reply(self, message: Message, schema: Schema | None) -> Reply:
        """Everything that leaves this machine."""
        if message.kind == "card":
            return card_reply(self._card(schema, _task(message)))
        assert schema is not None
        told = self._settings.epsilon is None and self._settings.numbers
        if message.kind == "fit":
            return Reply(0, self._fit(schema) if told else {})
        # What the rows are like beside the card, epsilon would not cover.
        return Reply(0, {"rows": len(self._table), **(self._numbers(schema) if told else {})})

    @property
    def _least(self) -> int:
        """Fewest different rows that decide what leaves beside the card; 1 where nothing does."""
        told = self._settings.epsilon is None and self._settings.numbers
        return self._settings.min_group if told and self._settings.policy != "trusted" else 1

    def _card(self, schema: Schema | None, task: Task) -> Card:
        settings = self._settings
        if settings.epsilon is not None:
            assert schema is not None
            return private_card(self._table, schema, epsilon=settings.epsilon, delta=settings.delta)
        kind, table = check_table(self._table, Space(task=task)), without_names(self._table)
        if settings.policy == "trusted":
            card = card_of_different_rows(table, kind, told=lambda table: narrowed(by_name(table)))
            return replace(card, rows=len(table), shared=True)
        return guarded_card(narrowed(by_name(table)), min_group=settings.min_group, shared=settings.shared, task=task)

    def _refine(self, schema: Schema, reach: float) -> None:
        """The received model at a temperature of this client's own."""
        if schema.label.kind == "number":
            return
        if (seen := self._look(schema, ranked=False)) is not None:
            self._arrays = refined(self._arrays, seen, schema, reach, groups=self._groups)

    def _fit(self, schema: Schema) -> dict[str, Scalar]:
        """What the model should be like to suit these rows."""
        seen = self._look(schema, ranked=False)
        tail = own_tail(seen, least=self._settings.min_group)
        if seen is None or schema.label.kind == "number":
            return {"tail": tail}
        return {"temperature": own_temperature(seen, schema, groups=self._groups), "tail": tail}

    def _look(self, schema: Schema, *, ranked: bool) -> SeenRows | None:
        """What the received model says of the rows; many are not read again for another temperature."""
        if self._looked is not None and (again := self._looked.by(schema, self._arrays)) is not None:
            return again
        self._looked = None
        kept = worth_keeping(len(self._table), schema)
        seen = seen_rows(as_in(self._table, schema), schema, self._arrays, ranked=ranked or kept)
        if kept and seen is not None:
            self._looked = LookedAt.kept(schema, self._arrays, seen)
        return seen

    @property
    def _groups(self) -> Groups | None:
        """Which rows are copies, where no fewer than some different ones may decide what leaves."""
        if self._least == 1:
            return None
        return Groups(np.unique(row_keys(self._table), return_inverse=True)[1], self._least)

    def _numbers(self, schema: Schema) -> dict[str, Scalar]:
        """Estimates of how many rows are bad; none where the model is no use."""
        groups = self._groups
        try:
            facts = self._score(groups).facts
        except FedbaryError as error:
            logging.getLogger("fedbary.owner").warning("No numbers about the rows left: %s", error)
            return {}
        assert self._seen is not None
        cells = self._seen.cells
        if self._scored is not None:  # all that is needed of rows that were looked at
            self._seen = None
        copies = np.arange(len(self._table)) if groups is None else groups.copies
        return about_rows(facts, as_in(self._table, schema), schema, cells, copies, min_group=self._least)

    def _score(self, groups: Groups | None) -> ScoredRows:
        assert self._schema is not None
        if self._seen is None:
            self._seen = self._look(self._schema, ranked=True)
            self._looked = None
        found = score_rows(self._seen, self._arrays, rules=self._rules, tail=self._tail, groups=groups)
        if groups is None:
            self._scored = found
        return found


def card_reply(card: Card) -> Reply:
    """A card as what leaves its owner."""
    header, arrays = card.to_parts()
    second = arrays.pop("second")
    return Reply(0, {"rows": card.rows, "card": header}, {**arrays, "second" if card.full else "squares": second})


def card_of(reply: Reply) -> Card:
    """The card in such a reply."""
    arrays = dict(reply.arrays)
    arrays["second"] = arrays["second"] if "second" in arrays else arrays.pop("squares")
    return Card.from_parts(str(reply.scalars["card"]), arrays)


def _task(message: Message) -> Task:
    asked = str(message.scalars.get("task", "auto"))
    tasks: dict[str, Task] = {name: name for name in get_args(Task)}
    if asked not in tasks:
        raise ProtocolError("protocols.message-unfit", kind=message.kind, name="task")
    return tasks[asked]


def _schema(message: Message) -> Schema | None:
    if "schema" not in message.scalars:
        return None
    schema = Schema.from_json(str(message.scalars["schema"]))
    schema.require(str(message.scalars.get("fingerprint")))
    return schema
