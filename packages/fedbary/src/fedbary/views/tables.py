"""Clients in a table, by the list of their facts: on a screen, in notebooks, wikis and reports; data is text in all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

from fedbary.valuation.clients import CLIENT_FACTS, Fact
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.verdict import SHIFT
from fedbary.views.advice import about_the_reference, groups, headline, problems_first, remarks
from fedbary.views.display import LOOKS
from fedbary.views.page import Grid, Page
from fedbary.wording import (
    counted,
    dash,
    listed,
    number,
    on_one_line,
    percent,
    shortened,
    whole_percent,
    without_control,
)

if TYPE_CHECKING:
    from fedbary.valuation.clients import ClientScores
    from fedbary.valuation.result import Valuation

_FACTS = {fact.name: fact for fact in CLIENT_FACTS}
# Which facts a table on a screen has, where quality is estimated and where clients are only compared; distances are
# then left to `Valuation.clients`, and beside Shapley values, which say more, distance and flags do not fit 80 columns.
_ESTIMATED = ("rows", "quality", "wrong_labels", "odd_features", "blur", "shift", "missing", "worth")
_COMPARED = ("rows", "distance", "closeness", "flagged", "worth", "share")
_BESIDE_WORTH = ("rows", "closeness", "worth", "share")
_IN_A_REPORT = (
    "quality", "closeness", "wrong_labels", "odd_features", "blur", "shift", "missing", "flagged", "worth", "share",
    "distance", "rows",
)  # fmt: skip
# Up to these numbers clients are as they should be: a column in which none has more is left out.
_UNREMARKABLE = {"missing": 0.0, "blur": 1.25, "shift": 0.25}
_FAULTLESS = {"missing": 0.0, "odd_features": 0.0}
# A table on a screen has all clients up to so many, and else the first few.
_WHOLE, _FIRST = 30, 12
_WIDTH, _LONGEST_NAME, _LONGEST_CELL = 80, 30, 200
# Where a table is too wide for a screen, these columns are left out first: a reason says it where they matter.
_SPARED, _WIDEST = ("missing", "rows", "blur"), 13
_TEXTS = frozenset({"client", "verdict", "why"})
_WRONG_CLASSES = "Wrong labels: those replaced at random; systematic confusions count less."
_COMPARED_ONLY = "Clients were compared with each other: a fault that most of them share is not seen."
_WRONG_NUMBERS = "Wrong labels: numbers that clean rows hardly have; smaller errors do not count."


def result_page(result: Valuation, most: int | None = None) -> Page:
    """The verdict and the clients with their reasons, those with a problem first, for notebooks and wikis."""
    opening = " ".join([headline(result.verdict()), *about_the_reference(result), summary(result)])
    why = {opinion.client: opinion.why for opinion in result.verdict()}
    header, rows = _clients(result, intervals=True)
    return _page(opening, [*header, "why"], [[*cells, why[cells[0]]] for cells in rows], most)


def scores_page(scores: ClientScores, most: int | None = None) -> Page:
    """A method's values of clients, best first."""
    end = "" if scores.converged else " It stopped at its budget before it had converged."
    ordered = scores.to_frame().sort_values("value", ascending=False, na_position="last", kind="stable")
    rows = [
        [str(row["client"]), number(row["value"]), number(row["standard_error"]), percent(row["share"])]
        for row in ordered.to_dict("records")
    ]
    opening = f"Values of {counted(len(scores.clients), 'client')} by {scores.method}.{end}"
    return _page(opening, ["client", "value", "standard error", "share"], rows, most)


def _page(opening: str, header: list[str], rows: list[list[str]], most: int | None) -> Page:
    """A sentence and a table; of its rows at most the first so many, whose cells are short."""
    more = f"… and {len(rows) - most:,} more clients: see .clients." if most and len(rows) > most else ""
    if most:
        rows = [[shortened(cell, _LONGEST_CELL) for cell in row] for row in rows[:most]]
    return Page([opening, Grid(header, rows, [name for name in header if name not in _TEXTS], more)])


def valuation_text(result: Valuation) -> str:
    """The verdict, the clients and what is to be said besides, for a terminal of 80 columns."""
    header, rows, more = clients_on_a_screen(result)
    rows = [[shortened(without_control(name), _LONGEST_NAME), *cells] for name, *cells in rows]
    # A name of two words takes two lines, so that the table fits 80 columns.
    above, below = zip(*(("", *name.split())[-2:] for name in header), strict=True)
    heading = [list(above), list(below)] if any(above) else [list(below)]
    widths = [max(map(len, column)) for column in zip(*heading, *rows, strict=True)]
    lines = [
        "  ".join(
            text.ljust(width) if name in _TEXTS else text.rjust(width)
            for name, text, width in zip(header, row, widths, strict=True)
        ).rstrip()
        for row in (*heading, *rows)
    ]
    before = [headline(result.verdict()), *about_the_reference(result), *map(str, groups(result))]
    after = [summary(result), *remarks(result), *column_notes(result, header)]
    folded = (
        "\n".join(fill(without_control(text), _WIDTH, subsequent_indent="  ") for text in part)
        for part in (before, after)
    )
    return "\n\n".join([next(folded), "\n".join([*lines, *([more] if more else [])]), next(folded)])


def clients_on_a_screen(result: Valuation) -> tuple[list[str], list[list[str]], str]:
    """Columns and cells of the clients, problems first, and what was left out, if anything, in words."""
    header, rows = _clients(result)
    for name in _SPARED:
        if name in header and _width(header, rows) > _WIDTH:
            at = header.index(name)
            header, *rows = ([*row[:at], *row[at + 1 :]] for row in (header, *rows))
    if len(rows) <= _WHOLE:
        return header, rows, ""
    more = f"… and {counted(len(rows) - _FIRST, 'more client')}: see clients.csv or result.ranking()"
    return header, rows[:_FIRST], more


def _width(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """How wide a table is, with three blanks between columns, where long names and verdicts take two lines."""
    cells = [[max(name.split(), key=len) for name in header], *rows]
    return sum(min(max(map(len, column)), _WIDEST) + 3 for column in zip(*cells, strict=True)) - 3


def _clients(result: Valuation, *, intervals: bool = False) -> tuple[list[str], list[list[str]]]:
    """The titles and the cells of every client; columns that nobody fills are left out."""
    clients = _ranked(result)
    estimated = any(dash(client["quality"]) != "–" for client in clients)
    compared = _COMPARED if result.scores is None else _BESIDE_WORTH
    facts = _worth_showing(_ESTIMATED if estimated else compared, clients, _UNREMARKABLE)
    ranked = any(dash(client["rank"]) != "–" for client in clients)
    rows = []
    for place in problems_first(result.verdict()):
        client = clients[place]
        cells = [fact.words(client[fact.name]) + (_in_brackets(fact, client) if intervals else "") for fact in facts]
        rank = [dash(client["rank"])] if ranked else []
        rows.append([str(client["client"]), *rank, *cells, str(result.verdict()[place].advice)])
    return ["client", *(["rank"] if ranked else []), *(fact.title for fact in facts), "verdict"], rows


def _ranked(result: Valuation) -> list[dict[str, Any]]:
    """The facts of every client, best first; worth as it was scored."""
    clients = [{str(key): value for key, value in row.items()} for row in result.ranking().to_dict("records")]
    if result.scores is not None:
        worth = result.scores.intervals()
        for client in clients:
            client["worth"] = worth.get(str(client["client"]), (None,))[0]
    return clients


def _worth_showing(
    names: Sequence[str], clients: Sequence[Mapping[str, Any]], unremarkable: Mapping[str, float]
) -> list[Fact]:
    """The facts that any client has, or has more of than is unremarkable."""

    def says_something(name: str) -> bool:
        known = [client[name] for client in clients if dash(client[name]) != "–"]
        return any(value > unremarkable[name] for value in known) if name in unremarkable else bool(known)

    return [_FACTS[name] for name in names if says_something(name)]


def _in_brackets(fact: Fact, client: Mapping[str, Any]) -> str:
    ends = fact.interval(client)
    if ends is None:
        return ""
    low, high = map(whole_percent if fact.words is percent else fact.words, ends)
    return f" ({low} – {high})" if fact.words is number else f" ({low.removesuffix(' %')}–{high})"


def column_notes(result: Valuation, header: Sequence[str]) -> list[str]:
    """How to read such a table, where it may mislead."""
    if "wrong labels" not in header:
        # A protocol that estimates shares says how much its reference lacks, also where it could estimate none.
        judged = "reference_missing" in result.settings or result.scores is not None
        return [] if judged or len(result.clients) < 2 else [_COMPARED_ONLY]
    return [_WRONG_NUMBERS if result.predicts_number else _WRONG_CLASSES]


def summary(result: Valuation) -> str:
    """How many clients were valued, by which protocol, against what."""
    valued = len(result.clients) - len(result.failed)
    reference = result.settings.get("reference_rows")
    target = counted(reference, "reference row") if reference else "what the clients have in common"
    many = f"{valued} of {len(result.clients)} clients" if result.failed else counted(valued, "client")
    noise = result.settings.get("epsilon")
    private = "" if noise is None else f" Answers carry noise for ε = {noise:g}, so numbers differ from run to run."
    return f"{many} valued by the {result.settings.get('protocol', 'unknown')} protocol against {target}.{private}"


class Cell(NamedTuple):
    """A number of a report: as text, its interval or main columns below it, and what the browser sorts and saves."""

    text: str
    below: str = ""
    exact: str = ""
    names: bool = False


class ClientRow(NamedTuple):
    """A client's place, name and verdict, and its numbers in the order of the columns."""

    place: int
    rank: str
    name: str
    advice: str
    look: str
    valued: bool
    cells: list[Cell]


class ClientTable(NamedTuple):
    """Headings of the numbers, and the clients: those with a problem first, then the best."""

    columns: list[str]
    rows: list[ClientRow]


def client_table(result: Valuation) -> ClientTable:
    """The clients of a report with every number that any of them has; a fault that none has is said above the table."""
    clients = _ranked(result)
    worth = {} if result.scores is None else result.scores.intervals()
    facts = _worth_showing(_IN_A_REPORT, clients, _FAULTLESS)
    if _FACTS["quality"] in facts:  # closeness says the same with less certainty
        facts = [fact for fact in facts if fact.name != "closeness"]
    rows = []
    for place in problems_first(result.verdict()):
        opinion, outcome = result.verdict()[place], result.outcomes[result.verdict()[place].client]
        _, low, high = worth.get(opinion.client, (None, None, None))
        client = clients[place] | {"worth_low": low, "worth_high": high} | main_columns(outcome)
        rank = str(client["rank"]) if outcome.ok else "–"
        cells = [_cell(fact, client) for fact in facts]
        look = LOOKS[opinion.advice].css
        rows.append(ClientRow(place + 1, rank, opinion.client, str(opinion.advice), look, outcome.ok, cells))
    return ClientTable([fact.title.capitalize() for fact in facts], rows)


def _cell(fact: Fact, client: Mapping[str, Any]) -> Cell:
    value = client[fact.name]
    if dash(value) == "–":
        return Cell("–")
    columns = client.get(f"{fact.name}_columns")
    if columns is not None:
        return Cell(fact.words(value), columns, repr(float(value)), names=True)
    ends = fact.interval(client)
    between = ""
    if ends is not None and ends[0] != ends[1]:
        between = f"{fact.words(ends[0]).removesuffix(' %')} – {fact.words(ends[1])}"
    return Cell(fact.words(value), between, repr(float(value)))


def main_columns(outcome: Outcome) -> dict[str, str]:
    """The columns that make up most of a client's shift and of its blur, where notes name them."""
    said = {note.code: note.redacted().facts.get("columns") for note in outcome.notes}
    named = {"shift_columns": said.get(SHIFT), "blur_columns": said.get("judging.blur")}
    return {
        name: listed([on_one_line(one, 24) for one in columns], most=3) if isinstance(columns, tuple) else ""
        for name, columns in named.items()
    }
