"""What the coordinator's report says: every sentence and number, before it gets a look.

It is made of what a coordinator learns in every federation, so it holds no row and no row value, also where one
process held all the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from fedbary.protocols.registry import learned
from fedbary.valuation.verdict import Advice
from fedbary.views.report.client_table import SHOWN, client_table
from fedbary.views.report.missing_cells import COLUMN_LACKS, missing_by_client
from fedbary.views.report.verdict_groups import included, problems
from fedbary.views.verdict_lines import REFERENCE_DIFFERS, about_the_reference, headline
from fedbary.wording import counted, headline_percent, listed, number, on_one_line, percent, shortened

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.result import Valuation
    from fedbary.valuation.verdict import Opinion

_LONG_DIGEST = 40
_CALLED = {"flower": "Flower", "nvflare": "NVIDIA FLARE"}


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
    return {
        "title": f"Data valuation of {counted(len(clients), 'client')}",
        "about": _about(result, today),
        "headline": headline(opinions),
        "about_the_reference": about_the_reference(result),
        "problems": problems(opinions, result.outcomes, one_process=one_process, folder=folder),
        "included": included(opinions),
        "rules": _rules(result),
        "target": f"{number(reference)} reference rows" if reference else "what the clients have in common",
        "has_reference": bool(reference),
        "known": known,
        "has_values": result.scores is not None,
        "noisy": settings.get("epsilon") is not None,
        "tiles": _tiles(result, valued),
        "table": client_table(result, opinions),
        "shown": SHOWN,
        "equal_share": percent(1.0 / len(valued)) if valued else "–",
        "rounds": _rounds(result.history),
        "learned": learned(settings),
        "protocol": str(settings.get("protocol", "unknown")),
        "settings": _flat({k: v for k, v in settings.items() if k not in ("versions", "sources")}),
        "versions": dict(settings.get("versions", {})),
        "schema": None if result.schema is None else result.schema.fingerprint,
        "notes": [str(note.redacted()) for note in result.notes if note.code != REFERENCE_DIFFERS],
        "client_notes": _grouped_notes(result, opinions),
        "missing": missing_by_client(result),
        "one_process": one_process,
        "holds_rows": result.row_tables is not None,
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
        found = _Fault.of(part, name)
        if found is not None:
            about = f"about {counted(found.count, 'row')}; most in {found.worst}" if found.count else ""
            tiles.append((f"{title}, estimated", headline_percent(found.share) if found.count else "none", about))
    missing = _Fault.of(part, "missing")
    if missing is not None:
        usual = result.settings.get("reference_missing")
        whose = "reference" if result.settings.get("reference_rows") else "median client"
        beside = [] if usual is None else [f"{whose} {headline_percent(usual)}"]
        beside += [f"most in {missing.worst}"] if missing.share else []
        tiles.append(("cells missing", headline_percent(missing.share), "; ".join(beside)))
    if len(part) > 1 and (part["quality"].notna().any() or result.scores is not None):
        alike = int(part["rank"].str.contains("–").sum())
        told = "from some other: their intervals overlap" if alike else "every rank is certain"
        tiles.append(("cannot be told apart", counted(alike, "client") if alike else "no client", told))
    epsilon = result.settings.get("epsilon")
    if epsilon is not None:
        tiles.append(("ε spent by each client", f"{epsilon:g}", "differential privacy"))
    return tiles


@dataclass(frozen=True)
class _Fault:
    """The share of a fault among all rows of the clients that know it, and the client with the largest."""

    share: float
    count: int
    worst: str

    @classmethod
    def of(cls, clients: pd.DataFrame, name: str) -> _Fault | None:
        known = clients[clients[name].notna() & (clients["rows"] > 0)]
        if known.empty:
            return None
        share, rows = known[name].astype(float), known["rows"].astype(float)
        bad = float((share * rows).sum())
        worst = str(known["client"].iloc[int(share.to_numpy().argmax())])
        return cls(bad / float(rows.sum()), round(bad), on_one_line(worst, 24))


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


def _grouped_notes(result: Valuation, opinions: Sequence[Opinion]) -> list[dict[str, Any]]:
    """What clients that were valued said besides, once for all that said the same, and not what is a reason above."""
    reasons = {one.client: set(map(str, one.reasons)) for one in opinions if one.advice is not Advice.INCLUDE}
    found: dict[str, list[str]] = {}
    for name, outcome in result.outcomes.items():
        notes = [note for note in outcome.redacted().notes if note.code != COLUMN_LACKS]  # these have a table
        said = dict.fromkeys(map(str, notes)) if outcome.ok else {}
        for text in said.keys() - reasons.get(name, set()):
            found.setdefault(text, []).append(name)
    many = sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))
    return [{"text": text, "names": listed([on_one_line(name, 30) for name in names], most=3)} for text, names in many]


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
