"""A client of the coalition protocol: sends its groups once, or takes part in a consensus as it is."""

from __future__ import annotations

from fedbary.data.table import Table
from fedbary.errors import PrivacyError, ProtocolError
from fedbary.protocols.agreement import require_own_kinds
from fedbary.protocols.coalition import Coalition
from fedbary.protocols.coalition.groups import client_groups
from fedbary.protocols.consensus.client import ConsensusClient
from fedbary.protocols.first_message import FirstMessage
from fedbary.protocols.messages import Message, Reply, State, array_text, below, require_same_rows, text_array, under
from fedbary.protocols.randomness import derived_seed
from fedbary.protocols.sketch.client import SketchClient
from fedbary.space.k_anonymous import refuse_few
from fedbary.space.row_identity import content_digest
from fedbary.space.schema import Schema
from fedbary.valuation.rules import RowRules
from fedbary.valuation.scored_rows import ScoredRows


class CoalitionClient:
    """The first message decides: groups with a reference, a consensus without one; sums for both could be subtracted.

    With a reference all that leaves is its row count and its groups: every row is in one mean at most. The sketch's
    own numbers it computes for itself, to value its rows with.
    """

    def __init__(self, settings: Coalition, table: Table, *, rules: RowRules, seed: int) -> None:
        self._settings, self._table, self._rules = settings, table, rules
        self._seed = derived_seed(seed, "groups") % 2**31
        self._once = FirstMessage()
        self._data = content_digest(table)
        self._asked = ""  # which of the two protocols was asked for first
        self._rides: SketchClient | ConsensusClient | None = None

    def answer(self, message: Message) -> Reply:
        """Answer a sketch with the row count and the groups, anything else as a consensus client does."""
        self._bind("sketch" if message.kind == "sketch" else "consensus")
        if message.kind != "sketch":
            return self._riding().answer(message)
        # From here on even a refusal depends on the rows, so the message is counted first.
        self._once.check(message)
        schema = Schema.from_json(str(message.scalars["schema"]))
        schema.require(str(message.scalars["fingerprint"]))
        if schema.label.kind != "classes" or schema.label.coordinates != "onehot":
            raise ProtocolError("protocols.labels-not-classes")
        require_own_kinds(self._table, schema)
        most, least = self._settings.points_per_class, self._settings.min_group
        refuse_few(self._table, least)
        self._riding().answer(message)  # stays here
        groups = client_groups(self._table, schema, most=most, min_group=least, seed=self._seed)
        return Reply(message.round, {"rows": len(self._table)}, groups.to_arrays())

    def row_values(self) -> ScoredRows:
        """Values of all rows by the protocol it rides on; never part of a reply."""
        if self._rides is None:
            raise ProtocolError("protocols.rows-before-message")
        return self._rides.row_values()

    def state(self) -> State:
        """What came from the server and what was asked; the rows stay where they are."""
        return {
            "asked": text_array(self._once.to_text()),
            "protocol": text_array(self._asked),
            "data": text_array(self._data),
            **({} if self._rides is None else under("on.", self._rides.state())),
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` returned; refuses if the table is another one."""
        if not state:
            return
        require_same_rows(state, self._data, self._table.origin)
        self._once.from_text(array_text(state["asked"]))
        self._asked = array_text(state["protocol"])
        if part := below(state, "on."):
            self._riding().restore(part)

    def _bind(self, protocol: str) -> None:
        if self._asked not in ("", protocol):
            raise PrivacyError("protocols.groups-and-consensus")
        self._asked = protocol

    def _riding(self) -> SketchClient | ConsensusClient:
        if self._rides is None:
            self._rides = (
                SketchClient(self._settings.sketch, self._table, rules=self._rules)
                if self._asked == "sketch"
                else ConsensusClient(self._settings.consensus, self._table, rules=self._rules)
            )
        return self._rides
