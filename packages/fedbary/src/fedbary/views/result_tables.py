"""Results as notebooks, wikis and logs show them: a table in HTML, Markdown or plain text; data is text in all."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from fedbary.views.verdict_lines import about_the_reference, groups, headline, problems_first, remarks
from fedbary.wording import (
    counted,
    dash,
    number,
    percent,
    shortened,
    sigmas,
    times,
    two_decimals,
    whole_percent,
    without_control,
)

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.clients import ClientScores
    from fedbary.valuation.result import Valuation

_MOST = 50
# A table on a screen has all clients up to so many, and else the first few.
_WHOLE, _FIRST = 30, 12
_WIDTH, _LONGEST_NAME = 80, 30
# Where a table is too wide for a screen, these columns are left out first: a reason says it where they matter.
_SPARED, _WIDEST = ("missing", "rows", "blur"), 13
_TEXTS = frozenset({"client", "verdict", "why"})
# What Markdown would read as markup, and what would end a cell.
_MARKUP = frozenset("\\`*_{}[]<>!|~@$&")


def valuation_html(result: Valuation) -> str:
    """The verdict and the clients, those with a problem first, as a notebook shows them."""
    return _html(_opening(result), *_with_reasons(result))


def valuation_markdown(result: Valuation) -> str:
    """The same as Markdown.

    Examples
    --------
    >>> import fedbary as fb
    >>> parts = fb.partitions.by_size(fb.datasets.load("digits").train, [60, 60], seed=0)
    >>> result = fb.value(parts.clients, fb.datasets.load("digits").test, protocol="interpolation", seed=0)
    >>> result.to_markdown().splitlines()[2]
    '| client | rank | rows | distance | share | verdict | why |'
    """
    return _markdown(_opening(result), *_with_reasons(result))


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
    parts = [
        [headline(result.verdict()), *about_the_reference(result), *map(str, groups(result))],
        [*lines, *([more] if more else [])],
        [summary(result), *remarks(result), *column_notes(result, header)],
    ]
    return "\n\n".join("\n".join(part if part is parts[1] else map(_folded, part)) for part in parts)


def clients_on_a_screen(result: Valuation) -> tuple[list[str], list[list[str]], str]:
    """Columns and cells of the clients, problems first, and what was left out, if anything, in words."""
    header, rows = clients_table(result)
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


def clients_table(result: Valuation, *, intervals: bool = False) -> tuple[list[str], list[list[str]]]:
    """The names of the columns and the cells of every client, problems first; columns that nobody fills are left out.

    Where quality is estimated, distances are left to `Valuation.clients`.
    """
    ranked = result.ranking()
    advice = {opinion.client: opinion.advice for opinion in result.verdict()}
    if result.scores is not None:
        ranked["worth"] = ranked["client"].map({name: worth[0] for name, worth in result.scores.intervals().items()})
    estimated = bool(ranked["quality"].notna().any())
    columns = _ESTIMATED if estimated else _COMPARED
    # Shapley values say more than distances and flags do, and all together do not fit 80 columns.
    apart = ("distance", "flagged") if result.scores is not None else ()
    shown = [
        (name, cell)
        for name, cell in columns.items()
        if name in ranked and name not in apart and _says_something(ranked[name], name)
    ]
    records = [{str(key): value for key, value in row.items()} for row in ranked.to_dict("records")]
    rows = []
    for place in problems_first(result.verdict()):
        row = records[place]
        cells = [cell(row[name]) for name, cell in shown]
        if intervals:
            cells = [text + _interval(row, name) for text, (name, _) in zip(cells, shown, strict=True)]
        rows.append([*cells, str(advice[str(row["client"])])])
    return [*(name.replace("_", " ") for name, _ in shown), "verdict"], rows


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


def scores_html(scores: ClientScores) -> str:
    """A method's values of clients, as a notebook shows them."""
    return _html(_scores_summary(scores), *_scores_table(scores))


def scores_markdown(scores: ClientScores) -> str:
    r"""The same as Markdown.

    Examples
    --------
    >>> import numpy as np
    >>> import fedbary as fb
    >>> print(fb.ClientScores("mr", ("a|b",), np.array([0.3]), np.zeros(1)).to_markdown())
    Values of 1 client by mr.
    <BLANKLINE>
    | client | value | standard error | share |
    | --- | ---: | ---: | ---: |
    | a\|b | 0.300 | 0 | 100.0 % |
    """
    return _markdown(_scores_summary(scores), *_scores_table(scores))


_ESTIMATED: dict[str, Callable[[Any], str]] = {
    "client": str,
    "rank": dash,
    "rows": number,
    "quality": two_decimals,
    "wrong_labels": whole_percent,
    "odd_features": whole_percent,
    "blur": times,
    "shift": sigmas,
    "missing": whole_percent,
    "worth": number,
}
_COMPARED: dict[str, Callable[[Any], str]] = {
    "client": str,
    "rank": dash,
    "rows": number,
    "distance": number,
    "closeness": two_decimals,
    "flagged": number,
    "worth": number,
    "share": percent,
}
# Up to these numbers clients are as they should be.
_ALIKE = {"missing": 0.0, "blur": 1.25, "shift": 0.25}
_WRONG_CLASSES = "Wrong labels: those replaced at random; systematic confusions count less."
_COMPARED_ONLY = "Clients were compared with each other: a fault that most of them share is not seen."
_WRONG_NUMBERS = "Wrong labels: numbers that clean rows hardly have; smaller errors do not count."


def _says_something(column: pd.Series[Any], name: str) -> bool:
    """Whether a column has anything to say; nobody needs to read that no cell is missing, or that all are alike."""
    return bool((column.fillna(0) > _ALIKE[name]).any() if name in _ALIKE else column.notna().any())


def _interval(row: dict[str, Any], name: str) -> str:
    ends = ("low", "high") if name == "distance" else (f"{name}_low", f"{name}_high")
    low, high = (row.get(end, math.nan) for end in ends)
    if dash(low) == "–" or dash(high) == "–":
        return ""
    if name == "distance":
        return f" ({number(low)} – {number(high)})"
    return f" ({low:.2f}–{high:.2f})" if name == "quality" else f" ({100 * low:.0f}–{whole_percent(high)})"


def _opening(result: Valuation) -> str:
    return " ".join([headline(result.verdict()), *about_the_reference(result), summary(result)])


def _with_reasons(result: Valuation) -> tuple[list[str], list[list[str]]]:
    why = {opinion.client: opinion.why for opinion in result.verdict()}
    header, rows = clients_table(result, intervals=True)
    return [*header, "why"], [[name, *cells, why[name]] for name, *cells in rows]


def _folded(text: str) -> str:
    return fill(without_control(text), _WIDTH, subsequent_indent="  ")


def _scores_summary(scores: ClientScores) -> str:
    end = "" if scores.converged else " It stopped at its budget before it had converged."
    return f"Values of {counted(len(scores.clients), 'client')} by {scores.method}.{end}"


def _scores_table(scores: ClientScores) -> tuple[list[str], list[list[str]]]:
    ordered = scores.to_frame().sort_values("value", ascending=False, na_position="last", kind="stable")
    rows = [
        [str(row["client"]), number(row["value"]), number(row["standard_error"]), percent(row["share"])]
        for row in ordered.to_dict("records")
    ]
    return ["client", "value", "standard error", "share"], rows


def _html(summary: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def cell(tag: str, name: str, text: str) -> str:
        align = "left" if name in _TEXTS else "right"
        return f'<{tag} style="text-align:{align}"><bdi>{html.escape(shortened(text, 200))}</bdi></{tag}>'

    head = "".join(cell("th", name, name) for name in header)
    body = "".join(
        f"<tr>{''.join(cell('td', name, text) for name, text in zip(header, row, strict=True))}</tr>"
        for row in rows[:_MOST]
    )
    more = f"<p>… and {len(rows) - _MOST:,} more clients: see <code>.clients</code>.</p>" if len(rows) > _MOST else ""
    return (
        f"<div><p>{html.escape(summary)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"{more}</div>"
    )


def _markdown(summary: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [
        _line(header),
        _line(["---" if name in _TEXTS else "---:" for name in header]),
        *(_line([_literal(text) for text in row]) for row in rows),
    ]
    return f"{_literal(summary, 600)}\n\n" + "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _literal(text: str, longest: int = 200) -> str:
    """Text that Markdown shows as it is, on one line."""
    flat = shortened(" ".join(without_control(text).split()), longest)
    return "".join(f"\\{letter}" if _is_markup(flat, at) else letter for at, letter in enumerate(flat))


def _is_markup(text: str, at: int) -> bool:
    """Whether Markdown would read this letter as markup; addresses become links without any."""
    address = text.startswith("://", at) or (text[at] == "." and text[max(at - 3, 0) : at].lower() == "www")
    return text[at] in _MARKUP or address
