"""`Models`: cards in one space, how far each is believed, and what can be made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedbary.protocols.cards.card import Card
from fedbary.protocols.cards.class_moments import EXACT, ClassMoments
from fedbary.protocols.cards.clean_rows import Reference
from fedbary.protocols.cards.distance import Apart, apart
from fedbary.protocols.cards.leave_one_out import Holders, Sums
from fedbary.protocols.cards.model import Discriminant, discriminant, line_model, restricted, scoring_model
from fedbary.protocols.cards.placing import placed
from fedbary.protocols.cards.shares import relative_shares
from fedbary.protocols.cards.temperature import guessed_temperature, slope_and_spread
from fedbary.protocols.cards.weights import Weights, robust_weights
from fedbary.protocols.cards.worth import Judge, drawn_judge, reference_judge
from fedbary.protocols.messages import under
from fedbary.space.schema import Schema
from fedbary.valuation.estimates import Estimate
from fedbary.valuation.scoring import ScoringModel

Calibrated = tuple[dict[str, np.ndarray], Callable[[ScoringModel], ScoringModel]]


class Models:
    """Cards in one space, how far each is believed, and what can be made of them."""

    def __init__(self, cards: Mapping[str, Card], schema: Schema, reference: Reference | None, *, robust: bool) -> None:
        self.cards, self.schema, self._reference = dict(cards), schema, reference
        self.placed = {name: placed(card, schema) for name, card in cards.items()}
        self._places = {name: place for place, name in enumerate(cards)}
        self._numeric = schema.label.kind == "number"
        self._parts = list(self.placed.values())
        trusted: list[int] = []
        if reference is not None:
            trusted = [len(self._parts)]
            self._parts.append(reference.moments())
        self._weights = _believed(self._parts)
        if robust:
            self._weights = robust_weights(self._parts, trusted=trusted, numeric=self._numeric)
        believed = self._weights.applied(self._parts)
        self._sums = Sums(believed)
        # With noise of differential privacy every public class has a model, whoever has it.
        self._held = np.array([(part.counts > 0) | (part.noise != EXACT) for part in believed])
        # The coordinator's own rows may be all that a model is made of.
        shared = np.array([*(card.shared for card in cards.values()), *([True] * len(trusted))])
        self._holders = Holders(self._held, shared)
        self._discriminants: dict[str, Discriminant] = {}
        self._calibrated: Calibrated | None = None
        self._apart: Apart | None = None
        self._guess: float | None = None
        self._clean_temperature: float | None = None

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return int(self._parts[0].sums.shape[1])

    def guessed_temperature(self) -> float | None:
        """A temperature by the cards alone; None where they do not tell.

        What noise leaves unknown is in the repaired model itself, and a single noisy card would hardly tell its slope.
        """
        if any(part.noise != EXACT for part in self._parts):
            return 1.0
        if self._guess is None and not self._numeric:
            self._guess = guessed_temperature(map(self._slope, self._places))
        return self._guess

    def clean_temperature(self) -> float | None:
        """A temperature by the reference's rows; None without one."""
        if self._reference is None or self._numeric or int(self._everybody.sum()) < 2:
            return None
        if self._clean_temperature is None:
            self._clean_temperature = self._reference.temperature(self._sums.without(None), self._everybody)
        return self._clean_temperature

    @property
    def spread(self) -> float:
        """Root of the mean squared distance of the target's rows from their mean."""
        return self._distances().spread

    def distances(self) -> dict[str, float]:
        """How far each client is at least from the target: the reference, or the barycenter of all cards."""
        return dict(zip(self._places, self._distances().distances.tolist(), strict=False))

    def _distances(self) -> Apart:
        if self._apart is None:
            target = None if self._reference is None else self._parts[-1]
            self._apart = apart(self._parts, self._weights, target, numeric=self._numeric)
        return self._apart

    def judge(self, seed: int) -> Judge:
        """Rows that coalitions are tested on: the reference's, or rows drawn from all cards together."""
        if self._reference is not None:
            judge = reference_judge(*self._reference.rows(), self.schema, seed=seed)
            if judge is not None:
                return judge
        return drawn_judge(self._sums.without(None), seed=seed, numeric=self._numeric)

    def known(self, name: str) -> NDArray[np.bool_]:
        """The classes of a client's model."""
        return self._holders.modelled(self._places[name])

    def may_have(self, name: str) -> bool:
        """Whether there is a model for a client: of two classes at least, or a line."""
        known = self.known(name) if self._reference is None else self._everybody
        return int(known.sum()) >= (1 if self._numeric else 2)

    def arrays(self, name: str, *, temperature: float) -> dict[str, np.ndarray]:
        """The model of a client, for a message."""
        known = self.known(name)
        clean, comparable = self._clean(temperature)
        total = self._sums.without(self._places[name])
        if self._numeric:
            line, model = line_model(total, self.schema)
            return {**line.to_arrays(), **under("model.", model.to_arrays()), **clean}
        if self._reference is not None:
            known = self._everybody
        classes = tuple(np.array(self.schema.label.classes)[known].tolist())
        found = self._discriminant(name) if known.all() else discriminant(restricted(total, known))
        model = comparable(scoring_model(found, classes, temperature))
        return {**under("model.", model.to_arrays()), **clean}

    def relative_shares(self) -> list[Estimate | None]:
        """Wrong-label shares by the cards alone."""
        if self._numeric:
            return [None] * len(self._places)
        models = [self._discriminant(name) if self.may_have(name) else None for name in self._places]
        believed = (self._weights.cards > 0.0).tolist()[: len(models)]
        return relative_shares(list(self.placed.values()), models, believed)

    def _clean(self, temperature: float) -> Calibrated:
        """The reference's scores by models without them; the same for all clients."""
        if self._reference is None:
            return {}, lambda model: model
        if self._calibrated is None:
            self._calibrated = self._reference.calibrated(self._sums.without(None), self._everybody, temperature)
        return self._calibrated

    @cached_property
    def _everybody(self) -> NDArray[np.bool_]:
        """With a reference all clients' models have the same classes: those that each may have."""
        if self._numeric:
            return np.ones(1, dtype=bool)
        return np.asarray(np.all([self.known(name) for name in self._places], axis=0) & self._held[-1])

    def _discriminant(self, name: str) -> Discriminant:
        if name not in self._discriminants:
            self._discriminants[name] = discriminant(self._sums.without(self._places[name]))
        return self._discriminants[name]

    def _slope(self, name: str) -> tuple[float, float]:
        return slope_and_spread(self.placed[name], self._discriminant(name))


def _believed(parts: Sequence[ClassMoments]) -> Weights:
    """Everybody, whatever the others say."""
    shape = len(parts), len(parts[0].counts)
    return Weights(np.ones(shape[0]), np.ones(shape, dtype=bool), np.full(shape[0], np.nan))
