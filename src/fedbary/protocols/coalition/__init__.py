"""Shapley values without training: clients send class-wise centroids once, the server plays coalitions of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from fedbary.checks import whole
from fedbary.errors import SettingsError, wrong_parameter
from fedbary.protocols.consensus import Consensus
from fedbary.protocols.host import ALONE, Host
from fedbary.protocols.sketch import Sketch
from fedbary.space.options import Space
from fedbary.valuation.rules import RowRules

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.protocols.coalition.client import CoalitionClient
    from fedbary.protocols.coalition.server import CoalitionServer

Utility = Literal["mean", "ridge", "soft", "wasserstein", "coverage"]

# 2^20 coalitions take minutes even with a linear model; every further client doubles that.
_MOST_EXACT = 20


@dataclass(frozen=True)
class Coalition:
    """What each client adds to the others: Shapley values of a game that is played on sketches, not on rows.

    Rides on the message of `Sketch` with a reference and on `Consensus` without one, so that row values come along.
    With a reference a client answers with its row count and, for each class, the means of groups of its rows; without
    one the averages of the consensus serve, and nothing more leaves. From these the server classifies the reference
    rows (without one: rows drawn around the consensus) for every coalition of clients, and shares out the accuracy.
    Distance and quality are estimated from the same groups, without an interval.

    Parameters
    ----------
    points_per_class : int
        Most groups of a client's rows for each class.
    min_group : int
        Fewest different rows behind anything that leaves a party: any mean. Nothing is told of a class with fewer.
    utility : {"mean", "ridge", "soft", "wasserstein", "coverage"}
        What a coalition achieves. ``ridge`` and ``soft``: accuracy of a ridge regression, or of a soft minimum of
        distances with the coalition's class prior, made from its groups; ``mean`` of both. ``wasserstein``: how much
        nearer to the target than its centre the coalition's groups are, in W². ``coverage``: how much of the target
        has a group of the coalition nearby.
    exact_up_to : int
        Up to so many clients all 2^N coalitions are played, beyond that random permutations, with standard errors.
    permutations : int
        Most permutations; fewer when all standard errors are below a hundredth of what there is to share.
    trust_server : bool
        All owners trust the server with their rows; needed over a network. It sees averages of few rows, and
        differences of averages are rows. Every owner's policy has to say the same.

    Examples
    --------
    >>> import fedbary as fb
    >>> digits = fb.datasets.load("digits")
    >>> parts = fb.partitions.by_size(digits.train, [300, 300, 30], seed=0).clients
    >>> result = fb.value(parts, digits.test, protocol=fb.Coalition(), seed=0)
    >>> result.ranking()["client"].iloc[-1], result.scores.evaluations
    ('client_3', 8)
    """

    points_per_class: int = 10
    min_group: int = 5
    utility: Utility = "mean"
    exact_up_to: int = 14
    permutations: int = 1000
    trust_server: bool = False

    name: ClassVar[str] = "coalition"
    needs_reference: ClassVar[bool] = False
    row_values_after: ClassVar[frozenset[str]] = frozenset({"sketch", "scores"})

    def __post_init__(self) -> None:
        for field in ("points_per_class", "min_group", "exact_up_to", "permutations"):
            whole(getattr(self, field), field, "Coalition", least=1)
        if self.exact_up_to > _MOST_EXACT:
            raise wrong_parameter(
                "exact_up_to", "Coalition", f"at most {_MOST_EXACT}, for it takes 2^N evaluations", self.exact_up_to
            )
        if self.utility not in get_args(Utility):
            raise wrong_parameter("utility", "Coalition", f"one of {', '.join(get_args(Utility))}", self.utility)
        if not isinstance(self.trust_server, bool):
            raise wrong_parameter("trust_server", "Coalition", "True or False", self.trust_server)

    @property
    def sketch(self) -> Sketch:
        """The protocol whose message it rides on with a reference, and by which clients value their rows at home."""
        return Sketch(min_group=self.min_group, lower="triangle")

    @property
    def consensus(self) -> Consensus:
        """The protocol that it rides on without one."""
        return Consensus(min_group=self.min_group, points_per_class=self.points_per_class)

    def space(self, space: Space | None) -> Space:
        """The space in which labels and features weigh the same, where the user did not choose another."""
        return self.sketch.space(space)

    def server(
        self,
        clients: Sequence[str],
        reference: Table | None,
        space: Space,
        *,
        rules: RowRules,
        seed: int,
        host: Host = ALONE,
    ) -> CoalitionServer:
        """The coordinator's half."""
        from fedbary.protocols.coalition.server import CoalitionServer

        if space.labels != "onehot" or space.task == "regression":
            raise SettingsError("protocols.needs-classes")
        return CoalitionServer(self, clients, reference, space, rules=rules, seed=seed, host=host)

    def client(self, table: Table, *, rules: RowRules, seed: int) -> CoalitionClient:
        """A data owner's half; ``seed`` decides how its rows are grouped."""
        from fedbary.protocols.coalition.client import CoalitionClient

        return CoalitionClient(self, table, rules=rules, seed=seed)
