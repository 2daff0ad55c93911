"""The paper's Algorithm 1 as two sans-IO halves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from fedbary.checks import truth, whole
from fedbary.errors import SettingsError, wrong_parameter
from fedbary.protocols.host import ALONE, Host
from fedbary.space.options import Space
from fedbary.valuation.rules import RowRules

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.protocols.interpolation.client import InterpolationClient
    from fedbary.protocols.interpolation.server import InterpolationServer

Gradient = Literal["eta", "gamma", "access", "server-eta", "server-gamma", "server-target"]

# The published runs, and what they halve: geomloss' p = 2 costs ‖x − y‖²/2, with blur² = 0.1.
_PUBLISHED_T = 0.5
PUBLISHED_EPSILON = 2.0 * 0.1


@dataclass(frozen=True)
class Interpolation:
    """The protocol of the CVPR 2024 paper: distances through interpolating measures.

    Parameters
    ----------
    support : int, optional
        Points of the measure in between, the same number for all clients: the largest up to this that nine of ten of
        them allow, as every point that a client sends averages at least ``min_group`` of its different rows. Others are
        reported as too small. None: as many as each client has rows, which needs ``allow_reconstruction`` and one
        process.
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
    gradient : {"eta", "gamma", "access", "server-eta", "server-gamma", "server-target"}
        Which measure the calibrated gradient of a row looks at: η_Q (the paper's best), γ, the reference
        itself (``access``: it is sent to the clients), or one of three variants in which the server scores
        support points, which need ``allow_reconstruction`` and as many points as rows: η_P towards the reference
        (``server-eta``), η_P towards η_Q (``server-gamma``), and η_Q towards the reference (``server-target``).
    potentials : {"exact", "sinkhorn"}
        Where gradients come from. ``exact`` are dual potentials of optimal transport; ``sinkhorn`` are the published
        ones, debiased and entropic with ε = 0.2 on ‖x − y‖², which is geomloss' problem for ``p=2, blur=√0.1``, whose
        costs are half as large. They are solved to convergence, and in the unit of ``exact``: twice geomloss'.
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

    support: int | None = 100
    rounds: int = 10
    t: float | None = None
    p: int = 2
    interpolation: Literal["barycentric", "exact"] = "barycentric"
    allow_reconstruction: bool = False
    min_group: int = 5
    tolerance: float = 1e-3
    gradient: Gradient = "eta"
    potentials: Literal["exact", "sinkhorn"] = "exact"
    weights: Literal["equal", "rows"] | Mapping[str, float] = "equal"
    keep_measures: bool = False

    name: ClassVar[str] = "interpolation"
    needs_reference: ClassVar[bool] = False
    row_values_after: ClassVar[frozenset[str]] = frozenset()
    # A t that is the same in two runs can be read from the difference of their answers.
    fresh_secret: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for field in ("support", "rounds", "min_group"):
            if field != "support" or self.support is not None:
                whole(getattr(self, field), field, "Interpolation", least=1)
        if self.t is not None and not (isinstance(self.t, Real) and 0.0 < self.t < 1.0):
            raise wrong_parameter("t", "Interpolation", "strictly between 0 and 1", self.t)
        if self.p not in (1, 2):
            raise wrong_parameter("p", "Interpolation", "1 or 2", self.p)
        if not (isinstance(self.tolerance, Real) and 0.0 <= self.tolerance < float("inf")):
            raise wrong_parameter("tolerance", "Interpolation", "a finite number of at least 0", self.tolerance)
        for field, allowed in (
            ("interpolation", ("barycentric", "exact")),
            ("gradient", get_args(Gradient)),
            ("potentials", ("exact", "sinkhorn")),
        ):
            if getattr(self, field) not in allowed:
                raise wrong_parameter(field, "Interpolation", f"one of {', '.join(allowed)}", getattr(self, field))
        truth(self.keep_measures, "keep_measures", "Interpolation")
        self._check_weights()
        if self.potentials == "sinkhorn" and self.p != 2:
            raise wrong_parameter("p", "Interpolation", "2 for potentials='sinkhorn'", self.p)
        if not self.allow_reconstruction and self.support is None:
            raise SettingsError("protocols.all-rows-are-points")
        if not self.allow_reconstruction and self.interpolation == "exact":
            raise SettingsError("protocols.exact-shows-rows")
        if not self.allow_reconstruction and self.gradient.startswith("server"):
            raise SettingsError("protocols.gradient-shows-rows", gradient=self.gradient)

    @classmethod
    def published(cls, gradient: Gradient = "eta", rounds: int = 10) -> Interpolation:
        """The setting of the paper's own code, to compare with; the server sees every row, so it runs in one process.

        As many points as rows, t = 0.5, no early stop, and gradients from debiased Sinkhorn potentials (``sinkhorn``).
        `space` is then the paper's: raw numbers, every coordinate, and beside them mean and standard deviations of
        each class (eq. 9, with the diagonal of the covariance), none of them scaled.

        Parameters
        ----------
        gradient : str
            Which measure row values look at, see `Interpolation`.
        rounds : int
            Rounds, all of which are run.

        Returns
        -------
        Interpolation

        Examples
        --------
        >>> import fedbary as fb
        >>> fb.Interpolation.published().space(None).scaling
        'none'
        """
        return cls(
            support=None,
            rounds=rounds,
            t=_PUBLISHED_T,
            tolerance=0.0,
            allow_reconstruction=True,
            gradient=gradient,
            potentials="sinkhorn",
        )

    @property
    def only_in_one_process(self) -> str:
        """The setting, if there is one, that tells parties of rows, measures or names that are not theirs."""
        if self.support is None:
            return "support=None"
        if self.keep_measures:
            return "keep_measures=True"
        return "weights={...}" if isinstance(self.weights, Mapping) else ""

    @property
    def sends_eta_p(self) -> bool:
        """Whether the server is sent η_P beside γ."""
        return self.keep_measures or self.gradient in ("server-eta", "server-gamma")

    def space(self, space: Space | None) -> Space:
        """The paper's space, where the user did not choose another."""
        if space is None and self.support is None and self.potentials == "sinkhorn":
            space = Space(scaling="none", projection="none")
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
    from fedbary.protocols.randomness import generator

    return float(generator(seed, stream, number).uniform(0.5, 1.0)) if settings.t is None else settings.t
