"""The paper's Algorithm 1 as two sans-IO halves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from fedbary.checks import whole
from fedbary.errors import SettingsError, wrong_parameter
from fedbary.protocols.host import ALONE, Host
from fedbary.space.options import Space
from fedbary.valuation.rules import RowRules

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.protocols.interpolation.client import InterpolationClient
    from fedbary.protocols.interpolation.server import InterpolationServer

Gradient = Literal["eta", "gamma", "access", "server-eta", "server-gamma"]


@dataclass(frozen=True)
class Interpolation:
    """The protocol of the CVPR 2024 paper: distances through interpolating measures.

    Parameters
    ----------
    support : int
        Points of the measure in between. A client uses fewer if it has fewer than ``support·min_group``
        different rows, so that every point it sends averages at least ``min_group`` rows.
    rounds : int
        Most rounds; a client whose estimate has settled stops earlier.
    t : float, optional
        How far to go, between 0 and 1: where on each geodesic to stop. Default: drawn from (0.5, 1) by every party for
        every step, over a network anew in every run, and kept to itself, which is both more accurate and harder to
        invert; a fixed 0.5 is the published setting.
    p : {1, 2}
        Order of the Wasserstein distance, 1 or 2.
    interpolation : {"barycentric", "exact"}
        How to walk along a geodesic: ``barycentric`` keeps ``support`` points (eq. 6); ``exact`` follows the true one,
        grows every round, and shows the server every row.
    allow_reconstruction : bool
        Permit settings in which the server can read rows: ``exact``, or more than rows/``min_group`` points.
    min_group : int
        Fewest different rows behind anything that leaves a party: any point of a client's.
    tolerance : float
        Stop when the last four estimates lie within this relative distance of each other.
    gradient : {"eta", "gamma", "access", "server-eta", "server-gamma"}
        Which measure the calibrated gradient of a row looks at: η_Q (the paper's best), γ, the reference
        itself (``access``: it is sent to the clients), or the two variants in which the server scores
        support points, which need ``allow_reconstruction`` and as many points as rows.

    Examples
    --------
    >>> import fedbary as fb
    >>> fb.Interpolation(support=50, t=0.5).rounds
    10
    """

    support: int = 100
    rounds: int = 10
    t: float | None = None
    p: int = 2
    interpolation: Literal["barycentric", "exact"] = "barycentric"
    allow_reconstruction: bool = False
    min_group: int = 5
    tolerance: float = 1e-3
    gradient: Gradient = "eta"

    name: ClassVar[str] = "interpolation"
    needs_reference: ClassVar[bool] = False
    row_values_after: ClassVar[frozenset[str]] = frozenset()
    # A t that is the same in two runs can be read from the difference of their answers.
    fresh_secret: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for field in ("support", "rounds", "min_group"):
            whole(getattr(self, field), field, "Interpolation", least=1)
        if self.t is not None and not (isinstance(self.t, Real) and 0.0 < self.t < 1.0):
            raise wrong_parameter("t", "Interpolation", "strictly between 0 and 1", self.t)
        if self.p not in (1, 2):
            raise wrong_parameter("p", "Interpolation", "1 or 2", self.p)
        if not (isinstance(self.tolerance, Real) and 0.0 <= self.tolerance < float("inf")):
            raise wrong_parameter("tolerance", "Interpolation", "a finite number of at least 0", self.tolerance)
        for field, allowed in (("interpolation", ("barycentric", "exact")), ("gradient", get_args(Gradient))):
            if getattr(self, field) not in allowed:
                raise wrong_parameter(field, "Interpolation", f"one of {', '.join(allowed)}", getattr(self, field))
        if not self.allow_reconstruction and self.interpolation == "exact":
            raise SettingsError("protocols.exact-shows-rows")
        if not self.allow_reconstruction and self.gradient.startswith("server"):
            raise SettingsError("protocols.gradient-shows-rows", gradient=self.gradient)

    def space(self, space: Space | None) -> Space:
        """The paper's space, where the user did not choose another."""
        return (space or Space()).with_defaults(metric="euclidean", labels="gaussian")

    def server(
        self,
        clients: Sequence[str],
        reference: Table | None,
        space: Space,
        *,
        rules: RowRules,  # noqa: ARG002 - flags need calibration scores, which this protocol does not send
        seed: int,
        host: Host = ALONE,
    ) -> InterpolationServer:
        """The coordinator's half."""
        from fedbary.protocols.interpolation.server import InterpolationServer

        return InterpolationServer(self, clients, reference, space, seed=seed, host=host)

    def client(self, table: Table, *, rules: RowRules, seed: int) -> InterpolationClient:
        """A data owner's half; ``seed`` is the owner's secret."""
        from fedbary.protocols.interpolation.client import InterpolationClient

        return InterpolationClient(self, table, rules=rules, seed=seed)


def draw_t(settings: Interpolation, seed: int, stream: str, number: int) -> float:
    """The fixed t, or one drawn for this round; each of a run's ``stream``s of draws is its own.

    (0.5, 1) rather than (0, 1): short steps waste rounds (docs/decisions/003-random-t.md).
    """
    from fedbary.protocols.randomness import generator

    return float(generator(seed, stream, number).uniform(0.5, 1.0)) if settings.t is None else settings.t
