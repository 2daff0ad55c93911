"""The target without validation data: a federated, robust, class-wise Wasserstein barycenter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from fedbary.checks import whole
from fedbary.errors import SettingsError, wrong_parameter
from fedbary.protocols.host import ALONE, Host
from fedbary.space.options import Space
from fedbary.valuation.rules import RowRules

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.protocols.consensus.client import ConsensusClient
    from fedbary.protocols.consensus.server import ConsensusServer

Weights = Literal["robust", "uniform", "rows"]


@dataclass(frozen=True)
class Consensus:
    """The clients agree on a target, their barycenter, and are compared with it: no reference is needed.

    In every round the server sends the support points of each class, a client answers where optimal transport to
    its own rows of the class takes them on average, and the server averages: FedAvg with the support as the model.

    Parameters
    ----------
    points_per_class : int
        Most support points for each class (regression: ten times as many for all rows). A class gets fewer where
        the clients' rows are few.
    rounds : int
        Most rounds; fewer when the support has settled.
    starts : int
        Supports that descend side by side, in the same messages; the best one is kept.
    weights : {"robust", "uniform", "rows"}
        What a client counts: ``uniform`` and ``rows`` (different rows) minimise Σ λ·W², ``robust`` minimises ΣW,
        so that a client of noise cannot drag the target along.
    min_group : int
        Fewest different rows behind anything that leaves a party: any mean or support point of a client's. Nothing is
        told of a class with fewer; and one with fewer than ``min_group`` times as many rows as it has support points
        does not shape them.
    tolerance : float
        Stop when the support moves by less than this share of the spread inside classes.
    trust_server : bool
        All owners trust the server with their rows; needed over a network. It sees averages of few rows, and
        differences of averages are rows. Every owner's policy has to say the same.

    Notes
    -----
    The mean of a client's answers in a class is its exact class mean, which it also sends at the start.

    Examples
    --------
    >>> from fedbary.protocols.consensus import Consensus
    >>> Consensus(weights="uniform").rounds
    8
    """

    points_per_class: int = 10
    rounds: int = 8
    starts: int = 2
    weights: Weights = "robust"
    min_group: int = 5
    tolerance: float = 1e-4
    trust_server: bool = False

    name: ClassVar[str] = "consensus"
    needs_reference: ClassVar[bool] = False
    row_values_after: ClassVar[frozenset[str]] = frozenset({"scores"})

    def __post_init__(self) -> None:
        for field in ("points_per_class", "rounds", "starts", "min_group"):
            whole(getattr(self, field), field, "Consensus", least=1)
        if self.weights not in ("robust", "uniform", "rows"):
            raise wrong_parameter("weights", "Consensus", "one of robust, uniform, rows", self.weights)
        if not self.tolerance >= 0.0:
            raise wrong_parameter("tolerance", "Consensus", "a number of at least 0", self.tolerance)
        if not isinstance(self.trust_server, bool):
            raise wrong_parameter("trust_server", "Consensus", "True or False", self.trust_server)

    def space(self, space: Space | None) -> Space:
        """The space in which labels and features weigh the same, where the user did not choose another."""
        return (space or Space()).with_defaults(metric="within", labels="onehot")

    def server(
        self,
        clients: Sequence[str],
        reference: Table | None,
        space: Space,
        *,
        rules: RowRules,  # noqa: ARG002 - nothing clean exists, so nothing is flagged
        seed: int,
        host: Host = ALONE,
    ) -> ConsensusServer:
        """The coordinator's half."""
        from fedbary.protocols.consensus.server import ConsensusServer

        if reference is not None:
            raise SettingsError("protocols.reference-not-used")
        if space.labels not in ("onehot", "numeric"):
            raise SettingsError("protocols.labels-not-shared", labels=str(space.labels))
        return ConsensusServer(self, clients, space, seed=seed, host=host)

    def client(self, table: Table, *, rules: RowRules, seed: int) -> ConsensusClient:  # noqa: ARG002 - nothing is drawn
        """A data owner's half."""
        from fedbary.protocols.consensus.client import ConsensusClient

        return ConsensusClient(self, table, rules=rules)

    def most_points(self, kind: str) -> int:
        """Most points of one group: a class, or all rows where the label is a number."""
        return self.points_per_class * (10 if kind == "number" else 1)
