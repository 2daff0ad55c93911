"""Cards: every client uploads class moments once; whatever is asked later is answered by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from fedbary.checks import epsilon, number, one_of, truth, whole
from fedbary.errors import SettingsError, wrong_parameter
from fedbary.protocols.halves import TwoHalves
from fedbary.space.options import Space

Policy = Literal["trusted", "guarded", "dp"]

# 2^20 coalitions take minutes; every further client doubles that.
_MOST_EXACT = 20


@dataclass(frozen=True)
class Cards(TwoHalves):
    """One upload: every client sends the class moments of its rows, from which the others' model judges its rows.

    The default without a reference; with one, the reference is one more card, and its rows calibrate flags.

    Parameters
    ----------
    min_group : int
        Fewest different rows behind anything that leaves a guarded client.
    epsilon : float, optional
        Differential privacy of the card. Needs public coordinates: a ``schema``, or a reference to fit one on.
    delta : float
        With ``epsilon``: the probability with which the card may say more.
    policy : {"trusted", "guarded", "dp"}
        What a client does about a server that may be dishonest: send exact moments; leave out what single rows could
        be read from (docs/cards.md; a guard, not a proof); or refuse to send anything without ``epsilon``.
    worth : bool
        Also play coalitions of the clients' cards, judged by the reference: ``worth`` is a client's Shapley value.
    exact_up_to : int
        Up to so many clients all 2^N coalitions are played, beyond that random permutations, with standard errors.
    permutations : int
        Most permutations; fewer when all standard errors are below a hundredth of what there is to share.
    coordinates : int, optional
        Public coordinates, with ``epsilon`` and for ``worth``: principal directions of the reference.
    robust : bool
        Give cards that contradict the others less weight in the others' models.
    schema : str, optional
        File of the public schema (``fedbary schema make``) in whose coordinates cards are asked for.
    shared : bool
        A guarded card may be all that others' models are made of. Otherwise a class has a part in a client's model
        only where three others hold a tenth of its rows each, as with one the model is the other's card.
    numbers : bool
        Clients answer the model with estimated shares of wrong labels and odd features. Without them, and with
        ``epsilon``, the shares are those that the cards themselves tell, compared with the other clients.

    Examples
    --------
    >>> import fedbary as fb
    >>> fb.Cards(epsilon=1.0).delta
    1e-06
    """

    min_group: int = 5
    epsilon: float | None = None
    delta: float = 1e-6
    policy: Policy = "trusted"
    worth: bool = False
    exact_up_to: int = 14
    permutations: int = 1000
    coordinates: int | None = None
    robust: bool = True
    schema: str | None = None
    shared: bool = False
    numbers: bool = True

    name: ClassVar[str] = "cards"
    halves: ClassVar[tuple[str, str]] = (
        "fedbary.protocols.cards.server:CardsServer",
        "fedbary.protocols.cards.client:CardsClient",
    )
    needs_reference: ClassVar[bool] = False
    row_values_after: ClassVar[frozenset[str]] = frozenset({"flags"})

    def __post_init__(self) -> None:
        for field in ("min_group", "exact_up_to", "permutations"):
            whole(getattr(self, field), field, "Cards", least=1)
        if self.coordinates is not None:
            whole(self.coordinates, "coordinates", "Cards", least=1)
        if self.exact_up_to > _MOST_EXACT:
            expected = f"at most {_MOST_EXACT}, for it takes 2^N evaluations"
            raise wrong_parameter("exact_up_to", "Cards", expected, self.exact_up_to)
        if self.epsilon is not None:
            epsilon(self.epsilon, "Cards")
        if number(self.delta, "delta", "Cards") >= 1.0:
            raise wrong_parameter("delta", "Cards", "a number between 0 and 1", self.delta)
        one_of(self.policy, "policy", "Cards", get_args(Policy))
        for field in ("worth", "robust", "shared", "numbers"):
            truth(getattr(self, field), field, "Cards")
        if self.policy == "dp" and self.epsilon is None:
            raise SettingsError("protocols.dp-without-epsilon")

    def space(self, space: Space | None) -> Space:
        """The space in which labels and features weigh the same, where the user did not choose another."""
        return (space or Space()).with_defaults(metric="within", labels="onehot")
