"""`Server`: what the servers of all protocols do alike; and what one makes of judgements: columns and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import ProtocolError
from fedbary.forms import array_text, below, text_array, under
from fedbary.judging.federation import Estimate, Judgement
from fedbary.judging.label_evidence import LabelEvidence
from fedbary.judging.systematic import LabelFinding
from fedbary.notes import Fact, Note
from fedbary.protocols.host import Host
from fedbary.protocols.messages import Failure, Scalar, Settings, State
from fedbary.space.options import Space
from fedbary.space.schema import Schema
from fedbary.valuation.clients import HISTORY_COLUMNS, client_frame, outcomes_of
from fedbary.valuation.result import Valuation
from fedbary.valuation.rows import bad_rows

Floats = NDArray[np.float64]

# A shift that is worth a statement, and columns that are named with it.
_SHIFT, _MOST_COLUMNS = 0.3, 3
# A client is blurred where it scatters so many times as much as the others, far outside of what clients differ in.
_BLUR, _BLUR_DEVIATIONS = 1.4, 2.0


class Server:
    """Who was asked, which stage a run has reached, who failed; checkpoints of that, and the frame of a result."""

    # What a client's part of a checkpoint stands under.
    part: ClassVar[str] = "{}."

    def __init__(self, settings: Settings, clients: Sequence[str], space: Space, seed: int, host: Host) -> None:
        self._space, self._seed, self._host = space, seed, host
        self._name, self._told_settings = settings.name, asdict(settings)
        self._names = list(clients)
        self._stage = ""
        self._failures: dict[str, Failure] = {}

    def state(self) -> State:
        state = {"stage": text_array(self._stage), **self._kept()}
        for index, name in enumerate(self._names):
            part = self._kept_of(name)
            if name in self._failures:
                part["failure"] = self._failures[name].to_array()
            state |= under(self.part.format(index), part)
        return state

    def restore(self, state: State) -> None:
        # A sketch's checkpoint of an older version says no stage: it was written after the only round.
        self._stage = array_text(state["stage"]) if "stage" in state else "done"
        for index, name in enumerate(self._names):
            part = below(state, self.part.format(index))
            if "failure" in part:
                self._failures[name] = Failure.from_array(part["failure"])
            self._keep_of(name, part)
        self._keep(state)

    def _kept(self) -> dict[str, np.ndarray]:
        """What a checkpoint needs besides stage and clients."""
        return {}

    def _keep(self, state: State) -> None:
        """Go on with it, once the clients are as they were."""

    def _kept_of(self, name: str) -> dict[str, np.ndarray]:
        """What a checkpoint needs of a client."""
        raise NotImplementedError

    def _keep_of(self, name: str, part: State) -> None:
        """Go on with it."""
        raise NotImplementedError

    def _valuation(
        self, records: list[dict[str, Any]], *, spread: float, settings: Mapping[str, Any], **more: Any
    ) -> Valuation:
        """The result, of one record for each client."""
        import pandas as pd

        return Valuation(
            clients=client_frame(records, spread=spread),
            outcomes=outcomes_of(records),
            history=pd.DataFrame.from_records(more.pop("history", []), columns=list(HISTORY_COLUMNS)),
            settings={"protocol": self._name, **self._told_settings, "space": asdict(self._space), **settings},
            **more,
        )


def schema_scalars(schema: Schema) -> dict[str, Scalar]:
    """A schema in a message."""
    return {"schema": schema.to_json(), "fingerprint": schema.fingerprint}


def finished(done: bool) -> None:
    """Refuse the result of a run that is under way."""
    if not done:
        raise ProtocolError("protocols.not-finished")


def client_numbers(judgement: Judgement) -> dict[str, float]:
    """Columns of ``result.clients`` about a client's rows."""
    wrong, odd = judgement.wrong, judgement.odd
    return {
        **wrong.columns("wrong_labels"),
        **odd.columns("odd_features"),
        **quality_columns(bad_rows(odd, wrong)),
        "blur": judgement.blur,
    }


def quality_columns(bad: Estimate) -> dict[str, float]:
    """Quality with its ends, by the share of bad rows."""
    return {"quality": 1.0 - bad.share, "quality_low": 1.0 - bad.high, "quality_high": 1.0 - bad.low}


def judging_notes(shift: float, offsets: Floats, schema: Schema, blur: float, deviations: float = np.inf) -> list[Note]:
    """What is worth saying of a client beside its numbers."""
    notes = []
    columns = largest_columns(offsets, schema)
    if shift >= _SHIFT:
        notes.append(Note("judging.shift", {"shift": round(shift, 2), "columns": columns}))
    if blur > _BLUR and deviations > _BLUR_DEVIATIONS:
        notes.append(Note("judging.blur", {"blur": round(blur, 2), "columns": ()}))
    return notes


def label_notes(
    name: str,
    evidence: Mapping[str, LabelEvidence],
    findings: Mapping[str, Sequence[LabelFinding]],
    classes: Sequence[str],
) -> list[Note]:
    """What is worth saying of a client's labels: systematic errors, and labels that only it has, or only one."""
    notes = []
    for one in findings.get(name, ()):
        found, meant = (tuple(classes[place] for place in places) for places in (one.found, one.meant))
        stated, looks = round(one.stated, 3), round(one.looks, 3)
        if one.kind == "label-shares":
            notes.append(Note("judging.label-shares", {"label": found[0], "stated": stated, "looks": looks}))
        elif one.kind == "label-coding":
            notes.append(Note("judging.label-coding", {"found": found, "meant": meant}))
        elif one.kind == "label-class":
            rows = int(evidence[name].counts[one.found[0]])
            facts: dict[str, Fact] = {"label": found[0], "share": looks, "rows": rows, "meant": meant[0]}
            notes.append(Note("judging.class-labels", facts))
        else:
            notes.append(Note("judging.label-means"))
    if name in evidence and not any(one.kind == "label-coding" for one in findings.get(name, ())):
        others = np.array([one.counts for other, one in evidence.items() if other != name])
        held = [place for place, rows in enumerate(evidence[name].counts) if rows]
        alone = [place for place in held if len(others) and not others[:, place].any()]
        notes += [Note("judging.own-label", {"label": classes[place]}) for place in alone[:_MOST_COLUMNS]]
        if len(held) == 1:
            notes.append(Note("judging.one-label", {"label": classes[held[0]]}))
    return notes


def largest_columns(offsets: Floats, schema: Schema) -> tuple[str, ...]:
    """The columns that lie farthest away, by their coordinates' offsets; none where columns are mixed or blocks."""
    columns = schema.columns
    if schema.encoded_width != len(offsets):
        return ()
    far = [float(np.sqrt((offsets[own] ** 2).mean())) for own in schema.slices.values()]
    named = [place for place in np.argsort(-np.array(far)) if columns[place].kind != "block"]
    return tuple(columns[place].name for place in named[:_MOST_COLUMNS])
