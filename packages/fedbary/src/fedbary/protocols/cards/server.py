"""The server of the cards protocol: takes cards, makes each client's model of the others', and reads what they tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np

from fedbary.data.table import Table
from fedbary.errors import ProtocolError, SettingsError
from fedbary.judging.competition import moved_or_not
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
from fedbary.protocols.judged_clients import (
    client_numbers,
    common_weights,
    judging_notes,
    label_notes,
    largest_columns,
    quality_columns,
)
from fedbary.protocols.messages import Failure, Message, Reply, Scalar, State, array_text, below, text_array, under
from fedbary.protocols.reference import Reference
from fedbary.space.description import check_table, without_names
from fedbary.space.fit import public_schema
from fedbary.space.options import Space
from fedbary.space.row_identity import different_rows
from fedbary.space.schema import Schema
from fedbary.valuation.clients import HISTORY_COLUMNS, client_frame, outcomes_of
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


class CardsServer:
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
        self._settings, self._space, self._rules = settings, space, rules
        self._seed, self._host = seed, host
        self._names = list(clients)
        if reference is not None:
            check_table(reference, space)
        own = None if reference is None else different_rows(by_name(without_names(reference)))
        self._public = self._public_schema(own)
        # Public coordinates are of columns as they are: directions of a private card are taken row by row.
        self._reference = own if own is None or self._public is not None else narrowed(own)
        self._stage = "card"
        self._cards: dict[str, Card] = {}
        # For each client the one whose card says the same, and that counts for both.
        self._counted: dict[str, str] = {}
        self._weights: dict[str, np.ndarray] = {}
        self._evidence: dict[str, Evidence] = {}
        self._labels: dict[str, LabelEvidence] = {}
        self._failures: dict[str, Failure] = {}
        self._agreed: Schema | None = None
        self._found: Models | None = None
        self._held: _Held | None = None

    def tasks(self) -> Mapping[str, Message]:
        """The question for a card, the same for all; then to each the model of the others."""
        if self._stage == "card":
            schema = self._public
            public = {} if schema is None else {"schema": schema.to_json(), "fingerprint": schema.fingerprint}
            return dict.fromkeys(self._names, Message("card", 0, {"task": self._space.task, **public}))
        if self._stage == "done":
            return {}
        return self.messages()

    def messages(self) -> dict[str, Message]:
        """To each client its model, then the weights that all judge by, then what is made of their evidence."""
        number, kind = _KINDS.index(self._stage), self._stage
        if kind == "evidence":
            return dict.fromkeys(self._weights, Message(kind, number, {}, {"weights": self._common()}))
        if kind == "flags":
            found = self._judged().judgements
            told = {name: found[name].to_arrays() if name in found else {} for name in self._modelled()}
            return {name: Message(kind, number, {}, arrays) for name, arrays in told.items()}
        models, schema = self._models(), self._schema()
        scalars: dict[str, Scalar] = {"schema": schema.to_json(), "fingerprint": schema.fingerprint}
        if self._asks_once:
            scalars["alone"] = 1
        made = models.at_home if self._asks_once else models.model
        return {
            name: Message(kind, number, scalars, made(self._counted[name]).to_arrays()) for name in self._modelled()
        }

    def absorb(self, replies: Mapping[str, Reply | Failure]) -> None:
        """Take the answers; a bad one takes its client out and nobody else."""
        asked = self._names if self._stage == "card" else self._modelled()
        if self._stage == "evidence":
            asked = list(self._weights)
        form, self._held = EXCHANGES[self._stage].reply, None
        for name, reply in fitting_replies(asked, replies, form, number=_KINDS.index(self._stage)).items():
            if isinstance(reply, Reply):
                self._take(name, reply)
            elif self._stage == "card":  # later a client has said all that its valuation needs
                self._failures[name] = reply
        self._next_stage()

    def so_far(self) -> Mapping[str, float]:
        """Distances, once all cards are here."""
        return {} if self._stage == "card" or not self._valued() else self._distances()

    def state(self) -> State:
        """Arrays from which `restore` goes on."""
        state: dict[str, np.ndarray] = {"stage": text_array(self._stage)}
        for index, name in enumerate(self._names):
            if name in self._cards:
                header, arrays = self._cards[name].to_parts()
                state |= {f"{index}.card": text_array(header), **under(f"{index}.array.", arrays)}
            if name in self._failures:
                state[f"{index}.failure"] = self._failures[name].to_array()
            if name in self._weights:
                state[f"{index}.weights"] = self._weights[name]
            if name in self._evidence:
                state |= under(f"{index}.evidence.", self._evidence[name].to_arrays())
            if name in self._labels:
                state |= under(f"{index}.labels.", self._labels[name].to_arrays())
        return state

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        self._stage, self._found, self._held = array_text(state["stage"]), None, None
        for index, name in enumerate(self._names):
            if f"{index}.card" in state:
                arrays = below(state, f"{index}.array.")
                self._cards[name] = Card.from_parts(array_text(state[f"{index}.card"]), arrays)
            if f"{index}.failure" in state:
                self._failures[name] = Failure.from_array(state[f"{index}.failure"])
            if f"{index}.weights" in state:
                self._weights[name] = state[f"{index}.weights"]
            if evidence := below(state, f"{index}.evidence."):
                self._evidence[name] = Evidence.from_arrays(evidence)
            if labels := below(state, f"{index}.labels."):
                found = LabelEvidence.from_arrays(labels, len(labels["label.counts"]))
                assert found is not None
                self._labels[name] = found
        self._order()

    def result(self) -> Valuation:
        """Distances to the target, estimated shares of bad rows, and what stands out in a card."""
        if self._stage == "card":
            raise ProtocolError("protocols.not-finished")
        import pandas as pd

        valued = self._valued()
        models = self._models() if valued else None
        far = self._distances() if valued else {}
        told = self._shares() if valued else {}
        missing = {name: missing_share(self._cards[name], self._schema()) for name in valued}
        notes = {} if models is None else self._notes(models)
        records = [self._record(name, far, told, missing, notes) for name in self._names]
        result = Valuation(
            clients=client_frame(records, spread=0.0 if models is None else models.spread),
            outcomes=outcomes_of(records),
            history=pd.DataFrame(columns=list(HISTORY_COLUMNS)),
            settings={
                "protocol": self._settings.name,
                **asdict(self._settings),
                "space": asdict(self._space),
                "weights": self._common().tolist() if self._weights else None,
                "reference_missing": self._usually_missing(missing),
            },
            schema=None if models is None else models.schema,
            notes=() if models is None else (*models.schema.notes, *self._remarks(told)),
        )
        return result if models is None or not self._settings.worth else self._with_worth(result, models)

    # --- cards ----------------------------------------------------------------------------------------

    def _public_schema(self, reference: Table | None) -> Schema | None:
        """Coordinates that are agreed on before any card is made; with ε there must be some."""
        if self._settings.schema is not None:
            return Schema.load(self._settings.schema)
        if self._settings.epsilon is None:
            return None
        if reference is None:
            raise SettingsError("protocols.cards-without-schema")
        kept, seed = self._settings.coordinates, derived_seed(self._seed, "schema") % 2**31
        return public_schema(reference, coordinates=kept or "auto", task=self._space.task, seed=seed)

    def _take(self, name: str, reply: Reply) -> None:
        try:
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
        except Exception as error:
            if self._stage == "card":  # whoever says nonsense later is judged by its card
                self._failures[name] = Failure.of(error)

    def _next_stage(self) -> None:
        if self._stage == "card":
            self._fail_unlike()
            self._stage = "model" if self._valued() and self._modelled() else "done"
        elif self._stage == "model":
            self._weights = {name: one for name, one in self._weights.items() if len(one) == self._candidates()}
            self._stage = "done" if self._asks_once else "evidence" if self._weights else "flags"
        else:
            self._stage = "flags" if self._stage == "evidence" else "done"

    @property
    def _asks_once(self) -> bool:
        """Whether nobody is asked after a model: people carry files, or with ε only cards leave."""
        return self._host.one_answer or self._settings.epsilon is not None

    def _modelled(self) -> list[str]:
        return [name for name in self._valued() if self._models().may_have(self._counted[name])]

    def _candidates(self) -> int:
        model = self._models().model(self._counted[self._modelled()[0]])
        return model.candidates + model.numeric

    def _reference_card(self) -> Card | None:
        """The reference as one more card."""
        return None if self._reference is None else exact_card(self._reference, task=self._space.task)

    def _fail_unlike(self) -> None:
        """Cards that have no place beside the others' are out."""
        if not self._cards:
            return
        self._order()
        own, once = self._reference_card(), self._once(self._cards)
        self._agreed, reasons = agreed_schema(once, self._space, reference=own, min_group=self._settings.min_group)
        for name, counted in self._counted.items():
            if counted in reasons:
                self._failures[name] = Failure(reasons[counted])

    def _order(self) -> None:
        """Cards in an order that neither names nor arrival decide, as it moves last digits; and which are the same."""
        self._cards = dict(sorted(self._cards.items(), key=_place))
        self._counted = counted_as(self._cards)

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

    def _schema(self) -> Schema:
        return self._models().schema

    def _valued(self) -> list[str]:
        return [name for name in self._cards if name not in self._failures]

    # --- models ---------------------------------------------------------------------------------------

    def _models(self) -> Models:
        if self._found is None:
            self._host.busy("adding up the cards")
            if self._agreed is None:
                self._fail_unlike()
            assert self._agreed is not None
            cards = self._once({name: self._cards[name] for name in self._valued()})
            # Rows that two clients have are shared where both agree.
            closed = {self._counted[name] for name in self._valued() if not self._cards[name].shared}
            cards = {name: replace(card, shared=name not in closed) for name, card in cards.items()}
            reference = self._held_reference(self._agreed)
            self._found = Models(cards, self._agreed, reference, robust=self._settings.robust)
        return self._found

    def _held_reference(self, schema: Schema) -> Reference | None:
        if self._reference is None:
            return None
        seed = derived_seed(self._seed, "reference") % 2**31
        least = self._settings.min_group
        return Reference(self._reference, schema, min_group=least, seed=seed, busy=self._host.busy)

    # --- judging --------------------------------------------------------------------------------------

    def _common(self) -> np.ndarray:
        """The weights that everybody judges by."""
        two = [
            name
            for name in self._once(self._weights)
            if np.sort(self._cards[name].counts)[-1] < 0.95 * self._cards[name].counts.sum()
        ]
        return common_weights([self._weights[name] for name in two or self._once(self._weights)])

    def _judged(self) -> _Held:
        """What the clients' evidence says of each of them, beside the reference's, as far as their cards allow it.

        Nobody else is judged by evidence that its client's card contradicts, whose share of wrong labels is the card's;
        nor, where cards tell no share, by that of a client which says that it is clean, and whose card has no weight.
        """
        if self._held is None:
            models, evidence, rate = self._models(), self._evidence, self._rules.fdr
            reference = models.label_evidence_of_reference()
            labels = self._labels | ({} if reference is None else {_REFERENCE: reference})
            findings = self._each(labels, systematic)
            if not evidence:
                self._held = _Held({}, {}, labels, findings)
                return self._held
            held_out = models.evidence_of_reference(self._common()) if self._weights else self._held_at_home()
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
            self._held = _Held(found, notes, labels, findings)
        return self._held

    def _weightless(self, name: str) -> bool:
        """Whether a card counts for nothing in the others' models, as it contradicts theirs."""
        return self._models().weight(self._counted[name]) < _HARDLY

    def _held_at_home(self) -> Evidence | None:
        """The reference's evidence by the weights that clients got who are asked once."""
        models, judge = self._models(), self._models().held_out
        return None if judge is None else models.evidence_of_reference(moved_or_not(judge.own_weights()))

    # --- the result -----------------------------------------------------------------------------------

    def _distances(self) -> dict[str, float]:
        far = self._models().distances()
        return {name: far[self._counted[name]] for name in self._valued()}

    def _shares(self) -> dict[str, dict[str, float]]:
        """Columns about bad rows: by the clients' evidence, or else by what the cards tell."""
        models, valued, found = self._models(), self._valued(), self._judged().judgements
        silent = any(name not in found for name in valued)
        by_card = dict(zip(models.cards, models.relative_shares() if silent else [None] * len(valued), strict=False))
        told: dict[str, dict[str, float]] = {}
        for name in valued:
            told[name] = {"shift": models.shift(self._counted[name])[0]}
            if name in found:
                told[name] |= client_numbers(found[name])
            elif (one := by_card[self._counted[name]]) is not None:
                told[name] |= one.columns("wrong_labels") | quality_columns(one)
        return told

    def _record(
        self,
        name: str,
        far: Mapping[str, float],
        told: Mapping[str, Mapping[str, float]],
        missing: Mapping[str, float],
        notes: Mapping[str, Sequence[Note]],
    ) -> dict[str, Any]:
        if name in self._failures:
            return {"client": name, "outcome": self._failures[name].outcome}
        return {
            "client": name,
            "rows": self._cards[name].rows,
            # A model knows nothing of labels where a column is in another unit.
            **({} if any(note.code == COLUMN_OFF for note in notes[name]) else told[name]),
            "missing": missing[name],
            "distance": far[name],
            "low": far[name],
            "outcome": Outcome(notes=tuple(notes[name])),
        }

    def _notes(self, models: Models) -> dict[str, list[Note]]:
        """What stands out in each card, and what there is no model for."""
        valued, own = self._valued(), self._reference_card()
        found = Findings(models.cards, models.placed, models.schema, own)
        notes: dict[str, list[Note]] = {}
        judged = self._judged()
        together: dict[str, list[str]] = {}
        for name in valued:
            together.setdefault(self._counted[name], []).append(name)
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
            notes[name] += label_notes(
                name, self._once(judged.labels, name), judged.findings, models.schema.label.classes
            )
            if name in judged.disputed:
                notes[name].append(judged.disputed[name])
        return notes

    def _usually_missing(self, missing: Mapping[str, float]) -> float:
        """The share of cells that the reference lacks, or without one the median client."""
        if (own := self._reference_card()) is not None:
            return missing_share(own, self._schema()) if missing else 0.0
        return float(np.median(list(self._once(missing).values()))) if missing else 0.0

    def _with_worth(self, result: Valuation, models: Models) -> Valuation:
        self._host.busy(f"playing coalitions of {len(self._valued())} clients")
        seed = derived_seed(self._seed, "worth") % 2**31
        players = {name: models.placed[self._counted[name]] for name in self._valued()}
        scores = play_worth(players, models.judge(seed), self._settings, seed=seed)
        alone = [Note("protocols.worth-self-consistency")] if self._reference is None else []
        return with_worth(result, scores, alone)

    def _remarks(self, told: Mapping[str, Mapping[str, float]]) -> list[Note]:
        silent = [name for name, shares in told.items() if "wrong_labels" in shares and name not in self._evidence]
        said = [Note("protocols.shares-by-cards", {"count": len(silent)})] if silent else []
        if self._reference is None and self._evidence:
            said.append(Note("judging.relative"))
        if (apart := self._models().reference_shift()) is not None:
            shift, offsets, clients = apart
            columns = largest_columns(offsets, self._schema())
            said.append(
                Note("judging.reference-differs", {"shift": round(shift, 2), "columns": columns, "clients": clients})
            )
        return said


@dataclass(frozen=True)
class _Held:
    """What is made of the clients' evidence, held against their cards."""

    judgements: Mapping[str, Judgement]
    disputed: Mapping[str, Note]
    labels: Mapping[str, LabelEvidence]
    findings: Mapping[str, Sequence[LabelFinding]]


def _place(named: tuple[str, Card]) -> tuple[list[float], list[float]]:
    """By what a card says."""
    _, card = named
    return card.counts.tolist(), card.sums.ravel().tolist()
