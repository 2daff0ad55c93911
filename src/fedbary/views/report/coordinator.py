"""What the coordinator's report says: every sentence and number, before it gets a look.

It is made of what a coordinator learns in every federation, so it holds no row and no row value, also where one
process held all the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fedbary.valuation.outcome import Outcome
from fedbary.valuation.verdict import Advice, Opinion
from fedbary.views.report.learned import learned, spent
from fedbary.wording import dash, number, percent, shortened, two_decimals

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.result import Valuation

# A verdict group names so many clients; the rest is in the table.
_NAMED = 8
_GROUPS = (
    (Advice.INCLUDE, "Include", "good"),
    (Advice.LOOK, "Look at first", "warn"),
    (Advice.LEAVE, "Leave out", "bad"),
    (Advice.NOT_VALUED, "Not valued", "bad"),
)


def facts(result: Valuation) -> dict[str, Any]:
    """Everything that the template shows, as text and plain numbers."""
    ranked = [{str(key): value for key, value in row.items()} for row in result.ranking().to_dict("records")]
    valued = [client for client in ranked if dash(client["share"]) != "–"]
    reference = result.settings.get("reference_rows")
    scores = result.scores
    values = {} if scores is None else dict(zip(scores.clients, scores.values.tolist(), strict=True))
    opinions = result.verdict()
    return {
        "headline": headline(opinions),
        "verdict": clients_by_advice(opinions),
        "rules": _rules(result),
        "target": f"{number(reference)} reference rows" if reference else "what the clients have in common",
        "has_reference": bool(reference),
        "has_quality": bool(result.clients["quality"].notna().any()),
        "has_values": scores is not None,
        "has_flags": bool(result.clients["flagged"].notna().any()),
        "noisy": result.settings.get("epsilon") is not None,
        "has_interval": bool(result.clients["high"].notna().any()),
        "tiles": [
            ("clients valued", f"{len(result.clients) - len(result.failed)} of {len(ranked)}"),
            ("their rows", number(sum(int(client["rows"]) for client in valued))),
            ("reference rows", number(reference) if reference else "none"),
            ("lowest to highest share", _range(valued)),
            ("ε spent by each client", spent(result.settings)),
        ],
        "clients": [
            _client(place, client, values, opinion, result.outcomes[opinion.client].redacted())
            for place, (client, opinion) in enumerate(zip(ranked, opinions, strict=True), start=1)
        ],
        "equal_share": percent(1.0 / len(valued)) if valued else "–",
        "rounds": _rounds(result.history),
        "learned": learned(result.settings),
        "protocol": str(result.settings.get("protocol", "unknown")),
        "settings": _flat({k: v for k, v in result.settings.items() if k not in ("versions", "sources")}),
        "versions": dict(result.settings.get("versions", {})),
        "schema": None if result.schema is None else result.schema.fingerprint,
        "notes": [str(note.redacted()) for note in result.notes],
        "one_process": result.row_tables is not None,
    }


def headline(opinions: Sequence[Opinion]) -> str:
    """The verdict in one line.

    Examples
    --------
    >>> headline([Opinion("a", Advice.INCLUDE, ()), Opinion("b", Advice.INCLUDE, ()), Opinion("c", Advice.LOOK, ())])
    'Include 2 of 3 clients; look at 1 first.'
    >>> headline([Opinion("a", Advice.INCLUDE, ())])
    'Include the one client.'
    """
    count = {advice: sum(opinion.advice == advice for opinion in opinions) for advice, _, _ in _GROUPS}
    total = len(opinions)
    parts = []
    if count[Advice.INCLUDE] == total:
        parts.append("Include the one client" if total == 1 else f"Include all {total} clients")
    elif count[Advice.INCLUDE]:
        parts.append(f"Include {count[Advice.INCLUDE]} of {total} clients")
    if count[Advice.LOOK]:
        parts.append(f"look at {count[Advice.LOOK]} first")
    if count[Advice.LEAVE]:
        parts.append(f"leave out {count[Advice.LEAVE]}")
    if count[Advice.NOT_VALUED]:
        parts.append(f"{count[Advice.NOT_VALUED]} could not be valued")
    sentence = "; ".join(parts)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def clients_by_advice(opinions: Sequence[Opinion]) -> list[dict[str, Any]]:
    """The clients by advice, best first, of many only the first few: those in trouble from the worst on."""
    by_advice = []
    for advice, title, look in _GROUPS:
        mine = [opinion for opinion in opinions if opinion.advice == advice]
        if advice == Advice.LOOK:
            mine.reverse()
        if mine:
            named = [{"name": opinion.client, "why": opinion.why} for opinion in mine[:_NAMED]]
            rest = len(mine) - len(named)
            by_advice.append({"title": title, "look": look, "count": len(mine), "clients": named, "rest": rest})
    return by_advice


def _rules(result: Valuation) -> str:
    said = ["A client is to be looked at first where at least 5 % of its rows are flagged"]
    if result.clients["quality"].notna().any():
        said.append("where its quality is well below the median client's")
    else:
        said.append("where it is much further from the target than the median client")
    if result.scores is not None:
        said.append("where its value is not above zero; it is to be left out where that is clearly below zero")
    rules = (
        ", or ".join(said) + ". The rest is included. No flag does not mean no error: flags need enough reference rows."
    )
    epsilon = result.settings.get("epsilon")
    if epsilon is not None:
        rules += f" Distances and qualities carry the noise of ε = {epsilon:g}, which alone can make such a difference."
    if result.clients["flagged"].isna().all():
        rules += (
            " Nobody's flags are known here, because the owners keep them or the protocol makes none, so that wrong "
            "rows can go unseen."
        )
    return rules


def _range(valued: list[dict[str, Any]]) -> str:
    shares = sorted(float(client["share"]) for client in valued)
    if len(shares) < 2:
        return percent(shares[0]) if shares else "–"
    return f"{percent(shares[0]).removesuffix(' %')} – {percent(shares[-1])}"


def _client(
    place: int, client: Mapping[str, Any], values: Mapping[str, float], opinion: Opinion, outcome: Outcome
) -> dict[str, Any]:
    failed = not outcome.ok
    return {
        "place": "–" if failed else str(place),
        "name": str(client["client"]),
        "rows": number(client["rows"]),
        "distance": number(client["distance"]),
        "interval": "–" if dash(client["high"]) == "–" else f"{number(client['low'])} – {number(client['high'])}",
        "value": number(values.get(str(client["client"]))),
        "share": percent(client["share"]),
        "share_interval": ""
        if dash(client["share_high"]) == "–"
        else f"{percent(client['share_low']).removesuffix(' %')} – {percent(client['share_high'])}",
        "quality": two_decimals(client["quality"]),
        "flagged": dash(client["flagged"]),
        "advice": str(opinion.advice),
        "look": {advice: look for advice, _, look in _GROUPS}[opinion.advice],
        "status": ("; " if outcome.ok else ": ").join(filter(None, [str(outcome.status), outcome.text])),
        "kind": "failed" if failed else "noted" if outcome.notes else "ok",
        # What the browser sorts by.
        "sort": {name: _sortable(client[name]) for name in ("rows", "distance", "quality", "flagged", "share")}
        | {"place": place, "value": _sortable(values.get(str(client["client"])))},
    }


def _sortable(value: Any) -> str:
    return "" if dash(value) == "–" else repr(float(value))


def _rounds(history: pd.DataFrame) -> list[dict[str, str]]:
    return [
        {
            "name": str(name),
            "first": number(rounds["estimate"].iloc[0]),
            "last": number(rounds["estimate"].iloc[-1]),
            "best": number(rounds["estimate"].min()),
            "rounds": number(rounds["round"].iloc[-1]),
            "support": number(rounds["support"].iloc[-1]),
        }
        for name, rounds in history.groupby("client", sort=False)
    ]


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = "not set" if value is None else shortened(str(value), 200)
    return flat
