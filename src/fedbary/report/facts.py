"""What a report says: every sentence and number, before it gets a look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fedbary.report.chart import bars
from fedbary.report.learned import learned
from fedbary.report.words import counted, dash, number, percent, shortened

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation import Valuation

LEAST_VALUABLE = 10
# Row tables of hundreds of clients would bury the rest: beyond this many, the lowest-ranked have them.
_ROWS_OF_ALL, _ROWS_OF_LOWEST = 40, 20
_OPTIONAL_ROW_COLUMNS = {"flag": "Flagged", "reason": "Reason", "suggested_label": "Suggested label"}


def facts(result: Valuation) -> dict[str, Any]:
    """Everything that the template shows, as text and plain numbers."""
    ranked = [{str(key): value for key, value in row.items()} for row in result.ranking().to_dict("records")]
    valued = [client for client in ranked if dash(client["share"]) != "–"]
    failed = result.failed
    reference = result.settings.get("reference_rows")
    scores = result.scores
    values = {} if scores is None else dict(zip(scores.clients, scores.values.tolist(), strict=True))
    return {
        "headline": headline([shortened(str(client["client"])) for client in valued], failed),
        "target": f"{number(reference)} reference rows" if reference else "the clients' barycenter",
        "has_reference": bool(reference),
        "has_quality": bool(result.clients["quality"].notna().any()),
        "has_values": result.scores is not None,
        "has_flags": bool(result.clients["flagged"].notna().any()),
        "tiles": [
            ("clients valued", f"{len(valued)} of {len(ranked)}"),
            ("their rows", f"{sum(client['rows'] for client in valued):,}"),
            ("reference rows", f"{reference:,}" if reference else "none"),
            ("lowest to highest share", _range(valued)),
        ],
        "chart": bars(ranked),
        "clients": [_client(client, values) for client in ranked],
        "rows": _least_valuable_rows(result, [str(client["client"]) for client in valued]),
        "rows_of_lowest_only": len(valued) > _ROWS_OF_ALL,
        "convergence": _convergence(result.history),
        "learned": learned(result.settings),
        "settings": _flat({k: v for k, v in result.settings.items() if k not in ("versions", "sources")}),
        "versions": dict(result.settings.get("versions", {})),
        "schema": None if result.schema is None else result.schema.fingerprint,
        "notes": list(result.notes),
    }


def headline(valued: list[str], failed: Mapping[str, str]) -> list[tuple[str, bool]]:
    """The result in a sentence or three, in pieces; those marked True are names of clients.

    Examples
    --------
    >>> "".join(text for text, _ in headline(["a", "b"], {"c": "failed: no rows"}))
    '2 of 3 clients were valued. The best data is at a, the least valuable at b. c could not be valued.'
    """
    total = len(valued) + len(failed)
    how_many = "No client" if not valued else f"{len(valued)} of {total} clients" if failed else _all(total)
    pieces = [(f"{how_many} {'was' if len(valued) < 2 else 'were'} valued.", False)]
    if len(valued) > 1:
        pieces += [(" The best data is at ", False), (valued[0], True)]
        pieces += [(", the least valuable at ", False), (valued[-1], True), (".", False)]
    if len(failed) == 1:
        pieces += [(" ", False), (shortened(next(iter(failed))), True), (" could not be valued.", False)]
    elif failed and valued:
        pieces += [(f" {len(failed)} could not be valued.", False)]
    return pieces


def _all(total: int) -> str:
    return "The one client" if total == 1 else "Both clients" if total == 2 else f"All {total} clients"


def _range(valued: list[dict[str, Any]]) -> str:
    if len(valued) < 2:
        return percent(valued[0]["share"]) if valued else "–"
    return f"{percent(valued[-1]['share']).removesuffix(' %')} – {percent(valued[0]['share'])}"


def _client(client: Mapping[str, Any], values: Mapping[str, float]) -> dict[str, str]:
    distance = number(client["distance"])
    return {
        "name": str(client["client"]),
        "rows": number(client["rows"]),
        "distance": distance,
        "interval": "–" if number(client["high"]) == "–" else f"{number(client['low'])} – {number(client['high'])}",
        "value": number(values.get(str(client["client"]))),
        "share": percent(client["share"]),
        "quality": number(client["quality"]),
        "flagged": dash(client["flagged"]),
        "status": str(client["status"]),
        "kind": "failed" if distance == "–" else "ok" if client["status"] == "ok" else "noted",
    }


def _least_valuable_rows(result: Valuation, valued: list[str]) -> list[dict[str, Any]]:
    """For each client, worst first, its least valuable rows and the columns that have something to say."""
    tables = result.row_tables
    names = [name for name in reversed(valued) if name in tables]
    if len(valued) > _ROWS_OF_ALL:
        names = names[:_ROWS_OF_LOWEST]
    shown = []
    for name in names:
        frame = tables[name].nsmallest(LEAST_VALUABLE, "value")
        extra = [column for column in _OPTIONAL_ROW_COLUMNS if frame[column].notna().any()]
        shown.append(
            {
                "name": name,
                "of": counted(len(tables[name]), "row"),
                "columns": ["Row", "Value", *(_OPTIONAL_ROW_COLUMNS[column] for column in extra)],
                "rows": [
                    [str(row["row"]), number(row["value"]), *(dash(row[column]) for column in extra)]
                    for row in frame.to_dict("records")
                ],
            }
        )
    return shown


def _convergence(history: pd.DataFrame) -> list[dict[str, str]]:
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
            flat[prefix + key] = "not set" if value is None else str(value)
    return flat
