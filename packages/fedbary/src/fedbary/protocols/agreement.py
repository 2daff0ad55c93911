"""How a federation without a reference agrees on a schema: counts and sums in, schema out.

Two small rounds at most: ``describe`` (columns, means and variances, frequent categories and classes) and,
where the metric or the label weight needs it, ``moments`` (mean outer products of the features).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from fedbary.data.table import Table
from fedbary.errors import FedbaryError, PrivacyError, ProtocolError
from fedbary.forms import array_text, text_array
from fedbary.protocols.forms import AGREEMENT, fitting_replies
from fedbary.protocols.messages import Failure, Message, Reply, State
from fedbary.protocols.released_table import OneRelease, is_plain
from fedbary.space.description import Description, check_table, describe
from fedbary.space.encode import column_kind
from fedbary.space.fit import Moments, agree, needs_moments, table_moments, with_moments
from fedbary.space.options import Space
from fedbary.space.schema import Schema
from fedbary.wording import on_one_line


class SchemaAgreement:
    """The server's half of the agreement."""

    def __init__(self, settings: Space, *, seed: int) -> None:
        self._settings = settings
        self._seed = seed
        self._draft: Schema | None = None
        self.schema: Schema | None = None

    def message(self) -> Message:
        """What every client is asked next."""
        if self._draft is None:
            settings = {f"space.{key}": value for key, value in asdict(self._settings).items() if value is not None}
            return Message("describe", 0, settings)
        return Message("moments", 0, {"schema": self._draft.to_json()})

    def absorb(self, replies: Mapping[str, Reply | Failure]) -> dict[str, Failure]:
        """Take the answers; returns the clients that are out, with the reason."""
        form = AGREEMENT["describe"].reply
        if self._draft is not None:
            form = AGREEMENT["moments"].reply.sized(width=self._draft.value_width)
        replies = fitting_replies(replies, replies, form, number=0)
        reasons = {name: reply for name, reply in replies.items() if isinstance(reply, Failure)}
        answers = {name: reply for name, reply in replies.items() if isinstance(reply, Reply)}
        if self._draft is not None:
            names = ("mean", "second", "between")
            parts = {client: Moments(*(reply.arrays[name] for name in names)) for client, reply in answers.items()}
            possible = [part for part in parts.values() if _of_some_rows(part)]
            if possible:
                self.schema = with_moments(self._draft, self._settings, possible)
            false = Failure.of(ProtocolError("protocols.claim-moments"))
            return reasons | {client: false for client, part in parts.items() if not _of_some_rows(part)}
        descriptions: dict[str, Description] = {}
        for name, reply in answers.items():
            try:
                descriptions[name] = Description.from_json(str(reply.scalars["description"]))
            except FedbaryError as error:
                reasons[name] = Failure.of(error)
        if not descriptions:
            return reasons
        self._draft, different = agree(descriptions, self._settings, seed=self._seed)
        if not needs_moments(self._draft, self._settings):
            self.schema = self._draft
        return reasons | {name: Failure(why) for name, why in different.items()}

    def state(self) -> State:
        """Arrays from which `restore` goes on."""
        drafts = {"draft": self._draft, "schema": self.schema}
        return {key: text_array(schema.to_json()) for key, schema in drafts.items() if schema is not None}

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        self._draft = Schema.from_json(array_text(state["draft"])) if "draft" in state else None
        self.schema = Schema.from_json(array_text(state["schema"])) if "schema" in state else None


def _of_some_rows(moments: Moments) -> bool:
    """Whether any rows can have these moments: E[x]² ≤ E[E[x|class]²] ≤ E[x²] in each coordinate, and symmetric."""
    second, between, squares = np.diag(moments.second), np.diag(moments.between), moments.mean**2
    rounding = 1e-9 * (1.0 + second.max(initial=0.0))
    inside = (squares <= between + rounding).all() and (between <= second + rounding).all()
    sizes = np.sqrt(np.maximum(second, 0.0))
    bounded = all((np.abs(m) <= np.outer(sizes, sizes) + rounding).all() for m in (moments.second, moments.between))
    return bool(inside and bounded and all(np.allclose(m, m.T) for m in (moments.second, moments.between)))


def answer_agreement(table: Table, released: OneRelease, message: Message) -> Reply:
    """A client's answers to ``describe`` and ``moments``, both made of its released rows."""
    if message.kind == "describe":
        chosen = {key.removeprefix("space."): value for key, value in message.scalars.items()}
        space = Space(**chosen)  # type: ignore[arg-type]
        told = released.of(check_table(table, space))
        description = describe(told.rows, space, min_group=told.least)
        return Reply(message.round, {"description": description.to_json()})
    draft = Schema.from_json(str(message.scalars["schema"]))
    require_own_kinds(table, draft)
    told = released.of(draft.label.kind)
    part = table_moments(told.rows, draft, min_group=told.least)
    second, between = part.second, part.between
    if told.least > 1 and not (told.products and is_plain(told)):  # a card would not tell products of columns either
        second, between = (np.diag(np.diag(one)) for one in (second, between))
    return Reply(message.round, {}, {"mean": part.mean, "second": second, "between": between})


def require_own_kinds(table: Table, schema: Schema) -> None:
    """Refuse an agreed schema that reads numbers as categories: it would count the rows that have a chosen number."""
    for column in schema.columns:
        if column.name in table.columns:
            own = column_kind(table.columns[column.name])
            if (own == "categorical") != (column.kind == "categorical"):
                raise PrivacyError("protocols.kind-differs", column=on_one_line(column.name), kind=column.kind, own=own)
