"""The table of clients: which columns this run can fill, and each client's numbers as a reader wants to see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fedbary.valuation.verdict import Opinion
from fedbary.views.plots.client_map import main_columns
from fedbary.views.report.verdict_groups import GROUPS
from fedbary.views.verdict_lines import problems_first
from fedbary.wording import dash, number, percent, sigmas, times, two_decimals, whole_percent

if TYPE_CHECKING:
    from fedbary.valuation.result import Valuation

# A page shows so many clients before the reader asks for all.
SHOWN = 25


@dataclass(frozen=True)
class Cell:
    """A number: as text, its interval or main columns below it, and what the browser sorts and saves."""

    text: str
    below: str = ""
    exact: str = ""
    names: bool = False


@dataclass(frozen=True)
class ClientRow:
    """A client's place, name and verdict, and its numbers in the order of the columns."""

    place: int
    rank: str
    name: str
    advice: str
    look: str
    valued: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class ClientTable:
    """Headings of the numbers, and the clients."""

    columns: tuple[str, ...]
    rows: tuple[ClientRow, ...]


def client_table(result: Valuation, opinions: Sequence[Opinion]) -> ClientTable:
    """The clients with every number that any of them has: those with a problem first, then the best."""
    ranked = result.ranking()
    records = [{str(key): value for key, value in record.items()} for record in ranked.to_dict("records")]
    if result.scores is not None:
        worth = result.scores.intervals()
        ends = ("worth", "worth_low", "worth_high")
        records = [record | dict(zip(ends, worth.get(str(record["client"]), ()), strict=False)) for record in records]
    records = [record | main_columns(result.outcomes[str(record["client"])]) for record in records]
    shown = {title: made for title, (name, made) in _COLUMNS.items() if _says_something(records, name)}
    rows = [
        ClientRow(
            place,
            str(record["rank"]) if result.outcomes[opinion.client].ok else "–",
            opinion.client,
            str(opinion.advice),
            GROUPS[opinion.advice][1],
            result.outcomes[opinion.client].ok,
            tuple(made(record) for made in shown.values()),
        )
        for place, (record, opinion) in enumerate(zip(records, opinions, strict=True), start=1)
    ]
    rows = [rows[place] for place in problems_first(opinions)]
    return ClientTable(tuple(shown), tuple(rows))


def _says_something(records: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Whether any client has the number; a fault that none has is said above the table."""
    known = [record[name] for record in records if _known(record, name)]
    if name == "closeness" and _says_something(records, "quality"):
        return False  # it says the same with less certainty
    return any(known) if name in ("odd_features", "missing") else bool(known)


def _with_columns(name: str, words: Callable[[Any], str]) -> tuple[str, Any]:
    """A number of all columns together, and below it those that make up most of it."""

    def cell(record: Mapping[str, Any]) -> Cell:
        if not _known(record, name):
            return Cell("–")
        return Cell(words(record[name]), record[f"{name}_columns"], repr(float(record[name])), names=True)

    return name, cell


def _known(record: Mapping[str, Any], name: str) -> bool:
    return dash(record.get(name)) != "–"


def _number(name: str, words: Callable[[Any], str], low: str = "", high: str = "") -> tuple[str, Any]:
    def cell(record: Mapping[str, Any]) -> Cell:
        if not _known(record, name):
            return Cell("–")
        between = ""
        if high and _known(record, high) and record[low] != record[high]:
            ends = words(record[low]), words(record[high])
            between = f"{ends[0].removesuffix(' %')} – {ends[1]}"
        return Cell(words(record[name]), between, repr(float(record[name])))

    return name, cell


_COLUMNS = {
    "Quality": _number("quality", two_decimals, "quality_low", "quality_high"),
    "Closeness": _number("closeness", two_decimals),
    "Wrong labels": _number("wrong_labels", whole_percent, "wrong_labels_low", "wrong_labels_high"),
    "Odd features": _number("odd_features", whole_percent, "odd_features_low", "odd_features_high"),
    "Blur": _with_columns("blur", times),
    "Shift": _with_columns("shift", sigmas),
    "Missing": _number("missing", whole_percent),
    "Flagged": _number("flagged", number),
    "Worth": _number("worth", number, "worth_low", "worth_high"),
    "Share": _number("share", percent, "share_low", "share_high"),
    "Distance": _number("distance", number, "low", "high"),
    "Rows": _number("rows", number),
}
