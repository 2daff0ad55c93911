"""What a coordinator makes of judgements: columns and notes about each client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fedbary.judging.federation import Estimate, Judgement
from fedbary.judging.label_evidence import LabelEvidence
from fedbary.judging.systematic import LabelFinding
from fedbary.notes import Fact, Note
from fedbary.space.schema import Schema
from fedbary.valuation.rows import bad_rows

Floats = NDArray[np.float64]

# A shift that is worth a statement, and columns that are named with it.
_SHIFT, _MOST_COLUMNS = 0.3, 3
# A client is blurred where it scatters so many times as much as the others, far outside of what clients differ in.
_BLUR, _BLUR_DEVIATIONS = 1.4, 2.0


def common_weights(weights: Sequence[Floats]) -> Floats:
    """The median of the clients' weights, which a liar among them hardly moves.

    Examples
    --------
    >>> common_weights([np.array([1.0, 0.2]), np.array([3.0, 0.1]), np.array([2.0, 9.0])])
    array([2. , 0.2])
    """
    return np.asarray(np.median(np.array(weights), axis=0))


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
