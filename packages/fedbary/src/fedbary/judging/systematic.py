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


@dataclass(frozen=True)
class LabelRules:
    """When a difference is a finding.

    Chosen on six tables in federations of 5 × 400 and 20 × 100 rows, with and without site effects, class skew and
    shifts of single classes (seeds 100–103). On other seeds (0–11) clean clients had a finding in 0–.3 % of cases,
    .3–.8 % where single classes were shifted, .1–1.4 % under strong class skew.

    Attributes
    ----------
    nats, spreads : float
        The evidence of a client must exceed the others' typical by so many nats, and by so many of their spreads.
    T, gap, slope : float
        Least contradiction (nats per row) and distance of shares for "label-shares"; largest λ for "label-means".
    class_rows, class_excess, class_z, class_gain, class_spreads : float
        For a single label: its rows, the share of them that looks like another class beyond the others', its z-value,
        the gain in nats per row of the label, and how far all of the client's evidence lies from the others'.
    rare_z : float
        The z-value that is asked for where the evidence of all rows is no further than that from the others', or the
        label has few rows.
    model_rows, model_sites : float
        Rows and (effective) clients that must stand behind a class before anybody is judged by it.
    covered : float
        The share of a client's rows that must be in such classes before all its shares or means are judged.
    agreement : float
        Where the others' own λ is smaller in the middle, their class means say nothing about anybody.
    """

    nats: float = 8.0
    spreads: float = 3.0
    T: float = 0.08
    gap: float = 0.2
    slope: float = 0.7
    class_rows: float = 8.0
    class_excess: float = 0.2
    class_z: float = 3.6
    class_gain: float = 0.2
    class_spreads: float = 1.0
    rare_z: float = 4.5
    model_rows: float = 20.0
    model_sites: float = 2.2
    covered: float = 0.5
    agreement: float = 0.5


def systematic(
    evidences: Mapping[str, LabelEvidence], rules: LabelRules | None = None
) -> dict[str, tuple[LabelFinding, ...]]:
    """Judge every client's labels by the other clients' same numbers.

    Shares are compared on the scale 2 arcsin √share, where the spread of a share of n rows is 1/√n, with the spread
    between clients and a floor that shrinks with the number of clients that hold the class.
    """
    rules = rules or LabelRules()
    return {
        name: tuple(_findings(own, [e for other, e in evidences.items() if other != name], rules))
        for name, own in evidences.items()
    }


def _findings(own: LabelEvidence, others: Sequence[LabelEvidence], rules: LabelRules) -> list[LabelFinding]:
    slopes = np.array([o.slope for o in others if np.isfinite(o.slope)])
    if len(others) < 2 or (len(slopes) and np.median(slopes) < rules.agreement):
        return []
    held = np.array([o.counts for o in others])
    behind = held.sum(0)
    judgeable = (behind >= rules.model_rows) & (behind**2 >= rules.model_sites * (held**2).sum(0))
    labels = [int(c) for c in np.flatnonzero((own.judged >= rules.class_rows) & judgeable)]
    novel = [int(c) for c in np.flatnonzero((own.judged >= rules.class_rows) & (behind == 0))]

    rows, per_row = own.judged.sum(), np.array([o.nats / max(o.judged.sum(), 1.0) for o in others])
    beyond = own.nats / rows - np.median(per_row) if rows else 0.0
    spreads = beyond / _spread(per_row, 0.03)
    strong = beyond * rows > rules.nats and spreads > rules.spreads
    findings: list[LabelFinding] = []

    def covered(shares: Array) -> bool:
        return bool(shares[judgeable].sum() > rules.covered)

    # The coding: the assignment of its labels to the others' classes that most of its rows agree with.
    pairs = zip(*linear_sum_assignment(-(own.looks * own.judged[:, None])), strict=True)
    moved = [(int(c), int(k)) for c, k in pairs if c in labels and c != k and own.looks[c, k] >= 0.5]
    moved = [(c, k) for c, k in moved if strong and _compare(own, others, c, k)[1] > rules.class_z]
    renamed = [(c, int(np.argmax(own.looks[c]))) for c in novel]
    renamed = [(c, k) for c, k in renamed if c != k and judgeable[k]]
    coding = sorted(renamed + moved) if renamed or len(moved) > 1 else []  # one label alone is a label-class
    if coding:
        findings.append(LabelFinding("label-coding", tuple(c for c, _ in coding), tuple(k for _, k in coding)))

    gaps = np.array([o.gap for o in others])
    wide = own.gap - np.median(gaps) > max(rules.gap, rules.spreads * _spread(gaps, 0.05))
    if strong and own.T > rules.T and wide and labels and not coding and covered(own.fitted):
        c = int(np.argmax(np.abs(own.stated - own.fitted)))
        findings.append(LabelFinding("label-shares", (c,), (), float(own.stated[c]), float(own.fitted[c])))

    for c in labels if not coding else []:
        gains = [o.gain[c] for o in others if o.judged[c] >= 5]
        if own.gain[c] - (np.median(gains) if gains else 0.0) <= rules.class_gain:
            continue
        excess = {k: _compare(own, others, c, k) for k in map(int, np.flatnonzero(judgeable)) if k != c}
        every, _ = _compare(own, others, c, None)
        # A rare label hardly shows in the evidence of all rows: there its own has to be the clearer.
        rare = spreads <= rules.class_spreads or own.judged[c] < rules.model_rows
        least = rules.rare_z if rare else rules.class_z
        if any(e > rules.class_excess and z > least for e, z in excess.values()):
            k = max(excess, key=lambda k: excess[k][0])
            wrong = 1 - float(own.looks[c, c])
            findings.append(LabelFinding("label-class", (c,), (k,), wrong - every, wrong))

    if strong and len(slopes) > 1 and np.isfinite(own.slope) and covered(own.stated) and not findings:
        middle = float(np.median(slopes))
        if own.slope < rules.slope * middle and middle - own.slope > rules.spreads * _spread(slopes, 0.08):
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
