"""Results as notebooks, wikis and logs show them: a table in HTML, Markdown or plain text; data is text in all."""

from __future__ import annotations

import html
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from fedbary.wording import counted, dash, number, percent, shortened, without_control

if TYPE_CHECKING:
    from fedbary.valuation.result import Valuation
    from fedbary.valuation.scores import ClientScores

_MOST = 50
_WIDTH, _LONGEST_NAME = 80, 30
_NUMERIC = frozenset({"rows", "distance", "interval", "quality", "flagged", "value", "standard error", "share"})
# What Markdown would read as markup, and what would end a cell.
_MARKUP = frozenset("\\`*_{}[]<>!|~@$&")


def valuation_html(result: Valuation) -> str:
    """The ranked clients with their verdict, as a notebook shows them."""
    return _html(_summary(result), *_valuation_table(result))


def valuation_markdown(result: Valuation) -> str:
    """The same as Markdown.

    Examples
    --------
    >>> import fedbary as fb
    >>> parts = fb.partitions.by_size(fb.datasets.load("digits").train, [60, 60], seed=0)
    >>> result = fb.value(parts.clients, fb.datasets.load("digits").test, seed=0)
    >>> result.to_markdown().splitlines()[2]
    '| client | rows | distance | interval | quality | flagged | share | verdict | why |'
    """
    return _markdown(_summary(result), *_valuation_table(result))


def valuation_text(result: Valuation) -> str:
    """The ranked clients for a log that a terminal of 80 columns shows, and in whole sentences what is to be said.

    Examples
    --------
    >>> import fedbary as fb
    >>> parts = fb.partitions.by_size(fb.datasets.load("digits").train, [60, 60], seed=0)
    >>> result = fb.value(parts.clients, fb.datasets.load("digits").test, seed=0)
    >>> valuation_text(result).splitlines()[1].split()
    ['client', 'rows', 'distance', 'quality', 'share', 'status']
    """
    header = ["client", "rows", "distance", "quality", "share", "status"]
    ranked = result.ranking().to_dict("records")
    rows = [
        [
            shortened(without_control(str(row["client"])), _LONGEST_NAME),
            *(number(row[name]) for name in ("rows", "distance", "quality")),
            percent(row["share"]),
            str(row["status"]),
        ]
        for row in ranked
    ]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "  ".join(
            text.rjust(width) if name in _NUMERIC else text.ljust(width)
            for name, text, width in zip(header, row, widths, strict=True)
        ).rstrip()
        for row in (header, *rows)
    ]
    said = [f"{row['client']}: {row['notes']}" for row in ranked if row["notes"]] + [str(note) for note in result.notes]
    folded = [fill(without_control(text), _WIDTH, subsequent_indent="  ") for text in said]
    return "\n".join([*fill(_summary(result), _WIDTH).splitlines(), *lines, *folded])


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


def _summary(result: Valuation) -> str:
    valued = len(result.clients) - len(result.failed)
    reference = result.settings.get("reference_rows")
    target = f"{number(reference)} reference rows" if reference else "what the clients have in common"
    many = f"{valued} of {len(result.clients)} clients" if result.failed else counted(valued, "client")
    return f"{many} valued by the {result.settings.get('protocol', 'unknown')} protocol against {target}."


def _valuation_table(result: Valuation) -> tuple[list[str], list[list[str]]]:
    ranked = result.ranking()
    opinions = {opinion.client: opinion for opinion in result.verdict()}
    values = {} if result.scores is None else dict(zip(result.scores.clients, result.scores.values, strict=True))
    columns: list[tuple[str, Any]] = [
        ("rows", lambda row: number(row["rows"])),
        ("distance", lambda row: number(row["distance"])),
    ]
    if ranked["high"].notna().any():
        columns.append(("interval", _interval))
    for name in ("quality", "flagged"):
        if ranked[name].notna().any():
            columns.append((name, lambda row, name=name: number(row[name])))
    if values:
        columns.append(("value", lambda row: number(values.get(str(row["client"])))))
    columns.append(("share", lambda row: percent(row["share"])))
    rows = []
    for row in ranked.to_dict("records"):
        opinion = opinions[str(row["client"])]
        rows.append([str(row["client"]), *(cell(row) for _, cell in columns), opinion.advice, opinion.why])
    return ["client", *(name for name, _ in columns), "verdict", "why"], rows


def _interval(row: dict[str, Any]) -> str:
    return "–" if dash(row["high"]) == "–" else f"{number(row['low'])} – {number(row['high'])}"


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
        align = "right" if name in _NUMERIC else "left"
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
        _line(["---:" if name in _NUMERIC else "---" for name in header]),
        *(_line([_literal(text) for text in row]) for row in rows),
    ]
    return f"{_literal(summary)}\n\n" + "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _literal(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    flat = shortened(" ".join(without_control(text).split()), 200)
    return "".join(f"\\{letter}" if _is_markup(flat, at) else letter for at, letter in enumerate(flat))


def _is_markup(text: str, at: int) -> bool:
    """Whether Markdown would read this letter as markup; addresses become links without any."""
    address = text.startswith("://", at) or (text[at] == "." and text[max(at - 3, 0) : at].lower() == "www")
    return text[at] in _MARKUP or address
