"""The paper's Algorithm 1 as two sans-IO halves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Literal

from fedbary.checks import one_of, truth, whole
from fedbary.errors import SettingsError, wrong_parameter
from fedbary.protocols.halves import TwoHalves
from fedbary.space.options import Space


@dataclass(frozen=True)
class Interpolation(TwoHalves):
    """The protocol of the CVPR 2024 paper: distances through interpolating measures.

    Parameters
    ----------
    support : int
        Points of the measure in between, the same number for all clients: the largest up to this that nine of ten of
        them allow, as every point that a client sends averages at least ``min_group`` of its different rows. Others are
        reported as too small.
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
    gradient : {"eta", "gamma"}
        Which measure the calibrated gradient of a row looks at: η_Q (the paper's best) or γ. The package fedbary-lab
        has the paper's other variants.
    weights : "equal", "rows" or mapping
        Weights λ of the clients in the barycenter that they are compared with where there is no reference. ``rows``
        believes what clients say of their number; a mapping has a weight for every client by name, and works in one
        process only.
    keep_measures : bool
        Keep every client's measures of the last round in the result, for programs: γ, η_P and η_Q in ``measures``, in
        one process only. Who knows t and γ of the round before reads from η_P the average of each point's rows, which
        is a row where there are as many points as rows.

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
    gradient: Literal["eta", "gamma"] = "eta"
    weights: Literal["equal", "rows"] | Mapping[str, float] = "equal"
    keep_measures: bool = False

    name: ClassVar[str] = "interpolation"
    halves: ClassVar[tuple[str, str]] = (
        "fedbary.protocols.interpolation.server:InterpolationServer",
        "fedbary.protocols.interpolation.client:InterpolationClient",
    )
    gradients: ClassVar[tuple[str, ...]] = ("eta", "gamma")
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
        one_of(self.interpolation, "interpolation", "Interpolation", ("barycentric", "exact"))
        one_of(self.gradient, "gradient", "Interpolation", self.gradients)
        truth(self.keep_measures, "keep_measures", "Interpolation")
        self._check_weights()
        if not self.allow_reconstruction and self.interpolation == "exact":
            raise SettingsError("protocols.exact-shows-rows")

    @property
    def only_in_one_process(self) -> str:
        """The setting, if there is one, that tells parties of measures or names that are not theirs."""
        if self.keep_measures:
            return "keep_measures=True"
        return "weights={...}" if isinstance(self.weights, Mapping) else ""

    @property
    def sends_eta_p(self) -> bool:
        """Whether the server is sent η_P beside γ."""
        return self.keep_measures

    def space(self, space: Space | None) -> Space:
        """The paper's space, where the user did not choose another."""
        return (space or Space()).with_defaults(metric="euclidean", labels="gaussian")

    def _check_weights(self) -> None:
        if self.weights in ("equal", "rows"):
            return
        expected = "'equal', 'rows' or a mapping of names to numbers that are not negative and not all zero"
        if not isinstance(self.weights, Mapping):
            raise wrong_parameter("weights", "Interpolation", expected, self.weights)
        sane = [isinstance(one, Real) and 0.0 <= one < float("inf") for one in self.weights.values()]
        if not all(sane) or not any(self.weights.values()):
            raise wrong_parameter("weights", "Interpolation", expected, dict(self.weights))


def draw_t(settings: Interpolation, seed: int, stream: str, number: int) -> float:
    """The fixed t, or one drawn for this round; each of a run's ``stream``s of draws is its own.

    (0.5, 1) rather than (0, 1): short steps waste rounds (docs/decisions/003-random-t.md).
    """
    from fedbary.protocols.host import generator

    return float(generator(seed, stream, number).uniform(0.5, 1.0)) if settings.t is None else settings.t
