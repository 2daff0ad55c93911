"""TriangleWad (Li & Pang 2024): one round, a similar triangle instead of a search. To compare with, in one process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fedbary.checks import whole
from fedbary.errors import wrong_parameter
from fedbary.protocols.halves import TwoHalves
from fedbary.space.options import Space


@dataclass(frozen=True)
class Triangle(TwoHalves):
    """Distances from a triangle that is similar to the one between γ, the client's and the reference rows.

    All parties share a Gaussian measure γ. Client and server each walk from their rows a fraction ``t`` of the
    way to γ, which gives η_P and η_Q, and only η_P leaves the client. Were the space flat, the intercept theorem
    would say W(η_P, η_Q) = (1 − t)·W(P, Q); the estimate is therefore W(η_P, η_Q) / (1 − t). On a line that is
    exact. Elsewhere W_2 is positively curved (Ambrosio, Gigli & Savaré, theorem 7.3.2), so that along true
    geodesics the estimate is at least W(P, Q); with fewer points than rows, each the mean of several, it can
    lie on either side. No interval is certified.

    Parameters
    ----------
    support : int
        Points of the measure in between. A client uses fewer if it has fewer than ``support·min_group`` different rows,
        so that every point it sends averages at least ``min_group`` rows; so does the server. One message leaves no
        room to agree on a number, so that clients of different sizes are compared by different ones.
    t : float
        How far to go, between 0 and 1: where η lies on the way from the rows to γ.
    p : {1, 2}
        Order of the Wasserstein distance, 1 or 2.
    min_group : int
        Fewest different rows behind anything that leaves a party: any point.
    allow_reconstruction : bool
        Permit settings in which the server can read rows: more than rows/``min_group`` points. γ and t are known to
        all, so the points show the rows.

    Examples
    --------
    >>> import fedbary as fb
    >>> fb.Triangle(support=50).t
    0.5
    """

    support: int = 100
    t: float = 0.5
    p: int = 2
    min_group: int = 5
    allow_reconstruction: bool = False

    name: ClassVar[str] = "triangle"
    halves: ClassVar[tuple[str, str]] = (
        "fedbary_lab.triangle.server:TriangleServer",
        "fedbary_lab.triangle.client:TriangleClient",
    )
    needs_reference: ClassVar[bool] = True
    row_values_after: ClassVar[frozenset[str]] = frozenset({"start"})

    def __post_init__(self) -> None:
        for field in ("support", "min_group"):
            whole(getattr(self, field), field, "Triangle", least=1)
        if not 0.0 < self.t < 1.0:
            raise wrong_parameter("t", "Triangle", "strictly between 0 and 1", self.t)
        if self.p not in (1, 2):
            raise wrong_parameter("p", "Triangle", "1 or 2", self.p)

    def space(self, space: Space | None) -> Space:
        """The paper's space, where the user did not choose another."""
        return (space or Space()).with_defaults(metric="euclidean", labels="gaussian")
