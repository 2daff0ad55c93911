"""Algorithm 1 as the paper ran and compared it: every variant of its gradients, and the published setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from fedbary.checks import one_of
from fedbary.errors import SettingsError, wrong_parameter
from fedbary.protocols.interpolation import Interpolation
from fedbary.space.options import Space

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.protocols.messages import ServerProtocol

Gradient = Literal["eta", "gamma", "access", "server-eta", "server-gamma", "server-target"]

# More points than any client has rows: a message with more would not fit in memory.
_MOST_POINTS = 10**5
_NEEDS_REFERENCE = ("access", "server-eta", "server-target")


@dataclass(frozen=True)
class PaperInterpolation(Interpolation):
    """`fedbary.Interpolation` with what only comparisons need; it shows rows, so it runs in one process.

    Parameters
    ----------
    gradient : {"eta", "gamma", "access", "server-eta", "server-gamma", "server-target"}
        Which measure the calibrated gradient of a row looks at: η_Q (the paper's best), γ, the reference
        itself (``access``: it is sent to the clients), or one of three variants in which the server scores
        support points, which need ``allow_reconstruction`` and as many points as rows: η_P towards the reference
        (``server-eta``), η_P towards η_Q (``server-gamma``), and η_Q towards the reference (``server-target``).
    potentials : {"exact", "sinkhorn"}
        Where gradients come from. ``exact`` are dual potentials of optimal transport; ``sinkhorn`` are the published
        ones, debiased and entropic with ε = 0.2 on ‖x − y‖², which is geomloss' problem for ``p=2, blur=√0.1``, whose
        costs are half as large. They are solved to convergence, and in the unit of ``exact``: twice geomloss'.
    point_per_row : bool
        As many points as each client has rows, instead of one number for all; needs ``allow_reconstruction``.

    Examples
    --------
    >>> PaperInterpolation(gradient="access", rounds=1).support
    100
    """

    gradient: Gradient = "eta"  # type: ignore[assignment]  # more of them than the core has
    potentials: Literal["exact", "sinkhorn"] = "exact"
    point_per_row: bool = False

    name: ClassVar[str] = "paper"
    halves: ClassVar[tuple[str, str]] = "fedbary_lab.paper.server:PaperServer", "fedbary_lab.paper.client:PaperClient"
    gradients: ClassVar[tuple[str, ...]] = get_args(Gradient)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.potentials, "potentials", "PaperInterpolation", ("exact", "sinkhorn"))
        if self.potentials == "sinkhorn" and self.p != 2:
            raise wrong_parameter("p", "PaperInterpolation", "2 for potentials='sinkhorn'", self.p)
        if not self.allow_reconstruction and self.point_per_row:
            raise SettingsError("research.all-rows-are-points")
        if not self.allow_reconstruction and self.gradient.startswith("server"):
            raise SettingsError("research.gradient-shows-rows", gradient=self.gradient)

    @property
    def sends_eta_p(self) -> bool:
        """Whether the server is sent η_P beside γ: also where it scores these points."""
        return super().sends_eta_p or self.gradient in ("server-eta", "server-gamma")

    def space(self, space: Space | None) -> Space:
        """The paper's space; in its published setting with nothing scaled, where the user did not choose another."""
        if space is None and self.point_per_row and self.potentials == "sinkhorn":
            space = Space(scaling="none", projection="none")
        return super().space(space)

    def server(self, clients: Sequence[str], reference: Table | None, *others: Any, **options: Any) -> ServerProtocol:
        """The coordinator's half; refuses gradients that look at a reference where there is none."""
        if reference is None and self.gradient in _NEEDS_REFERENCE:
            raise SettingsError("research.gradient-without-reference", gradient=self.gradient)
        return super().server(clients, reference, *others, **options)


def published(gradient: Gradient = "eta", rounds: int = 10) -> PaperInterpolation:
    """The setting of the paper's own code, to compare with.

    As many points as rows, t = 0.5, no early stop, and gradients from debiased Sinkhorn potentials (``sinkhorn``).
    Its space is the paper's: raw numbers, every coordinate, and beside them mean and standard deviations of each class
    (eq. 9, with the diagonal of the covariance), none of them scaled.

    Parameters
    ----------
    gradient : str
        Which measure row values look at, see `PaperInterpolation`.
    rounds : int
        Rounds, all of which are run.

    Returns
    -------
    PaperInterpolation

    Examples
    --------
    >>> published().space(None).scaling
    'none'
    """
    return PaperInterpolation(
        support=_MOST_POINTS,
        rounds=rounds,
        t=0.5,
        tolerance=0.0,
        allow_reconstruction=True,
        gradient=gradient,
        potentials="sinkhorn",
        point_per_row=True,
    )
