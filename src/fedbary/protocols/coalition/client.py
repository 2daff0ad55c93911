"""A client of the coalition protocol: a sketch client that adds its groups, or a consensus client as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fedbary.data.table import Table
from fedbary.errors import PrivacyError, ProtocolError
from fedbary.protocols.coalition.groups import Groups, told_groups
from fedbary.protocols.coalition.settings import Coalition
from fedbary.protocols.consensus.client import ConsensusClient
from fedbary.protocols.messages import Message, Reply, State, array_text, text_array
from fedbary.protocols.once import Once
from fedbary.protocols.randomness import derived_seed
from fedbary.protocols.sketch.client import SketchClient
from fedbary.protocols.state import below, under
from fedbary.space import Schema
from fedbary.valuation.rules import RowRules

if TYPE_CHECKING:
    import pandas as pd


_ONLY_ONE = "The server asked for a sketch's answer and for a consensus; only the first is given in a run."


class CoalitionClient:
    """The first message decides which protocol it speaks; sums for both could be subtracted from each other.

    With a reference its numbers and its groups are made from the same told rows, and are given once.
    """

    def __init__(self, settings: Coalition, table: Table, *, rules: RowRules, seed: int) -> None:
        self._settings, self._table, self._rules = settings, table, rules
        self._seed = derived_seed(seed, "groups") % 2**31
        self._once = Once()
        self._schema: Schema | None = None
        self._rides: SketchClient | ConsensusClient | None = None
        self._groups: Groups | None = None

    def answer(self, message: Message) -> Reply:
        """Answer as the protocol it rides on does; the answer to a sketch has the groups in it."""
        if message.kind != "sketch":
            return self._consensus().answer(message)
        self._once.check(message)
        schema = Schema.from_json(str(message.scalars["schema"]))
        schema.require(str(message.scalars["fingerprint"]))
        if schema.label.coordinates != "onehot":
            raise ProtocolError("Coalition values need classes as labels.")
        rides = self._sketch(schema)
        reply = rides.answer(message)
        assert self._groups is not None
        return replace(reply, arrays={**reply.arrays, **self._groups.to_arrays()})

    def row_values(self) -> pd.DataFrame:
        """Values of all rows by the protocol it rides on; never part of a reply."""
        if self._rides is None:
            raise ProtocolError("Row values need the server's first message.")
        return self._rides.row_values()

    def state(self) -> State:
        """What came from the server and what was asked; the rows stay where they are."""
        if self._rides is None:
            return {}
        return {
            "asked": text_array(self._once.to_text()),
            **({} if self._schema is None else {"schema": text_array(self._schema.to_json())}),
            **under("on.", self._rides.state()),
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        if not state:
            return
        self._once.from_text(array_text(state["asked"]))
        schema = Schema.from_json(array_text(state["schema"])) if "schema" in state else None
        (self._consensus() if schema is None else self._sketch(schema)).restore(below(state, "on."))

    def _sketch(self, schema: Schema) -> SketchClient:
        if self._rides is None:
            most, least = self._settings.points_per_class, self._settings.min_group
            told, self._groups = told_groups(self._table, schema, most=most, min_group=least, seed=self._seed)
            self._schema = schema
            self._rides = SketchClient(self._settings.sketch, self._table, rules=self._rules, told=told)
        if not isinstance(self._rides, SketchClient):
            raise PrivacyError(_ONLY_ONE)
        return self._rides

    def _consensus(self) -> ConsensusClient:
        if self._rides is None:
            self._rides = ConsensusClient(self._settings.consensus, self._table, rules=self._rules)
        if not isinstance(self._rides, ConsensusClient):
            raise PrivacyError(_ONLY_ONE)
        return self._rides
