"""The server of the sketch protocol: sketches its rows, fits the scoring model, reads the scalars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedbary.data.table import Table
from fedbary.errors import DataError, SettingsError
from fedbary.forms import array_text, text_array
from fedbary.notes import Note, notes_from_text, notes_to_text
from fedbary.protocols.forms import fitting_replies
from fedbary.protocols.host import ALONE, Host, derived_seed
from fedbary.protocols.messages import Failure, Message, Reply, State, reply_notes
from fedbary.protocols.reference import Reference, reference_model
from fedbary.protocols.server import Server, finished, judging_notes, schema_scalars
from fedbary.protocols.sketch import Sketch
from fedbary.protocols.sketch.claims import check_claims
from fedbary.protocols.sketch.forms import EXCHANGES
from fedbary.protocols.sketch.numbers import ABOUT_ROWS, NOISY, PLACE, CleanRates, clean_rates, client_numbers
from fedbary.protocols.sketch.sketch import held_out_costs, make_sketch
from fedbary.space.fit import fit_schema
from fedbary.space.notes import count_cells
from fedbary.space.options import Space
from fedbary.space.points import class_codes, embed
from fedbary.space.row_identity import different_rows, place_of_first
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.result import Valuation
from fedbary.valuation.rows import RowRules
from fedbary.valuation.verdict import TOO_GOOD

# A private interval is widened so that it misses at most this often.
_MISS = 0.05
# Worth a look: less than half as far as any draw of as many rows of the reference. Honest clients of clean rows were at
# .62 of the nearest draw or above, also of columns with heavy tails.
_TOO_GOOD = 0.5
# With fewer reference rows the cards of other clients are worth a try (`fedbary reproduce cards`). With fewer clients
# there is no model that is not one client's card.
_SOME_CLIENTS, _FEW_ROWS = 3, 300
_NUMBERS = ("rows", "cost", "lower", "relaxed", "error", "noise", *ABOUT_ROWS, *NOISY, *PLACE)
# What a reply may lack.
_LEFT_OUT = {"noise": 0.0, **dict.fromkeys((*ABOUT_ROWS, *NOISY, *PLACE), np.nan)}


class SketchServer(Server):
    """Holds the reference; learns a row count and four numbers of each client."""

    def __init__(
        self,
        settings: Sketch,
        clients: Sequence[str],
        reference: Table | None,
        space: Space,
        *,
        rules: RowRules,  # noqa: ARG002 - clients flag at home
        seed: int,
        host: Host = ALONE,
    ) -> None:
        if reference is None:
            raise SettingsError("protocols.sketch-without-reference")
        super().__init__(settings, clients, space, seed, host)
        self._settings, self._stage = settings, "sketch"
        self._answers: dict[str, dict[str, float]] = {}
        self._notes: dict[str, tuple[Note, ...]] = {}
        self._reference_rows = len(reference)
        self._prepare(reference)

    def tasks(self) -> Mapping[str, Message]:
        """The one message, to everybody."""
        return {} if self._stage == "done" else dict.fromkeys(self._names, self.question())

    def absorb(self, replies: Mapping[str, Reply | Failure]) -> None:
        """Take the answers; a bad one takes its client out and nobody else."""
        for name, reply in fitting_replies(self._names, replies, EXCHANGES["sketch"].reply, number=0).items():
            if isinstance(reply, Failure):
                self._failures[name] = reply
                continue
            try:
                numbers = {key: float(reply.scalars.get(key, _LEFT_OUT.get(key, 0.0))) for key in _NUMBERS}
                check_claims(numbers, self.sketch, self._settings.epsilon)
                self._notes[name], self._answers[name] = reply_notes(reply), numbers
            except Exception as error:
                self._failures[name] = Failure.of(error)
        self._stage = "done"

    def so_far(self) -> Mapping[str, float]:
        """Distances of the clients that have answered."""
        return {name: _interval(numbers)[0] for name, numbers in self._answers.items() if name not in self._failures}

    def _kept_of(self, name: str) -> dict[str, np.ndarray]:
        if name not in self._answers:
            return {}
        numbers = np.array([self._answers[name][key] for key in _NUMBERS])
        return {"numbers": numbers, "notes": text_array(notes_to_text(self._notes[name]))}

    def _keep_of(self, name: str, part: State) -> None:
        if "numbers" in part:
            self._answers[name] = dict(zip(_NUMBERS, map(float, part["numbers"]), strict=True))
            self._notes[name] = notes_from_text(array_text(part["notes"]))

    def result(self) -> Valuation:
        """Distances with certified intervals, excess, estimates about the rows, and shares."""
        finished(self._stage == "done")
        cap = self.sketch.cap if self._settings.epsilon is not None else None
        rows = [int(numbers["rows"]) for numbers in self._answers.values()]
        held_out = held_out_costs(self._clean, self.sketch, rows, cap=cap, seed=self._seed, over=self._host.map)
        # Other clients' rows say more than few clean ones, where there are other clients.
        few = self._reference_rows < _FEW_ROWS and len(self._answers) >= _SOME_CLIENTS
        remarks = [Note("protocols.few-reference-rows", {"rows": self._reference_rows})] if few else []
        return self._valuation(
            [self._record(name, held_out) for name in self._names],
            spread=self._spread,
            settings={
                "sketch_points": len(self.sketch.weights),
                "sketch_error": self.sketch.error,
                "target_rows": self._reference_rows,
                "cost_cap": self.sketch.cap,
                "reference_missing": self._missing,
            },
            schema=self.schema,
            target=self.sketch.points,
            notes=(*self.schema.notes, *remarks),
        )

    def question(self) -> Message:
        """What every client is sent."""
        return Message(
            "sketch",
            0,
            {
                **schema_scalars(self.schema),
                "cap": self.sketch.cap,
                **({} if self.rates is None else self.rates.scalars),
            },
            {
                "points": self.sketch.points,
                "weights": self.sketch.weights,
                "variances": self.sketch.variances,
                **self._scoring,
            },
        )

    def _prepare(self, reference: Table) -> None:
        settings, busy = self._settings, self._host.busy
        seed = derived_seed(self._seed, "sketch") % 2**31
        self.schema = fit_schema(reference, self._space, seed=seed)
        busy("sketching the reference")
        cloud = embed(reference, self.schema)
        if cloud.distinct < settings.min_group:
            raise DataError(
                "protocols.reference-too-small-for-sketch", different=int(cloud.distinct), least=settings.min_group
            )
        codes = np.zeros(cloud.distinct, dtype=np.int64)
        if self.schema.label.kind == "classes":
            codes = class_codes(reference, cloud, self.schema)
        self.sketch = make_sketch(
            cloud.points,
            cloud.weights,
            codes,
            settings.support,
            min_group=settings.min_group,
            seed=seed,
            private=settings.epsilon is not None,
        )
        # Their distance to the sketch is a little small, as they are in it.
        self._clean = cloud
        own = Reference(
            different_rows(reference), self.schema, min_group=settings.min_group, seed=seed, projected=False, busy=busy
        )
        self._scoring = {} if (model := reference_model(own, self.schema)) is None else model.to_arrays()
        self.rates: CleanRates | None = None
        if (
            settings.epsilon is not None
            and settings.numbers
            and (self.schema.label.kind == "number" or own.agreed is not None)
        ):
            agreed = None if own.agreed is None else own.agreed[place_of_first(reference)]
            self.rates = clean_rates(cloud, codes, self.sketch, agreed, min_group=settings.min_group, seed=seed)
        self._missing = count_cells(reference, self.schema).share(self.schema)
        centre = cloud.weights @ cloud.points
        self._spread = float(np.sqrt(cloud.weights @ ((cloud.points - centre) ** 2).sum(axis=1)))

    def _record(self, name: str, held_out: Mapping[int, list[float]]) -> dict[str, Any]:
        if name in self._failures:
            return {"client": name, "outcome": self._failures[name].outcome}
        numbers = self._answers[name]
        distance, low, high = _interval(numbers)
        cap = self.sketch.cap
        notes = self._notes[name]
        if self._settings.epsilon is not None and numbers["cost"] > 0.9 * cap:
            notes = (*notes, Note("protocols.saturated"))
        notes = (*notes, *judging_notes(numbers["shift"], np.zeros(0), self.schema, numbers["blur"]))
        # Estimates about a client's rows: its own, or made of its noisy shares.
        told = numbers
        if self.rates is not None and not np.isnan(numbers["doubted"]):
            epsilon = self._settings.epsilon or np.inf
            told = {**numbers, **self.rates.columns(numbers, epsilon)}
        clean = held_out[int(numbers["rows"])]
        if np.sqrt(numbers["cost"] + _slack(numbers)) < _TOO_GOOD * np.sqrt(min(clean)):
            nearest = float(np.sqrt(min(clean)))
            notes = (*notes, Note(TOO_GOOD, {"distance": float(np.sqrt(numbers["cost"])), "nearest": nearest}))
        return {
            "client": name,
            "rows": int(numbers["rows"]),
            "distance": distance,
            "low": low,
            "high": high,
            "excess": numbers["cost"] - float(np.mean(clean)),
            "closeness": 1.0 - numbers["relaxed"] / cap,
            **client_numbers(told),
            "outcome": Outcome(notes=notes),
        }


def _slack(numbers: Mapping[str, float]) -> float:
    """What the noise of a private answer may hide."""
    return float(numbers["noise"] * np.log(1.0 / _MISS))


def _interval(numbers: Mapping[str, float]) -> tuple[float, float, float]:
    """Estimate and certified ends; noise of a private answer widens them.

    The estimate √(d_S·upper) lies between the distance to the sketch and the upper end (docs/performance.md).
    """
    slack = _slack(numbers)
    cost = numbers["cost"]
    low = np.sqrt(max(numbers["lower"], 0.0))
    if numbers["noise"]:
        low = max(0.0, np.sqrt(max(cost - slack, 0.0)) - numbers["error"])
    high = np.sqrt(cost + slack + numbers["error"] ** 2)
    upper = np.sqrt(cost + numbers["error"] ** 2)
    estimate = min(max(np.sqrt(np.sqrt(cost) * upper), low), high)
    return float(estimate), float(low), float(high)
