"""`Sketch`: settings of the one-round protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, ClassVar, Literal

from fedbary.errors import SettingsError
from fedbary.protocols.messages import ALONE, Host
from fedbary.space.settings import Space
from fedbary.valuation.rules import RowRules

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.protocols.sketch.client import SketchClient
    from fedbary.protocols.sketch.server import SketchServer

Policy = Literal["trusted", "coarsen", "dp"]


@dataclass(frozen=True)
class Sketch:
    """One round: the server sends a sketch of its rows and a scoring model, clients answer with scalars.

    Parameters
    ----------
    support : int, optional
        Points of the sketch. Default: one for about every ``2·min_group`` reference rows, at most 300.
    min_group : int
        Fewest rows behind any point, centroid or covariance that leaves the server; with ``policy="coarsen"``
        also the fewest rows that any point of the sketch can single out at the client.
    epsilon : float, optional
        Differential privacy of the answer: half of it for the distance, half for the quality. The row count is
        public. Needs label coordinates that the server fixes (``onehot`` or ``numeric``).
    policy : {"trusted", "coarsen", "dp"}
        What a client does about a server that may be dishonest: answer, merge sketch points until each carries
        ``min_group`` rows' mass, or refuse to answer without ``epsilon``.
    lower : {"improved", "triangle"}
        Lower end of the interval. ``improved`` solves a dozen transport problems instead of one.
    adapt : bool
        Correct row values for a class mix unlike the reference's (own prior, label-weighted p-values).
    max_sketches : int
        Different sketches that a client answers; more could be combined to single out rows.

    Examples
    --------
    >>> import fedbary as fb
    >>> fb.Sketch(epsilon=1.0).min_group
    5
    """

    support: int | None = None
    min_group: int = 5
    epsilon: float | None = None
    policy: Policy = "trusted"
    lower: Literal["improved", "triangle"] = "improved"
    adapt: bool = True
    max_sketches: int = 16

    name: ClassVar[str] = "sketch"
    needs_reference: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for field in ("support", "min_group", "max_sketches"):
            number = getattr(self, field)
            if field == "support" and number is None:
                continue
            if not isinstance(number, Integral) or isinstance(number, bool) or number < 1:
                raise SettingsError(
                    f"The '{field}' parameter of Sketch must be a whole number of at least 1. Got {number!r} instead."
                )
        if self.epsilon is not None and not (isinstance(self.epsilon, Real) and self.epsilon > 0.0):
            raise SettingsError(f"The 'epsilon' parameter of Sketch must be positive or None. Got {self.epsilon!r}.")
        for field, allowed in (("policy", ("trusted", "coarsen", "dp")), ("lower", ("improved", "triangle"))):
            if getattr(self, field) not in allowed:
                raise SettingsError(
                    f"The '{field}' parameter of Sketch must be one of {', '.join(allowed)}. "
                    f"Got {getattr(self, field)!r} instead."
                )
        if self.policy == "dp" and self.epsilon is None:
            raise SettingsError("policy='dp' answers nothing without epsilon: set epsilon, or another policy.")

    def space(self, space: Space | None) -> Space:
        """The space in which labels and features weigh the same, where the user did not choose another."""
        return (space or Space()).with_defaults(metric="within", labels="onehot")

    def server(
        self,
        clients: Sequence[str],
        reference: Table | None,
        space: Space,
        *,
        rules: RowRules,
        seed: int,
        host: Host = ALONE,
    ) -> SketchServer:
        """The coordinator's half."""
        from fedbary.protocols.sketch.server import SketchServer

        return SketchServer(self, clients, reference, space, rules=rules, seed=seed, host=host)

    def client(self, table: Table, *, rules: RowRules, seed: int) -> SketchClient:  # noqa: ARG002 - nothing is drawn
        """A data owner's half."""
        from fedbary.protocols.sketch.client import SketchClient

        return SketchClient(self, table, rules=rules)
