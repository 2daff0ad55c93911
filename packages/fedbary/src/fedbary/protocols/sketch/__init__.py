"""The one-round protocol: a sketch goes out, scalars come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from fedbary.checks import epsilon, one_of, truth, whole
from fedbary.errors import SettingsError
from fedbary.protocols.halves import TwoHalves
from fedbary.space.options import Space

Policy = Literal["trusted", "coarsen", "dp"]


@dataclass(frozen=True)
class Sketch(TwoHalves):
    """One round: the server sends a sketch of its rows and a scoring model, clients answer with scalars.

    A client answers one message a run; the same message gets the same answer again.

    Parameters
    ----------
    support : int, optional
        Points of the sketch. Default: one for about every ``2·min_group`` reference rows, at most 300.
    min_group : int
        Fewest different rows behind anything that leaves a party: any point, centroid or covariance of the server's;
        with ``policy="coarsen"`` also the fewest that any number of an answer can single out at the client.
    epsilon : float, optional
        Differential privacy of the answer: half of it for the distance, half for the quality. At least 1e-4. The
        row count is public. Needs label coordinates that the server fixes (``onehot`` or ``numeric``).
    policy : {"trusted", "coarsen", "dp"}
        What a client does about a server that may be dishonest: answer; answer with points merged
        until each takes ``min_group`` different rows, and nothing that fewer rows could be read from
        (docs/sketch.md; a guard, not a proof); or refuse to answer without ``epsilon``.
    lower : {"improved", "triangle"}
        Lower end of the interval. ``improved`` solves three transport problems instead of one. With
        ``policy="coarsen"`` it is always ``triangle``, which follows from the distance and tells nothing else.
    numbers : bool
        Clients also answer with estimated shares of wrong labels, odd features and missing cells, and with what stands
        out in a column or in how labels are written. The verdict needs them; an owner's policy may withhold them.

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
    numbers: bool = True

    name: ClassVar[str] = "sketch"
    halves: ClassVar[tuple[str, str]] = (
        "fedbary.protocols.sketch.server:SketchServer",
        "fedbary.protocols.sketch.client:SketchClient",
    )
    needs_reference: ClassVar[bool] = True
    row_values_after: ClassVar[frozenset[str]] = frozenset({"sketch"})

    def __post_init__(self) -> None:
        whole(self.min_group, "min_group", "Sketch", least=1)
        if self.support is not None:
            whole(self.support, "support", "Sketch", least=1)
        if self.epsilon is not None:
            epsilon(self.epsilon, "Sketch")
        one_of(self.policy, "policy", "Sketch", get_args(Policy))
        one_of(self.lower, "lower", "Sketch", ("improved", "triangle"))
        truth(self.numbers, "numbers", "Sketch")
        if self.policy == "dp" and self.epsilon is None:
            raise SettingsError("protocols.dp-without-epsilon")

    def space(self, space: Space | None) -> Space:
        """The space in which labels and features weigh the same, where the user did not choose another."""
        return (space or Space()).with_defaults(metric="within", labels="onehot")
