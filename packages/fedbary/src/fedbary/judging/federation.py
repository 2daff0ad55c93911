"""What a federation's evidence says of each client: shares of bad rows, and which rows to flag.

Nobody's rows are known to be clean. So clients are compared with each other, and with a reference's own rows where
there is one: two groups of clients, clean ones and bad ones, and one test over the rows of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import ProtocolError
from fedbary.forms import Numbers, arrays_of
from fedbary.judging.evidence import CELLS, SHARES, Evidence, tail

Floats = NDArray[np.float64]

_WIDTHS: Floats = np.gradient(SHARES)
# Before anything is seen, so many clients are bad; their shares lie so far beyond the clean ones' on average.
_BAD, _BEYOND = 0.2, 0.25
# Clean clients differ by this much at least, and by this part of what they have in common.
_LEAST_SPREAD, _RELATIVE_SPREAD = 0.01, 0.25
_QUARTILE, _MAD = 0.25, 1.4826
# With this probability a client is bad where its share has a lower end; and of the ends themselves.
_SURE, _MISS = 0.9, 0.05
# Errors of one kind alone, confusions with the next class, seem fewer by up to this part: nobody knows their kind.
_KINDS_DIFFER = 0.35
# Tail levels at which features may exceed the others', and standard errors that they have to.
_LEVELS, _ERRORS = (0.2, 0.1, 0.05, 0.02), 2.0
_LEAST_SHARE, _MOST_SHARE = 1e-4, 0.95
# The null is of rows that are mostly clean and the shares are estimates: with the whole rate more than that was false.
_OF_THE_RATE = 0.6
# Clean clients' tails differ by this part of them in any federation.
_TAILS_DIFFER = 0.15
# Spread between clients in log blur that is expected in any federation.
_BLUR_SPREAD = 0.15
# What a message has of a judgement.
JUDGEMENT = {
    "label_null": Numbers((CELLS,), 0.0, 1e12),
    "feature_null": Numbers((CELLS,), 0.0, 1e12),
    "numbers": Numbers((10,), -1.0, 1e12),
}
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Estimate:
    """A share of a table's rows, and between what it lies with a probability of 90 %."""

    share: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Estimate:
        return cls(float(content["share"]), float(content["low"]), float(content["high"]))

    def columns(self, name: str) -> dict[str, float]:
        """As columns of ``result.clients``: the share under this name, its ends with ``_low`` and ``_high``."""
        return {name: self.share, f"{name}_low": self.low, f"{name}_high": self.high}


@dataclass(frozen=True, eq=False)
class Judgement:
    """What is made of a client's evidence beside the others'.

    ``label_null`` and ``feature_null`` are counts of rows to compare its own with, ``label_share`` and
    ``feature_share`` how much there is to be found in each channel, and ``label_cut`` and ``feature_cut`` the largest
    p-values that are flagged, −1 for none. ``blur`` is how many times it scatters as the others, ``blur_deviations``
    how far outside of what clients differ in.
    """

    wrong: Estimate
    odd: Estimate
    bad: float
    label_null: Floats
    feature_null: Floats
    label_share: float
    feature_share: float
    label_cut: float = -1.0
    feature_cut: float = -1.0
    blur: float = np.nan
    blur_deviations: float = 0.0

    def to_arrays(self) -> dict[str, np.ndarray]:
        """What a client needs to value its rows, for a message."""
        shares = (self.label_share, self.feature_share, self.label_cut, self.feature_cut)
        ends = (self.wrong.share, self.wrong.low, self.wrong.high, self.odd.share, self.odd.low, self.odd.high)
        return {
            "label_null": self.label_null, "feature_null": self.feature_null, "numbers": np.array([*shares, *ends]),
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Judgement:
        """What `to_arrays` gave, as a server sent it."""
        label_null, feature_null, numbers = arrays_of(JUDGEMENT, arrays, {})
        if numbers[:2].min() <= 0.0:
            raise ProtocolError("protocols.server-array", name="numbers")
        shares, wrong, odd = numbers[:4].tolist(), numbers[4:7].tolist(), numbers[7:].tolist()
        return cls(Estimate(*wrong), Estimate(*odd), 0.0, label_null, feature_null, *shares)


def judgements(
    evidence: Mapping[str, Evidence], held_out: Evidence | None = None, *, rate: float = 0.1
) -> dict[str, Judgement]:
    """A judgement on each client.

    ``held_out`` is the evidence of a reference's rows, each judged without itself; ``rate`` the false-discovery rate
    of flags over the rows of all clients.
    """
    means = {name: _posterior(one) for name, one in evidence.items()}
    clean = None if held_out is None else _posterior(held_out)
    bad = {name: _groups(one, [means[o] for o in means if o != name], clean) for name, one in evidence.items()}
    everybody = [*evidence.values(), *([] if held_out is None else [held_out])]
    blurs = dict(zip(evidence, _blurs(everybody), strict=False))
    found = {}
    for name, one in evidence.items():
        others = [other for other in evidence if other != name]
        trusted = [other for other in others if bad[other].bad < 0.5] or others
        labels, features = [evidence[other].labels for other in trusted], [evidence[other].features for other in others]
        if held_out is not None:
            labels.append(held_out.labels)
            features.append(held_out.features)
        odd = excess(one.features, features)
        blur, deviations = blurs[name]
        found[name] = Judgement(
            wrong=bad[name].wrong,
            odd=odd,
            bad=bad[name].bad,
            label_null=np.reshape(labels, (-1, CELLS)).sum(axis=0),
            feature_null=np.reshape(features, (-1, CELLS)).sum(axis=0),
            label_share=bad[name].share,
            feature_share=float(np.clip(odd.share, _LEAST_SHARE, _MOST_SHARE)),
            blur=blur,
            blur_deviations=deviations,
        )
    return _with_cuts(found, evidence, rate)


@dataclass(frozen=True)
class _Group:
    bad: float
    share: float
    wrong: Estimate


def _posterior(one: Evidence) -> tuple[float, float]:
    """Mean and deviation of the share of wrong or hard labels."""
    p = np.exp(one.likelihood) * _WIDTHS
    p /= p.sum()
    mean = float(p @ SHARES)
    return mean, float(np.sqrt(p @ (SHARES - mean) ** 2))


def _groups(one: Evidence, others: Sequence[tuple[float, float]], clean: tuple[float, float] | None) -> _Group:
    """Clean clients' shares lie around b with spread τ, bad ones beyond: the chance to be bad, and the share beyond b.

    b is the lower quartile of the others' shares, as most of them may be bad, or the reference's own where that is
    lower. The interval needs the spread between clients beside the likelihood.
    """
    # Of a client alone all that is wrong or hard counts.
    mean, deviation = np.array(others or [clean or (0.0, 0.0)]).T
    base = float(np.quantile(mean, _QUARTILE))
    if clean is not None:
        base = min(base, clean[0])
    low = mean[mean <= np.median(mean) + 1e-12]
    spread = _MAD * float(np.median(np.abs(low - np.median(low)))) if len(low) > 2 else 0.0
    tau = np.sqrt(
        max(spread**2 - float(np.median(deviation)) ** 2, 0.0) + (_LEAST_SPREAD + _RELATIVE_SPREAD * base) ** 2
    )
    likelihood = np.exp(one.likelihood)
    usual = np.exp(-0.5 * ((SHARES - base) / tau) ** 2) * _WIDTHS
    usual /= max(float(usual.sum()), 1e-300)
    beyond = np.maximum(SHARES - base, 0.0) / (1.0 - base)
    spoilt = _WIDTHS * (base < SHARES) * np.exp(-(SHARES - base) / _BEYOND)
    spoilt /= max(float(spoilt.sum()), 1e-300)
    for_clean, for_bad = (1.0 - _BAD) * float(likelihood @ usual), _BAD * float(likelihood @ spoilt)
    bad = for_bad / max(for_clean + for_bad, 1e-300)
    if len(others) == 1 and clean is None:  # of two clients nobody can say which one is wrong
        bad = min(bad, 0.5)
    posterior = likelihood * spoilt
    x = float(posterior / max(float(posterior.sum()), 1e-300) @ beyond)
    kernel = np.exp(-0.5 * ((SHARES[:, None] - SHARES) / tau) ** 2) * _WIDTHS
    wide = (kernel / kernel.sum(axis=1, keepdims=True)) @ likelihood * spoilt
    reached = np.cumsum(wide / max(float(wide.sum()), 1e-300))
    ends = [float(np.interp(level, reached, beyond)) for level in (_MISS, 1.0 - _MISS)]
    least = ends[0] if bad > _SURE else 0.0
    most = ends[1] if bad > 0.5 else float(np.interp(1.0 - _MISS, (1.0 - bad) + bad * reached, beyond))
    share = bad * x
    most = min(max(most, share) + _KINDS_DIFFER * share, 1.0)
    wrong = Estimate(*(one.seen * end for end in (share, min(least, share), most)))
    return _Group(bad, float(np.clip(share, _LEAST_SHARE, _MOST_SHARE)), wrong)


def excess(own: Floats, nulls: Sequence[Floats]) -> Estimate:
    """The share of rows beyond what the others have in their tails: the largest excess at a few levels.

    Its error is of sampling and of what the others differ in.
    """
    null = np.reshape(nulls, (-1, CELLS)).sum(axis=0)
    rows, others = float(own.sum()), float(null.sum())
    if not rows or not others:
        return Estimate(0.0, 0.0, 1.0)
    reached, usual, *each = (np.cumsum(part[::-1])[::-1] / max(part.sum(), 1.0) for part in (own, null, *nulls))
    best, least, most = 0.0, 0.0, 1.0
    for level in _LEVELS:
        inside = np.flatnonzero(usual <= level)
        cell = int(inside[0]) if len(inside) else CELLS - 1
        a, share = float(usual[cell]), float(reached[cell])
        found = (share - a) / (1.0 - a)
        shares = np.array([one[cell] for one in each])
        sampling = a * (1.0 - a) * len(each) / others
        between = (_MAD * float(np.median(np.abs(shares - np.median(shares))))) ** 2 - sampling
        variance = max(share * (1.0 - share), a * (1.0 - a)) / rows + a * (1.0 - a) / others
        error = np.sqrt(variance + max(between, 0.0) + (_TAILS_DIFFER * a) ** 2) / (1.0 - a)
        if found - _ERRORS * error > least:
            best, least, most = found, float(found - _ERRORS * error), float(found + _ERRORS * error)
        elif not best:
            most = min(most, max(found, 0.0) + float(_ERRORS * error))
    return Estimate(best, least, min(most, 1.0))


def _blurs(evidence: Sequence[Evidence]) -> list[tuple[float, float]]:
    """How many times each client scatters as the others, and how many of their deviations that is away.

    Class by class, as classes differ in how they scatter: the mean over the classes that others have, too.
    """
    if len(evidence) < 2:
        return [(np.nan, 0.0)] * len(evidence)
    scatter = np.array([one.scatter for one in evidence])
    away = np.full(len(evidence), np.nan)
    for place, own in enumerate(scatter):
        others = np.delete(scatter, place, axis=0)
        shared = np.isfinite(own) & np.isfinite(others).any(axis=0)
        if shared[:-1].any():  # all rows are compared where no class can be
            shared[-1] = False
        if shared.any():
            away[place] = float((own[shared] - np.nanmedian(others[:, shared], axis=0)).mean())
    found = []
    for place, own in enumerate(away):
        told = np.delete(away, place)
        told = told[np.isfinite(told)]
        if not np.isfinite(own) or not len(told):
            found.append((np.nan, 0.0))
            continue
        spread = np.hypot(_MAD * float(np.median(np.abs(told - np.median(told)))), _BLUR_SPREAD)
        found.append((float(np.exp(own)), float(own / (spread * np.sqrt(1.0 + 1.0 / len(told))))))
    return found


def _with_cuts(found: Mapping[str, Judgement], evidence: Mapping[str, Evidence], rate: float) -> dict[str, Judgement]:
    """One test over labels and features of the rows of all clients: Benjamini–Hochberg, weighted.

    A p-value counts as p/ω, ω = x/(1 − x) the odds of what its client and channel have to be found, x the estimated
    share; with m rows expected to be found in all, those with p/ω ≤ .6·rate·rank/m are flagged. It needs counts alone.
    """
    channels = {
        **{(name, "label"): (evidence[name].labels, j.label_null, j.label_share) for name, j in found.items()},
        **{(name, "feature"): (evidence[name].features, j.feature_null, j.feature_share) for name, j in found.items()},
    }
    expected = sum(float(own.sum()) * share for own, _, share in channels.values())
    odds = {key: share / (1.0 - share) for key, (_, _, share) in channels.items()}
    scaled = np.concatenate([tail(null) / odds[key] for key, (_, null, _) in channels.items()])
    number = np.concatenate([own for own, _, _ in channels.values()])
    order = np.argsort(scaled, kind="stable")
    kept = np.flatnonzero(scaled[order] * expected <= _OF_THE_RATE * rate * np.cumsum(number[order]))
    cut = float(scaled[order][kept[-1]]) * (1.0 + _ROUNDING) if len(kept) else -1.0
    return {
        name: replace(judgement, label_cut=cut * odds[name, "label"], feature_cut=cut * odds[name, "feature"])
        for name, judgement in found.items()
    }
