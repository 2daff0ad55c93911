"""The server of the cards protocol: takes cards, makes each client's model of the others', and reads what they tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from fedbary.data.table import Table
from fedbary.errors import SettingsError
from fedbary.forms import array_text, below, text_array, under
from fedbary.judging.evidence import Evidence
from fedbary.judging.federation import Judgement, judgements
from fedbary.judging.label_evidence import LabelEvidence
from fedbary.judging.systematic import LabelFinding, systematic
from fedbary.notes import Note
from fedbary.protocols.cards import Cards
from fedbary.protocols.cards.card import Card, check_card
from fedbary.protocols.cards.client import card_of
from fedbary.protocols.cards.exact_card import by_name, exact_card, narrowed
from fedbary.protocols.cards.findings import Findings, counted_as
from fedbary.protocols.cards.forms import EXCHANGES
from fedbary.protocols.cards.models import Models
from fedbary.protocols.cards.placing import agreed_schema, missing_share
from fedbary.protocols.cards.worth import play_worth
from fedbary.protocols.cards.wrong_labels import contradicted
from fedbary.protocols.forms import fitting_replies
from fedbary.protocols.host import ALONE, Host, derived_seed
from fedbary.protocols.messages import Failure, Message, Reply, Scalar, State
from fedbary.protocols.reference import Reference
from fedbary.protocols.server import (
    Server,
    client_numbers,
    finished,
    judging_notes,
    label_notes,
    largest_columns,
    quality_columns,
    schema_scalars,
)
from fedbary.space.description import check_table, without_names
from fedbary.space.fit import public_schema
from fedbary.space.options import Space
from fedbary.space.row_identity import different_rows
from fedbary.space.schema import Schema
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.result import Valuation, with_worth
from fedbary.valuation.rows import RowRules
from fedbary.valuation.verdict import COLUMN_OFF, DISPUTED, INCLUDE_BELOW, NO_WEIGHT

_KINDS = ("card", "model", "evidence", "flags")
# What the reference is called among clients; no client has an empty name.
_REFERENCE = ""
# A card with less weight in the others' models has none to speak of.
_HARDLY = 0.05

_Told = TypeVar("_Told")
_Made = TypeVar("_Made")


class CardsServer(Server):
    """Holds the cards; learns class moments of each client and, where owners share them, estimated shares."""

    def __init__(
        self,
        settings: Cards,
        clients: Sequence[str],
        reference: Table | None,
        space: Space,
        *,
        rules: RowRules,
        seed: int,
        host: Host = ALONE,
    ) -> None:
        super().__init__(settings, clients, space, seed, host)
        self._settings, self._rules, self._stage = settings, rules, "card"
        if reference is not None:
            check_table(reference, space)
        own = None if reference is None else different_rows(by_name(without_names(reference)))
        # Coordinates that are agreed on before any card is made; with ε there must be some.
        self._public: Schema | None = None
        if settings.schema is not None:
            self._public = Schema.load(settings.schema)
        elif settings.epsilon is not None:
            if own is None:
                raise SettingsError("protocols.cards-without-schema")
            at = derived_seed(seed, "schema") % 2**31
            self._public = public_schema(own, coordinates=settings.coordinates or "auto", task=space.task, seed=at)
        # Public coordinates are of columns as they are: directions of a private card are taken row by row.
        self._reference = own if own is None or self._public is not None else narrowed(own)
        # Whether nobody is asked after a model: people carry files, or with ε only cards leave.
        self._asks_once = host.one_answer or settings.epsilon is not None
        self._cards: dict[str, Card] = {}
        # For each client the one whose card says the same, and that counts for both.
        self._counted: dict[str, str] = {}
        self._weights: dict[str, np.ndarray] = {}
        self._evidence: dict[str, Evidence] = {}
        self._labels: dict[str, LabelEvidence] = {}
        self._agreed: Schema | None = None
        self._made: Models | None = None
        self._judged: _Judged | None = None

    def tasks(self) -> Mapping[str, Message]:
        """The question for a card; to each the model of the others; weights that all judge by; and what came of it."""
        if self._stage == "done":
            return {}
        number, kind = _KINDS.index(self._stage), self._stage
        if kind == "card":
            public = {} if self._public is None else schema_scalars(self._public)
            return dict.fromkeys(self._names, Message(kind, number, {"task": self._space.task, **public}))
        if kind == "evidence":
            return dict.fromkeys(self._weights, Message(kind, number, {}, {"weights": self._common()}))
        if kind == "flags":
            found = self._judgements().judgements
            told = {name: found[name].to_arrays() if name in found else {} for name in self._modelled()}
            return {name: Message(kind, number, {}, arrays) for name, arrays in told.items()}
        models = self._models()
        scalars: dict[str, Scalar] = {**schema_scalars(models.schema), **({"alone": 1} if self._asks_once else {})}
        made = models.at_home if self._asks_once else models.model
        return {
            name: Message(kind, number, scalars, made(self._counted[name]).to_arrays()) for name in self._modelled()
        }

    def absorb(self, replies: Mapping[str, Reply | Failure]) -> None:
        """Take the answers; a bad one takes its client out and nobody else.

        Later than a card a client has said all that its valuation needs: whoever is silent or says nonsense then is
        judged by its card.
        """
        stage, self._judged = self._stage, None
        asked = self._names if stage == "card" else list(self._weights) if stage == "evidence" else self._modelled()
        fitting = fitting_replies(asked, replies, EXCHANGES[stage].reply, number=_KINDS.index(stage))
        for name, reply in fitting.items():
            failure = reply if isinstance(reply, Failure) else None
            try:
                if isinstance(reply, Reply):
                    self._take(name, reply)
            except Exception as error:
                failure = Failure.of(error)
            if failure is not None and stage == "card":
                self._failures[name] = failure
        if stage == "card":
            self._agree()
            self._stage = "model" if self._valued() and self._modelled() else "done"
        elif stage == "model":
            model = self._models().model(self._counted[self._modelled()[0]])
            fit = model.candidates + model.numeric
            self._weights = {name: one for name, one in self._weights.items() if len(one) == fit}
            self._stage = "done" if self._asks_once else "evidence" if self._weights else "flags"
        else:
            self._stage = "flags" if stage == "evidence" else "done"

    def so_far(self) -> Mapping[str, float]:
        """Distances, once all cards are here."""
        if self._stage == "card" or not self._valued():
            return {}
        far = self._models().distances()
        return {name: far[self._counted[name]] for name in self._valued()}

    def _kept_of(self, name: str) -> dict[str, np.ndarray]:
        part: dict[str, np.ndarray] = {}
        if name in self._cards:
            header, arrays = self._cards[name].to_parts()
            part = {"card": text_array(header), **under("array.", arrays)}
        if name in self._weights:
            part["weights"] = self._weights[name]
        if name in self._evidence:
            part |= under("evidence.", self._evidence[name].to_arrays())
        if name in self._labels:
            part |= under("labels.", self._labels[name].to_arrays())
        return part

    def _keep_of(self, name: str, part: State) -> None:
        if "card" in part:
            self._cards[name] = Card.from_parts(array_text(part["card"]), below(part, "array."))
        if "weights" in part:
            self._weights[name] = part["weights"]
        if evidence := below(part, "evidence."):
            self._evidence[name] = Evidence.from_arrays(evidence)
        if labels := below(part, "labels."):
            found = LabelEvidence.from_arrays(labels, len(labels["label.counts"]))
            assert found is not None
            self._labels[name] = found

    def _keep(self, state: State) -> None:  # noqa: ARG002 - all of it is the clients'
        self._made = self._judged = None
        self._order()

    def result(self) -> Valuation:
        """Distances to the target, estimated shares of bad rows, and what stands out in a card."""
        finished(self._stage != "card")
        valued = self._valued()
        if not valued:
            records = [{"client": name, "outcome": self._failures[name].outcome} for name in self._names]
            return self._valuation(records, spread=0.0, settings={"weights": None, "reference_missing": 0.0})
        models, far, told = self._models(), self.so_far(), self._shares()
        missing = {name: missing_share(self._cards[name], models.schema) for name in valued}
        # The share of cells that the reference lacks, or without one the median client.
        own = self._reference_card()
        usual = float(np.median(list(self._once(missing).values())))
        notes = self._notes(models, own)
        records = []
        for name in self._names:
            if name in self._failures:
                records.append({"client": name, "outcome": self._failures[name].outcome})
                continue
            # A model knows nothing of labels where a column is in another unit.
            off = any(note.code == COLUMN_OFF for note in notes[name])
            records.append(
                {
                    "client": name,
                    "rows": self._cards[name].rows,
                    **({} if off else told[name]),
                    "missing": missing[name],
                    "distance": far[name],
                    "low": far[name],
                    "outcome": Outcome(notes=tuple(notes[name])),
                }
            )
        result = self._valuation(
            records,
            spread=models.apart.spread,
            settings={
                "weights": self._common().tolist() if self._weights else None,
                "reference_missing": usual if own is None else missing_share(own, models.schema),
            },
            schema=models.schema,
            notes=(*models.schema.notes, *self._remarks(told)),
        )
        if not self._settings.worth:
            return result
        self._host.busy(f"playing coalitions of {len(valued)} clients")
        seed = derived_seed(self._seed, "worth") % 2**31
        players = {name: models.placed[self._counted[name]] for name in valued}
        scores = play_worth(players, models.judge(seed), self._settings, seed=seed)
        alone = [Note("protocols.worth-self-consistency")] if self._reference is None else []
        return with_worth(result, scores, alone)

    # --- cards and models -----------------------------------------------------------------------------

    def _take(self, name: str, reply: Reply) -> None:
        if self._stage == "card":
            card = card_of(reply)
            check_card(card)
            self._cards[name] = card
        elif "weights" in reply.arrays:
            self._weights[name] = reply.arrays["weights"]
        elif "likelihood" in reply.arrays:
            told, models = Evidence.from_arrays(reply.arrays), self._models()
            self._evidence[name] = models.of_all_classes(told, models.classes(self._counted[name]))
            labels = LabelEvidence.from_arrays(reply.arrays, len(models.schema.label.classes))
            if labels is not None:
                self._labels[name] = labels

    def _valued(self) -> list[str]:
        return [name for name in self._cards if name not in self._failures]

    def _modelled(self) -> list[str]:
        return [name for name in self._valued() if self._models().may_have(self._counted[name])]

    def _reference_card(self) -> Card | None:
        """The reference as one more card."""
        return None if self._reference is None else exact_card(self._reference, task=self._space.task)

    def _order(self) -> None:
        """Cards in an order that neither names nor arrival decide, as it moves last digits; and which are the same."""
        said = {name: (card.counts.tolist(), card.sums.ravel().tolist()) for name, card in self._cards.items()}
        self._cards = {name: self._cards[name] for name in sorted(said, key=said.__getitem__)}
        self._counted = counted_as(self._cards)

    def _agree(self) -> None:
        """On a schema; cards that have no place beside the others' are out."""
        if not self._cards:
            return
        self._order()
        own, once = self._reference_card(), self._once(self._cards)
        self._agreed, reasons = agreed_schema(once, self._space, reference=own, min_group=self._settings.min_group)
        for name, counted in self._counted.items():
            if counted in reasons:
                self._failures[name] = Failure(reasons[counted])

    def _once(self, told: Mapping[str, _Told], name: str | None = None) -> dict[str, _Told]:
        """What clients told, of those with the same card one alone: the first, or the named one."""
        first: dict[str, str] = {}
        for one in told if name is None else (name, *told):
            first.setdefault(self._counted.get(one, one), one)
        return {one: told[one] for one in told if first[self._counted.get(one, one)] == one}

    def _each(
        self, told: Mapping[str, _Told], judged: Callable[[Mapping[str, _Told]], dict[str, _Made]]
    ) -> dict[str, _Made]:
        """What is made of what clients told, each of them in its turn in the place of those with the same card."""
        found = judged(self._once(told))
        for name in told:
            if name not in found:
                found[name] = judged(self._once(told, name))[name]
        return found

    def _models(self) -> Models:
        if self._made is None:
            self._host.busy("adding up the cards")
            if self._agreed is None:
                self._agree()
            schema = self._agreed
            assert schema is not None
            cards = self._once({name: self._cards[name] for name in self._valued()})
            # Rows that two clients have are shared where both agree.
            closed = {self._counted[name] for name in self._valued() if not self._cards[name].shared}
            cards = {name: replace(card, shared=name not in closed) for name, card in cards.items()}
            reference = None
            if self._reference is not None:
                seed, least = derived_seed(self._seed, "reference") % 2**31, self._settings.min_group
                reference = Reference(self._reference, schema, min_group=least, seed=seed, busy=self._host.busy)
            self._made = Models(cards, schema, reference, robust=self._settings.robust)
        return self._made

    # --- judging --------------------------------------------------------------------------------------

    def _common(self) -> np.ndarray:
        """The weights that everybody judges by: the clients' median, which a liar among them hardly moves."""
        once = self._once(self._weights)
        counts = {name: self._cards[name].counts for name in once}
        several = [name for name in once if counts[name].max() < 0.95 * counts[name].sum()]
        return np.asarray(np.median(np.array([self._weights[name] for name in several or once]), axis=0))

    def _judgements(self) -> _Judged:
        """What the clients' evidence says of each of them, beside the reference's, as far as their cards allow it.

        Nobody else is judged by evidence that its client's card contradicts, whose share of wrong labels is the card's;
        nor, where cards tell no share, by that of a client which says that it is clean, and whose card has no weight.
        """
        if self._judged is not None:
            return self._judged
        models, evidence, rate = self._models(), self._evidence, self._rules.fdr
        reference = models.label_evidence_of_reference()
        labels = self._labels | ({} if reference is None else {_REFERENCE: reference})
        findings = self._each(labels, systematic)
        self._judged = _Judged({}, {}, labels, findings)
        if not evidence:
            return self._judged
        held_out = models.evidence_of_reference(self._common() if self._weights else None)
        claimed = self._each(evidence, lambda told: judgements(told, held_out, rate=rate))
        claims, by_card = {name: one.wrong for name, one in claimed.items()}, models.shares_of_cards()
        cards = {name: by_card[self._counted[name]] for name in claims if self._counted[name] in by_card}
        disputed = contradicted(claims, cards)
        found = {name: replace(one, wrong=disputed.get(name, one.wrong)) for name, one in claimed.items()}
        clean = {name for name, claim in claims.items() if name not in cards and claim.high < INCLUDE_BELOW}
        aside = {*disputed, *filter(self._weightless, clean)}
        kept = {name: one for name, one in evidence.items() if name not in aside}
        if aside and (len(kept) > 1 or held_out is not None):
            found |= self._each(kept, lambda told: judgements(told, held_out, rate=rate))
            findings |= self._each({name: one for name, one in labels.items() if name not in aside}, systematic)
        notes = {
            name: Note(DISPUTED, {"card": round(card.share, 3), "says": round(claims[name].share, 3)})
            for name, card in disputed.items()
        }
        self._judged = _Judged(found, notes, labels, findings)
        return self._judged

    def _weightless(self, name: str) -> bool:
        """Whether a card counts for nothing in the others' models, as it contradicts theirs."""
        return self._models().weight(self._counted[name]) < _HARDLY

    # --- the result -----------------------------------------------------------------------------------

    def _shares(self) -> dict[str, dict[str, float]]:
        """Columns about bad rows: by the clients' evidence, or else by what the cards tell."""
        models, valued, found = self._models(), self._valued(), self._judgements().judgements
        silent = any(name not in found for name in valued)
        by_card = models.relative_shares() if silent else {}
        told: dict[str, dict[str, float]] = {}
        for name in valued:
            told[name] = {"shift": models.shift(self._counted[name])[0]}
            if name in found:
                told[name] |= client_numbers(found[name])
            elif (one := by_card.get(self._counted[name])) is not None:
                told[name] |= one.columns("wrong_labels") | quality_columns(one)
        return told

    def _notes(self, models: Models, own: Card | None) -> dict[str, list[Note]]:
        """What stands out in each card, and what there is no model for."""
        valued, judged = self._valued(), self._judgements()
        found = Findings(models.cards, models.placed, models.schema, own)
        notes: dict[str, list[Note]] = {}
        together: dict[str, list[str]] = defaultdict(list)
        for name in valued:
            together[self._counted[name]].append(name)
        for name in valued:
            counted = self._counted[name]
            notes[name] = found.of(counted)
            # Whoever sends another's card under a name of its own adds nothing, and should be known.
            if same := tuple(other for other in together[counted] if other != name):
                notes[name].append(Note("protocols.same-card", {"others": same}))
            if not models.may_have(counted):
                notes[name].append(Note("protocols.card-no-model"))
            shift, offsets = models.shift(counted)
            one = judged.judgements.get(name)
            blur = (np.nan, 0.0) if one is None else (one.blur, one.blur_deviations)
            if any(note.code == COLUMN_OFF for note in notes[name]):  # a unit is no site effect
                shift, blur = np.nan, (np.nan, 0.0)
            elif self._weightless(name):
                notes[name].append(Note(NO_WEIGHT))
            notes[name] += judging_notes(shift, offsets, models.schema, *blur)
            labels = self._once(judged.labels, name)
            notes[name] += label_notes(name, labels, judged.findings, models.schema.label.classes)
            if name in judged.disputed:
                notes[name].append(judged.disputed[name])
        return notes

    def _remarks(self, told: Mapping[str, Mapping[str, float]]) -> list[Note]:
        silent = [name for name, shares in told.items() if "wrong_labels" in shares and name not in self._evidence]
        said = [Note("protocols.shares-by-cards", {"count": len(silent)})] if silent else []
        if self._reference is None and self._evidence:
            said.append(Note("judging.relative"))
        if (apart := self._models().reference_shift()) is not None:
            shift, offsets, clients = apart
            columns = largest_columns(offsets, self._models().schema)
            said.append(
                Note("judging.reference-differs", {"shift": round(shift, 2), "columns": columns, "clients": clients})
            )
        return said


@dataclass(frozen=True)
class _Judged:
    """What is made of the clients' evidence, held against their cards."""

    judgements: Mapping[str, Judgement]
    disputed: Mapping[str, Note]
    labels: Mapping[str, LabelEvidence]
    findings: Mapping[str, Sequence[LabelFinding]]
