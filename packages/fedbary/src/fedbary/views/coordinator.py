"""The coordinator's report: every sentence and number, before it gets a look.

It is made of what a coordinator learns in every federation, so it holds no row and no row value, also where one
process held all the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.protocols.registry import learned
from fedbary.valuation.verdict import Advice
from fedbary.views.advice import REFERENCE_DIFFERS, Entry, about_the_reference, besides, headline, problems
from fedbary.views.html_file import render, result_folder, write_page
from fedbary.views.plots import client_map, convergence, qualities, shapley_values, shares, site_effects
from fedbary.views.plots.client_plots import MANY
from fedbary.views.tables import client_table
from fedbary.wording import counted, headline_percent, listed, number, on_one_line, percent, shortened, whole_percent

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.result import Valuation

# A page shows so many clients before the reader asks for all.
_SHOWN = 25
_LONG_DIGEST = 40
_CALLED = {"flower": "Flower", "nvflare": "NVIDIA FLARE"}
# The code of a note that says what share of a column's cells a client lacks, and the columns that still fit a page.
_COLUMN_LACKS, _MOST_COLUMNS = "schema.column-lacks", 8


def write_report(result: Valuation, path: str | Path) -> Path:
    """Write the coordinator's report: no request, light and dark, readable on paper and on a phone."""
    pictures = [
        qualities(result),
        shapley_values(result),
        site_effects(result),
        client_map(result),
        convergence(result),
    ]
    if pictures[0] is None or len(result.clients) <= MANY:  # among very many, a share says little beside a quality
        pictures.append(shares(result))
    drawn = [picture for picture in pictures if picture is not None and len(picture.table)]
    content = facts(result, today=date.today(), folder=result_folder(path))
    return write_page(render("coordinator.html", content, drawn, scripts=("tables.js",)), path)


def facts(result: Valuation, *, today: date, folder: str | None = None) -> dict[str, Any]:
    """Everything that the template shows, as text and plain numbers.

    ``folder`` is where the result is kept, for commands that can be copied.
    """
    settings, clients = result.settings, result.clients
    reference = settings.get("reference_rows")
    opinions = result.verdict()
    # In one process there is nobody else to learn anything.
    one_process = not (settings.get("networked") or "owner" in settings)
    valued = [name for name in map(str, clients["client"]) if result.outcomes[name].ok]
    known = {name: bool(clients[name].notna().any()) for name in ("quality", "closeness", "shift", "flagged", "high")}
    included = tuple(opinion.client for opinion in opinions if opinion.advice is Advice.INCLUDE)
    return {
        "title": f"Data valuation of {counted(len(clients), 'client')}",
        "about": _about(result, today),
        "headline": headline(opinions),
        "about_the_reference": about_the_reference(result),
        "problems": problems(opinions, result.outcomes, one_process=one_process, folder=folder),
        "included": Entry(included) if included else None,
        "rules": _rules(result),
        "target": f"{number(reference)} reference rows" if reference else "what the clients have in common",
        "has_reference": bool(reference),
        "known": known,
        "has_values": result.scores is not None,
        "noisy": settings.get("epsilon") is not None,
        "tiles": _tiles(result, valued),
        "table": client_table(result),
        "shown": _SHOWN,
        "equal_share": percent(1.0 / len(valued)) if valued else "–",
        "rounds": _rounds(result.history),
        "settings": _flat({k: v for k, v in settings.items() if k not in ("versions", "sources")}),
        "notes": [str(note.redacted()) for note in result.notes if note.code != REFERENCE_DIFFERS],
        "client_notes": _grouped_notes(result),
        "missing": missing_by_client(result),
        "one_process": one_process,
        "holds_rows": result.row_tables is not None,
        **how_it_was_made(result, folder),
    }


def how_it_was_made(result: Valuation, folder: str | None) -> dict[str, Any]:
    """What the reports of a coordinator and of an owner say at their end."""
    return {
        "learned": learned(result.settings),
        "protocol": str(result.settings.get("protocol", "unknown")),
        "versions": dict(result.settings.get("versions", {})),
        "schema": None if result.schema is None else result.schema.fingerprint,
        "folder": folder or "FOLDER",
    }


def _about(result: Valuation, today: date) -> list[str]:
    """The federation in a line: who, against what, by what, where, when."""
    settings = result.settings
    reference = settings.get("reference_rows")
    return [
        f"{today.day} {today:%B %Y}",
        listed([on_one_line(str(name), 30) for name in result.clients["client"]], most=4),
        f"compared with {number(reference)} reference rows" if reference else "compared with each other",
        f"protocol {settings.get('protocol', 'unknown')}, {_where(settings)}",
    ]


def _where(settings: Mapping[str, Any]) -> str:
    """What carried the messages."""
    engine = settings.get("engine")
    if engine is None:
        return "in one process"
    if engine == "files":
        return "by files"
    called = _CALLED.get(str(engine)) or on_one_line(str(engine), 30)
    return f"over a network ({called})" if settings.get("networked") else f"simulated on one machine ({called})"


def _tiles(result: Valuation, valued: list[str]) -> list[tuple[str, str, str]]:
    """What a coordinator asks first: a name, a number, and a line to put it into proportion."""
    ranked = result.ranking()
    part = ranked[[str(name) in valued for name in ranked["client"]]]
    rows = counted(int(part["rows"].sum()), "row")
    tiles = [("clients valued", f"{len(valued)} of {len(ranked)}", f"{rows} together")]
    for name, title in (("wrong_labels", "wrong labels"), ("odd_features", "rows with odd features")):
        if (found := _fault(part, name)) is not None:
            share, count, worst = found
            about = f"about {counted(count, 'row')}; most in {worst}" if count else ""
            tiles.append((f"{title}, estimated", headline_percent(share) if count else "none", about))
    if (missing := _fault(part, "missing")) is not None:
        share, _, worst = missing
        usual = result.settings.get("reference_missing")
        whose = "reference" if result.settings.get("reference_rows") else "median client"
        beside = [] if usual is None else [f"{whose} {headline_percent(usual)}"]
        beside += [f"most in {worst}"] if share else []
        tiles.append(("cells missing", headline_percent(share), "; ".join(beside)))
    if len(part) > 1 and (part["quality"].notna().any() or result.scores is not None):
        alike = int(part["rank"].str.contains("–").sum())
        told = "from some other: their intervals overlap" if alike else "every rank is certain"
        tiles.append(("cannot be told apart", counted(alike, "client") if alike else "no client", told))
    epsilon = result.settings.get("epsilon")
    if epsilon is not None:
        tiles.append(("ε spent by each client", f"{epsilon:g}", "differential privacy"))
    return tiles


def _fault(clients: pd.DataFrame, name: str) -> tuple[float, int, str] | None:
    """The share of a fault among all rows of the clients that know it, how many rows, and the client with most."""
    known = clients[clients[name].notna() & (clients["rows"] > 0)]
    if known.empty:
        return None
    share, rows = known[name].astype(float), known["rows"].astype(float)
    bad = float((share * rows).sum())
    worst = str(known["client"].iloc[int(share.to_numpy().argmax())])
    return bad / float(rows.sum()), round(bad), on_one_line(worst, 24)


def _rules(result: Valuation) -> list[str]:
    """How the verdict is made, of the numbers that this run has."""
    clients = result.clients
    said = []
    if clients["quality"].notna().any():
        said.append(
            "A client is to be left out where certainly more than 30 % of its rows are bad, that is, where the whole "
            "interval lies above; it is to be looked at first where certainly more than 5 % are, where more rows are "
            "flagged than that explains, where all its rows scatter, or where a column, the coding of its labels or "
            "its missing cells are unlike the others'. It is included where certainly at most 20 % are bad. That its "
            "values lie elsewhere is no reason."
        )
        said.append(
            "Wrong labels are numbers that clean rows with such features hardly have: smaller errors are not seen, so "
            "more may be wrong than is said here."
            if result.predicts_number
            else "Wrong labels are estimated as labels that were replaced at random: where two classes are mixed up "
            "throughout, more may be wrong than is said here."
        )
    else:
        said.append(
            "This protocol does not estimate how many rows are bad, so clients are compared with each other: one is to "
            "be looked at first where it, or most of its rows, lies much further from the target than the median "
            "client. Where most clients are bad, that does not show."
        )
    if result.scores is not None:
        said.append("A client whose value is clearly below zero is to be left out, too.")
    epsilon = result.settings.get("epsilon")
    if epsilon is not None:
        said.append(f"The numbers carry the noise of ε = {epsilon:g}, which alone can make a difference.")
    if clients["flagged"].isna().all() and clients["quality"].isna().all():
        said.append("Nobody's flags are known here, so that wrong rows can go unseen.")
    return said


def _grouped_notes(result: Valuation) -> list[dict[str, Any]]:
    """What clients that were valued said besides, once for all that said the same, and not what is a reason above."""
    found: dict[str, dict[str, None]] = {}
    for name, note in besides(result):
        if note.code != _COLUMN_LACKS:  # these have a table
            found.setdefault(str(note.redacted()), {})[name] = None
    many = sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))
    return [{"text": text, "names": listed([on_one_line(name, 30) for name in names], most=3)} for text, names in many]


def missing_by_client(result: Valuation) -> dict[str, Any]:
    """What clients said of the columns that lack many cells, the worst column first: a line of shares for each."""
    shares: dict[str, dict[str, float]] = {}
    worst: dict[str, float] = {}
    for name, outcome in result.outcomes.items():
        for note in outcome.notes:
            share, column = note.facts.get("share"), str(note.facts.get("column"))
            if note.code == _COLUMN_LACKS and isinstance(share, float | int):
                shares.setdefault(name, {})[column] = float(share)
                worst[column] = max(float(share), worst.get(column, 0.0))
    columns = sorted(worst, key=lambda column: (-worst[column], column))[:_MOST_COLUMNS]
    lines = [[name, *(whole_percent(said.get(column)) for column in columns)] for name, said in shares.items()]
    return {"columns": columns, "lines": lines}


def _rounds(history: pd.DataFrame) -> list[list[str]]:
    """First, last and lowest estimate of every client, its rounds and its support."""
    lines = []
    for name, rounds in history.groupby("client", sort=False):
        estimate = rounds["estimate"]
        numbers = (estimate.iloc[0], estimate.iloc[-1], estimate.min(), *rounds[["round", "support"]].iloc[-1])
        lines.append([str(name), *map(number, numbers)])
    return lines


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Settings by name, rounded to what can be read; the result's folder has every digit."""
    flat: dict[str, str] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        elif isinstance(value, float) and math.isfinite(value):
            flat[prefix + key] = f"{value:.4g}"
        elif key.endswith("digest"):
            flat[prefix + key] = shortened(str(value), _LONG_DIGEST) if value is not None else "not set"
        else:
            flat[prefix + key] = "not set" if value is None else shortened(str(value), 200)
    return flat
