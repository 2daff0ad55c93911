"""`Models`: cards in one space, how far each is believed, and what can be made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedbary.judging.competition import moved_or_not
from fedbary.judging.discriminant import Discriminant, Moved
from fedbary.judging.evidence import Evidence
from fedbary.judging.federation import Estimate
from fedbary.judging.judge import Judge
from fedbary.judging.label_evidence import LabelEvidence
from fedbary.judging.model import JudgingModel
from fedbary.protocols.cards.card import Card
from fedbary.protocols.cards.class_moments import (
    EXACT,
    ClassMoments,
    Holders,
    Sums,
    common_coordinates,
    discriminant,
    restricted,
)
from fedbary.protocols.cards.distance import Apart, apart
from fedbary.protocols.cards.placing import placed
from fedbary.protocols.cards.weights import Weights, robust_weights
from fedbary.protocols.cards.worth import Judge as WorthJudge
from fedbary.protocols.cards.worth import drawn_judge, reference_judge
from fedbary.protocols.cards.wrong_labels import relative_shares, shares_of_cards
from fedbary.protocols.reference import Reference
from fedbary.space.labels import class_positions
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# A reference is said to differ where so many of so many clients lie this far from it, in directions this much alike.
_NEARLY_ALL, _SOME_CLIENTS, _APART, _SAME_WAY = 0.8, 3, 0.3, 0.7


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
        if robust:
            self._weights = robust_weights(self._parts, trusted=trusted, numeric=self._numeric)
        else:
            self._weights = Weights.of_all(self._parts)
        believed = self._weights.applied(self._parts)
        self._sums = Sums(believed)
        self._coordinates = common_coordinates(self._sums.without(None))
        # With noise of differential privacy every public class has a model, whoever has it.
        rows = np.array([np.maximum(part.counts, np.sqrt(part.noise.count)) for part in believed])
        # The coordinator's own rows may be all that a model is made of, and so may what differential privacy covers.
        closed = [
            part.noise == EXACT and not card.shared for part, card in zip(self._parts, cards.values(), strict=False)
        ]
        shared = np.array([*np.logical_not(closed), *([True] * len(trusted))])
        self._holders = Holders(rows, shared)
        self._open = {place: at for at, place in enumerate(np.flatnonzero(shared).tolist())}
        self._open_sums = Sums([believed[place] for place in self._open]) if trusted else None

    @cached_property
    def apart(self) -> Apart:
        """How far each client is at least from the target: the reference, or the barycenter of all cards."""
        target = None if self._reference is None else self._parts[-1]
        return apart(self._parts, self._weights, target, numeric=self._numeric)

    def distances(self) -> dict[str, float]:
        return dict(zip(self._places, self.apart.distances.tolist(), strict=False))

    def judge(self, seed: int) -> WorthJudge:
        """Rows that coalitions are tested on: the reference's, or rows drawn from all cards together."""
        if self._reference is not None:
            judge = reference_judge(self._reference.values, self._reference.labels, self.schema, seed=seed)
            if judge is not None:
                return judge
        return drawn_judge(self._sums.without(None), seed=seed, numeric=self._numeric)

    def known(self, name: str) -> Bools:
        """The classes of a client's model."""
        place = self._places[name]
        known = self._holders.modelled(place)
        # Without a reference the scales that come with a model are the clients', also of those who do not share.
        return known if self._reference is None else known | self._holders.shared(place)

    def may_have(self, name: str) -> bool:
        """Whether there is a model for a client: of two classes at least, or a line."""
        return self._enough(self.known(name))

    def _enough(self, known: Bools) -> bool:
        return int(known.sum()) >= (1 if self._numeric else 2)

    def model(self, name: str) -> JudgingModel:
        """What a client judges its rows by."""
        known = self.known(name)
        moments, coordinates = self._behind(name)
        classes, others = self._classes(known), discriminant(restricted(moments, known), *coordinates)
        fitted = None if self._reference is None else self._reference.fitted(others, classes)
        return replace(JudgingModel(classes, others), reference=fitted)

    def _behind(self, name: str) -> tuple[ClassMoments, tuple[Floats, Floats]]:
        """The moments that a client's model is made of, and its coordinates.

        All others' in classes that enough of them hold; in the rest the reference's and those of shared cards alone.
        """
        place = self._places[name]
        several = self._holders.modelled(place)
        if self._open_sums is None or (several == self.known(name)).all():
            return self._sums.without(place), self._coordinates
        shared = self._open_sums.without(self._open.get(place))
        if not several.any():
            return shared, common_coordinates(shared)
        everybody = self._sums.without(place)
        counts = np.where(several, everybody.counts, shared.counts)
        sums = np.where(several[:, None], everybody.sums, shared.sums)
        mixed = ClassMoments(counts, sums, np.zeros_like(everybody.second), everybody.noise)
        within = everybody.within() * (mixed.rows / max(everybody.rows, 1e-12))
        return replace(mixed, second=within - mixed.within()), self._coordinates

    def shift(self, name: str) -> tuple[float, Floats]:
        """How far a client's card lies from where the others expect it, and in each coordinate of its features."""
        known = self._holders.compared(self._places[name])
        if not self._enough(known):
            return np.nan, np.zeros(0)
        others = discriminant(restricted(self._sums.without(self._places[name]), known), *self._coordinates)
        moved = self._moved(name, known, others)
        return (np.nan, np.zeros(0)) if moved is None else (moved.shift, moved.offset)

    def _moved(self, name: str, known: Bools, others: Discriminant) -> Moved | None:
        """To where a discriminant expects a client, by its card; None with noise, or without a row of these classes."""
        part = restricted(self.placed[name], known)
        if part.noise != EXACT or part.rows <= 0.0:
            return None
        (centre, scale), width = self._coordinates, len(self._coordinates[0]) - self._numeric
        mean = part.sums.sum(axis=0) / part.rows
        variance = np.maximum((np.diag(part.second) if part.full else part.second) / part.rows - mean**2, 0.0)
        return Moved.of(
            ((mean - centre) / scale)[:width],
            (variance / scale**2)[:width],
            part.counts / part.rows,
            part.rows,
            means=others.means[:, :width],
            variances=others.variances[:width],
        )

    def reference_shift(self) -> tuple[float, Floats, int] | None:
        """How far nearly all clients lie from the reference in the same way, and how many; None where they do not."""
        if self._reference is None:
            return None
        known = self._holders.held[-1]
        own = discriminant(restricted(self._parts[-1], known), *self._coordinates)
        found = [self._moved(name, known, own) for name in self._places]
        offsets = np.array([one.offset for one in found if one is not None])
        if len(offsets) < _SOME_CLIENTS:
            return None
        common = np.median(offsets, axis=0)
        length = float(np.sqrt((common**2).mean()))
        along = offsets @ common / np.maximum(np.linalg.norm(offsets, axis=1) * np.linalg.norm(common), 1e-12)
        same = int((along > _SAME_WAY).sum())
        return (length, common, same) if length >= _APART and same >= _NEARLY_ALL * len(found) else None

    @cached_property
    def held_out(self) -> Judge | None:
        """A judge of the reference's rows, each without itself; None without a reference."""
        if self._reference is None:
            return None
        known = self._holders.held[-1] if not self._numeric else np.ones(1, dtype=bool)

        def model(moments: ClassMoments) -> Discriminant:
            return discriminant(restricted(moments, known), *self._coordinates)

        return self._reference.judge(self._sums.without(None), model, self._classes(known))

    def evidence_of_reference(self, weights: Floats | None) -> Evidence | None:
        """What the reference's own rows tell by these weights, or by those that clients get who are asked once."""
        if (judge := self.held_out) is None:
            return None
        weights = moved_or_not(judge.own_weights()) if weights is None else weights
        return self.of_all_classes(judge.evidence(judge.judged(weights)), judge.model.classes)

    def of_all_classes(self, evidence: Evidence, classes: tuple[str, ...]) -> Evidence:
        """What is told of some classes, among all of the schema's."""
        if self._numeric:
            return evidence.among(np.zeros(1, dtype=np.int64), 1)
        places = class_positions(classes, self.schema.label.classes)
        return evidence.among(places, len(self.schema.label.classes))

    def label_evidence_of_reference(self) -> LabelEvidence | None:
        """What the reference's labels look like to all clients together; None without a reference, and for numbers."""
        if self._reference is None or self._numeric:
            return None
        known = self._holders.compared(len(self._parts) - 1)
        if known.sum() < 2:
            return None
        others = discriminant(restricted(self._sums.without(len(self._parts) - 1), known), *self._coordinates)
        judge = Judge(JudgingModel(self._classes(known), others), len(self._reference.values))
        codes = class_positions(self._reference.labels, self._classes(known))
        judge.add(self._reference.values, codes, np.zeros(len(codes)))
        return judge.label_evidence(self._reference.codes, np.flatnonzero(known), len(known))

    def at_home(self, name: str) -> JudgingModel:
        """What a client judges its rows by that is asked once: by the reference's weights, beside its evidence."""
        model, judge = self.model(name), self.held_out
        if judge is None:
            return model
        weights = moved_or_not(judge.own_weights())
        told = self.evidence_of_reference(weights)
        assert told is not None
        if not self._numeric:
            told = replace(told, scatter=told.scatter[np.append(self.known(name), True)])
        return replace(model, weights=weights, held_out=told)

    def relative_shares(self) -> dict[str, Estimate]:
        """Wrong-label shares by the cards alone."""
        compared = [name for name, at in self._places.items() if self._enough(self._holders.compared(at))]
        models = {} if self._numeric else {name: self._of_others(name) for name in compared}
        return relative_shares(self.placed, models, {name for name in models if self.weight(name) > 0.0})

    def shares_of_cards(self) -> dict[str, Estimate]:
        """Wrong-label shares that claims are held against: of exact cards, three of which there must be."""
        if self._numeric or len(self._parts) < _SOME_CLIENTS:
            return {}
        models, times = {}, {}
        for name in self._places:
            others = self._of_others(name)
            moved = self._moved(name, np.ones(len(others.counts), dtype=bool), others) if self.may_have(name) else None
            if moved is not None:
                models[name], times[name] = others, moved.times
        return shares_of_cards(self.placed, models, times, {name for name in models if self.weight(name) > 0.0})

    def _of_others(self, name: str) -> Discriminant:
        return discriminant(self._sums.without(self._places[name]), *self._coordinates)

    def weight(self, name: str) -> float:
        """How much a card counts in the others' models."""
        return float(self._weights.cards[self._places[name]])

    def classes(self, name: str) -> tuple[str, ...]:
        """The names of the classes of a client's model."""
        return self._classes(self.known(name))

    def _classes(self, known: Bools) -> tuple[str, ...]:
        return ("",) if self._numeric else tuple(np.array(self.schema.label.classes)[known].tolist())
