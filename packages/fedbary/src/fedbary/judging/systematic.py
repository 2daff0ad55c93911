"""Systematic label errors: one label for every row, another coding, half of a class recorded as another.

Clients send `LabelEvidence`; the server judges each by the other clients' same numbers, and counts how many rows and
clients stand behind a class before it judges anybody by it. Every finding means "look at first", never more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from fedbary.judging.label_evidence import Array, LabelEvidence

# When a difference is a finding. Chosen on six tables in federations of 5 × 400 and 20 × 100 rows, with and without
# site effects, class skew and shifts of single classes (seeds 100–103). On other seeds (0–11) clean clients had a
# finding in 0–.3 % of cases, .3–.8 % where single classes were shifted, .1–1.4 % under strong class skew.
# The evidence of a client must exceed the others' typical by so many nats, and by so many of their spreads.
_NATS, _SPREADS = 8.0, 3.0
# Least contradiction (nats per row) and distance of shares for "label-shares"; largest λ for "label-means".
_CONTRADICTION, _GAP, _SLOPE = 0.08, 0.2, 0.7
# For a single label: its rows, the share of them that looks like another class beyond the others', its z-value, the
# gain in nats per row of the label, and how far all of the client's evidence lies from the others'.
_CLASS_ROWS, _CLASS_EXCESS, _CLASS_Z, _CLASS_GAIN, _CLASS_SPREADS = 8.0, 0.2, 3.6, 0.2, 1.0
# The z-value where the evidence of all rows is no further than that from the others', or the label has few rows.
_RARE_Z = 4.5
# Rows and (effective) clients that must stand behind a class before anybody is judged by it.
_MODEL_ROWS, _MODEL_SITES = 20.0, 2.2
# The share of a client's rows that must be in such classes before all its shares or means are judged.
_COVERED = 0.5
# Where the others' own λ is smaller in the middle, their class means say nothing about anybody.
_AGREEMENT = 0.5


@dataclass(frozen=True)
class LabelFinding:
    """Something to look at first in a client's labels; labels are indices of classes.

    `kind` is one of
    "label-shares": its labels say `stated` of class `found[0]`, its measurements look like `looks`;
    "label-coding": its labels `found` look like the others' `meant`, in this order: the mapping that would mend it;
    "label-class": of its rows labelled `found[0]`, `looks` look like another class, most often `meant[0]`
    (at the others `stated` do);
    "label-means": its class means point elsewhere than the others': λ is `looks` where theirs is `stated`.
    """

    kind: str
    found: tuple[int, ...] = ()
    meant: tuple[int, ...] = ()
    stated: float = float("nan")
    looks: float = float("nan")


def systematic(evidences: Mapping[str, LabelEvidence]) -> dict[str, tuple[LabelFinding, ...]]:
    """Judge every client's labels by the other clients' same numbers.

    Shares are compared on the scale 2 arcsin √share, where the spread of a share of n rows is 1/√n, with the spread
    between clients and a floor that shrinks with the number of clients that hold the class.
    """
    return {
        name: tuple(_findings(own, [e for other, e in evidences.items() if other != name]))
        for name, own in evidences.items()
    }


def _findings(own: LabelEvidence, others: Sequence[LabelEvidence]) -> list[LabelFinding]:
    slopes = np.array([o.slope for o in others if np.isfinite(o.slope)])
    if len(others) < 2 or (len(slopes) and np.median(slopes) < _AGREEMENT):
        return []
    held = np.array([o.counts for o in others])
    behind = held.sum(0)
    judgeable = (behind >= _MODEL_ROWS) & (behind**2 >= _MODEL_SITES * (held**2).sum(0))
    labels = [int(c) for c in np.flatnonzero((own.judged >= _CLASS_ROWS) & judgeable)]
    novel = [int(c) for c in np.flatnonzero((own.judged >= _CLASS_ROWS) & (behind == 0))]

    rows, per_row = own.judged.sum(), np.array([o.nats / max(o.judged.sum(), 1.0) for o in others])
    beyond = own.nats / rows - np.median(per_row) if rows else 0.0
    spreads = beyond / _spread(per_row, 0.03)
    strong = beyond * rows > _NATS and spreads > _SPREADS
    findings: list[LabelFinding] = []

    def covered(shares: Array) -> bool:
        return bool(shares[judgeable].sum() > _COVERED)

    # The coding: the assignment of its labels to the others' classes that most of its rows agree with.
    pairs = zip(*linear_sum_assignment(-(own.looks * own.judged[:, None])), strict=True)
    moved = [(int(c), int(k)) for c, k in pairs if c in labels and c != k and own.looks[c, k] >= 0.5]
    moved = [(c, k) for c, k in moved if strong and _compare(own, others, c, k)[1] > _CLASS_Z]
    renamed = [(c, int(np.argmax(own.looks[c]))) for c in novel]
    renamed = [(c, k) for c, k in renamed if c != k and judgeable[k]]
    coding = sorted(renamed + moved) if renamed or len(moved) > 1 else []  # one label alone is a label-class
    if coding:
        findings.append(LabelFinding("label-coding", tuple(c for c, _ in coding), tuple(k for _, k in coding)))

    gaps = np.array([o.gap for o in others])
    wide = own.gap - np.median(gaps) > max(_GAP, _SPREADS * _spread(gaps, 0.05))
    if strong and own.T > _CONTRADICTION and wide and labels and not coding and covered(own.fitted):
        c = int(np.argmax(np.abs(own.stated - own.fitted)))
        findings.append(LabelFinding("label-shares", (c,), (), float(own.stated[c]), float(own.fitted[c])))

    for c in labels if not coding else []:
        gains = [o.gain[c] for o in others if o.judged[c] >= 5]
        if own.gain[c] - (np.median(gains) if gains else 0.0) <= _CLASS_GAIN:
            continue
        excess = {k: _compare(own, others, c, k) for k in map(int, np.flatnonzero(judgeable)) if k != c}
        every, _ = _compare(own, others, c, None)
        # A rare label hardly shows in the evidence of all rows: there its own has to be the clearer.
        rare = spreads <= _CLASS_SPREADS or own.judged[c] < _MODEL_ROWS
        least = _RARE_Z if rare else _CLASS_Z
        if any(e > _CLASS_EXCESS and z > least for e, z in excess.values()):
            k = max(excess, key=lambda k: excess[k][0])
            wrong = 1 - float(own.looks[c, c])
            findings.append(LabelFinding("label-class", (c,), (k,), wrong - every, wrong))

    if strong and len(slopes) > 1 and np.isfinite(own.slope) and covered(own.stated) and not findings:
        middle = float(np.median(slopes))
        if own.slope < _SLOPE * middle and middle - own.slope > _SPREADS * _spread(slopes, 0.08):
            findings.append(LabelFinding("label-means", (), (), middle, own.slope))
    return findings


def _spread(values: Array, floor: float) -> float:
    """Robust spread of the others' numbers, for one more of them."""
    middle = np.median(values)
    return float(1.4826 * np.median(np.abs(values - middle)) * np.sqrt(1 + 1 / len(values)) + floor)


def _compare(own: LabelEvidence, others: Sequence[LabelEvidence], c: int, k: int | None) -> tuple[float, float]:
    """Excess over the others', and its z-value, of the rows labelled c that look like class k (None: another class)."""

    def share(e: LabelEvidence) -> float:
        return float(1 - e.looks[c, c] if k is None else e.looks[c, k])

    def angle(shares: Array, n: Array) -> Array:
        return np.asarray(2 * np.arcsin(np.sqrt(np.clip((shares * n + 0.375) / (n + 0.75), 0.0, 1.0))))

    holders = [o for o in others if o.judged[c] >= 5]
    n = np.array([o.judged[c] for o in holders])
    shares = np.array([share(o) for o in holders])
    usual, between = 0.05, 0.0
    if holders:
        keep = np.arange(len(shares)) != np.argmax(shares) if len(shares) > 2 else np.full(len(shares), True)
        usual = float((shares[keep] @ n[keep] + 0.05) / (n[keep].sum() + 1))  # one of the others may be wrong, too
        x = angle(shares, n)
        if len(x) > 2:
            between = max((1.4826 * float(np.median(np.abs(x - np.median(x))))) ** 2 - float(np.median(1 / n)), 0.0)
    sites = [sum(o.counts[a] >= 5 for o in others) for a in ((c,) if k is None else (c, k))]
    variance = 1 / own.judged[c] + between * (1 + 1 / max(len(holders), 1)) + 0.01 + sum(0.09 / (1 + s) for s in sites)
    mine = angle(np.array([share(own)]), own.judged[[c]])[0]
    return share(own) - usual, float((mine - 2 * np.arcsin(np.sqrt(usual))) / np.sqrt(variance))
