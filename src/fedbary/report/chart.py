"""The geometry of the report's chart: one bar per client, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fedbary.report.words import dash, percent, shortened

ROW_HEIGHT = 38


@dataclass(frozen=True)
class Bar:
    """One client's bar: where it stands, how long it is in per cent of the widest, and its words."""

    name: str
    full_name: str
    label: str
    top: int
    length: float
    failed: bool


@dataclass(frozen=True)
class Chart:
    """All bars, the chart's height, and where an equal share would end."""

    bars: tuple[Bar, ...]
    height: int
    equal_at: float | None
    equal_share: str


def bars(ranked: Sequence[Mapping[str, Any]]) -> Chart:
    """Lay out the bars of ranked clients; widths are per cents, so that the chart fits a phone and a page.

    Examples
    --------
    >>> chart = bars([{"client": "a", "share": 0.75}, {"client": "b", "share": 0.25}])
    >>> [round(bar.length, 1) for bar in chart.bars], round(chart.equal_at, 1), chart.height
    ([100.0, 33.3], 66.7, 76)
    """
    shares = [None if dash(client["share"]) == "–" else float(client["share"]) for client in ranked]
    known = [share for share in shares if share is not None]
    widest = max(known, default=1.0)
    drawn = tuple(
        Bar(
            name=shortened(str(client["client"])),
            full_name=str(client["client"]),
            label="not valued" if share is None else percent(share),
            top=ROW_HEIGHT * place,
            length=0.0 if share is None else 100.0 * share / widest,
            failed=share is None,
        )
        for place, (client, share) in enumerate(zip(ranked, shares, strict=True))
    )
    equal = 1.0 / len(known) if len(known) > 1 else None
    return Chart(drawn, ROW_HEIGHT * len(drawn), equal and 100.0 * equal / widest, percent(equal))
