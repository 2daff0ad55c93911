"""Pictures of clients: quality, shares and Shapley values with their intervals, and convergence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.valuation.verdict import Advice
from fedbary.views.plots.display import Display
from fedbary.views.plots.look import (
    CYCLE,
    DASHES,
    GREEN,
    GREY,
    ORANGE,
    RED,
    as_hover,
    as_text,
    bar_rows,
    empty_figure,
)

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from fedbary.valuation.result import Valuation

ADVICE_LOOKS = {
    Advice.INCLUDE: (GREEN, "circle"),
    Advice.LOOK: (ORANGE, "diamond"),
    Advice.LEAVE: (RED, "x"),
    Advice.UNKNOWN: (GREY, "circle-open"),
    Advice.NOT_VALUED: (GREY, "cross"),
}
_LINES_WITH_LEGEND = 12
# Above so many clients, only those that are not simply included are drawn or named.
MANY = 30


def qualities(result: Valuation) -> Display | None:
    """Each client's quality with its interval, best first; None where the protocol knows none.

    Of very many clients those with a problem and the lowest quality are drawn; the table has them all.
    """
    columns = ["client", "quality", "quality_low", "quality_high", "rows", "advice"]
    table = advised(result)[columns]
    table = table[table["quality"].notna()].reset_index(drop=True)
    if table.empty:
        return None
    some = f" The {MANY} of {len(table)} clients that need a look most." if len(table) > MANY else ""
    return Display(
        "qualities",
        f"Quality of each client: the share of its rows that is estimated to be good, with its interval.{some}",
        table,
        _draw_qualities,
    )


def shares(result: Valuation) -> Display:
    """Each valued client's share of the total, best first, with its interval where the protocol has one."""
    columns = ["client", "share", "share_low", "share_high", "rows", "distance"]
    table = advised(result)[[*columns, "advice"]]
    table = table[table["share"].notna()].reset_index(drop=True)
    some = f" The {MANY} of {len(table)} clients that need a look most." if len(table) > MANY else ""
    return Display(
        "shares",
        f"Share of each client in the total value; the dotted line is an equal share.{some}",
        table,
        _draw_shares,
    )


def shapley_values(result: Valuation) -> Display | None:
    """Each client's Shapley value between two standard errors; None where the protocol has none."""
    if result.scores is None:
        return None
    table = result.scores.to_frame().dropna(subset=["value"]).sort_values("value", ascending=False, kind="stable")
    advice = {opinion.client: opinion.advice for opinion in result.verdict()}
    table = table.assign(advice=[advice[str(name)] for name in table["client"]])
    return Display(
        "shapley-values",
        "What each client adds to a coalition on average (its Shapley value); below zero it does harm.",
        table.reset_index(drop=True),
        _draw_values,
    )


def convergence(result: Valuation) -> Display | None:
    """The estimate of every client's distance, round by round; None where there were no rounds."""
    table = result.history[["client", "round", "estimate"]].dropna()
    if table["round"].nunique() < 2:
        return None
    return Display(
        "convergence", "The estimate of every client's distance, round by round.", table.reset_index(drop=True), _lines
    )


def advised(result: Valuation) -> pd.DataFrame:
    """The ranked clients with the verdict on each."""
    advice = {opinion.client: opinion.advice for opinion in result.verdict()}
    ranked = result.ranking()
    return ranked.assign(advice=[advice[str(name)] for name in ranked["client"]])


def _draw_qualities(table: pd.DataFrame) -> Figure:
    return _dots(table, "quality", low="quality_low", high="quality_high", axis="quality", form=".2f")


def _draw_shares(table: pd.DataFrame) -> Figure:
    figure = _dots(table, "share", low="share_low", high="share_high", axis="share of the total value", form=".1%")
    first, last = figure.layout.xaxis.range
    if len(table) > 1:
        equal = 1.0 / len(table)
        figure.add_vline(x=equal, line={"dash": "dot", "color": GREY})
        first, last = min(first, 0.98 * equal), max(last, 1.02 * equal)
    figure.update_xaxes(tickformat=_percent_ticks(last - first), range=[first, last])
    return figure


def _draw_values(table: pd.DataFrame) -> Figure:
    error = 2.0 * table["standard_error"].fillna(0.0)
    ends = table.assign(low=table["value"] - error, high=table["value"] + error)
    figure = _dots(ends, "value", low="low", high="high", axis="Shapley value", form=".4f")
    figure.add_vline(x=0.0, line={"color": GREY, "width": 1})
    return figure


def _dots(table: pd.DataFrame, name: str, *, low: str, high: str, axis: str, form: str) -> Figure:
    """A dot for each client, and a line over its interval, both in the colour of the verdict."""
    from plotly.graph_objects import Scatter

    shown = _most_in_need(table, name)
    figure = empty_figure(x=axis, height=bar_rows(len(shown)))
    value = shown[name].to_numpy(float)
    ends = [shown[end].to_numpy(float, na_value=np.nan) for end in (low, high)]
    first, last = (np.where(np.isfinite(end), end, value) for end in ends)
    # Traces in the order of the verdict, so that its colours are named once.
    for advice, (colour, symbol) in ADVICE_LOOKS.items():
        mine = np.flatnonzero((shown["advice"] == advice).to_numpy())
        if not len(mine):
            continue
        figure.add_trace(
            Scatter(
                mode="lines",
                x=_broken(first[mine], last[mine]),
                y=_broken(mine, mine),
                line={"color": colour, "width": 5},
                opacity=0.45,
                hoverinfo="skip",
                showlegend=False,
            )
        )
        figure.add_trace(
            Scatter(
                name=advice,
                mode="markers",
                x=value[mine].tolist(),
                y=mine.tolist(),
                marker={"color": colour, "symbol": symbol, "size": 11, "line": {"width": 1, "color": colour}},
                customdata=[
                    [as_hover(shown["client"].iloc[at]), *(f"{end[at]:{form}}" for end in (first, last))] for at in mine
                ],
                hovertemplate=f"%{{customdata[0]}}<br>{name} %{{x:{form}}}<br>"
                "%{customdata[1]} to %{customdata[2]}<extra></extra>",
            )
        )
    figure.update_layout(showlegend=True)
    _names_down(figure, shown["client"])
    figure.update_xaxes(zeroline=False, range=padded(np.concatenate([first, last, value]), 0.03))
    return figure


def _most_in_need(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """The clients that a picture has room for, in their order: those with a problem, then the lowest."""
    if len(table) <= MANY:
        return table
    fine = (table["advice"] == Advice.INCLUDE).to_numpy()
    chosen = np.lexsort((table[name].to_numpy(float), fine))[:MANY]
    return table.iloc[np.sort(chosen)].reset_index(drop=True)


def _broken(first: np.ndarray, last: np.ndarray) -> list[float | None]:
    """The ends of many lines in one trace, with a gap after each."""
    return [end for pair in zip(first, last, strict=True) for end in (float(pair[0]), float(pair[1]), None)]


def padded(values: np.ndarray, part: float) -> list[float]:
    """The ends of an axis with some room on both sides: marks and names at the edge are cut off otherwise."""
    least, most = float(np.nanmin(values)), float(np.nanmax(values))
    room = part * (most - least) or 0.05 * max(abs(most), 1e-6)
    return [least - room, most + room]


def _percent_ticks(span: float) -> str:
    """So many decimals that no two ticks of an axis of this length read the same."""
    return ".0%" if span > 0.06 else ".1%" if span > 0.006 else ".2%"


def far_apart(distances: np.ndarray) -> bool:
    """Whether one client is so far away that on an even scale all others would be one mark."""
    return bool(distances.min() > 0 and distances.max() > 20.0 * distances.min())


def _lines(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Scatter

    figure = empty_figure(x="round", y="estimate of the distance", height=400)
    names = list(dict.fromkeys(table["client"]))
    for place, name in enumerate(names):
        part = table[table["client"] == name]
        figure.add_trace(
            Scatter(
                name=as_text(name, 24),
                mode="lines+markers" if part["round"].nunique() <= 20 else "lines",
                x=part["round"].astype(int).tolist(),
                y=part["estimate"].astype(float).tolist(),
                line={"color": CYCLE[place % len(CYCLE)], "dash": DASHES[place // len(CYCLE) % len(DASHES)]},
                customdata=[[as_hover(name)]] * len(part),
                hovertemplate="%{customdata[0]}<br>round %{x}: %{y:.3f}<extra></extra>",
            )
        )
    figure.update_layout(showlegend=len(names) <= _LINES_WITH_LEGEND)
    if far_apart(table["estimate"].to_numpy(float)):
        figure.update_yaxes(type="log", dtick=1)
    else:
        figure.update_yaxes(rangemode="tozero")
    return figure


def _names_down(figure: Any, names: pd.Series) -> None:
    """Names on the axis by place: as categories, two that look alike would share a bar."""
    places = list(range(len(names)))
    figure.update_yaxes(
        tickvals=places, ticktext=[as_text(name) for name in names], range=[len(names) - 0.5, -0.5], showgrid=False
    )
