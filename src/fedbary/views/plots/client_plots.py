"""Pictures of clients: shares, Shapley values, the map of distance and quality, and convergence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.valuation.verdict import Advice
from fedbary.views.plots.display import Display
from fedbary.views.plots.look import (
    BLUE,
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

_ADVICE = {
    Advice.INCLUDE: (GREEN, "circle"),
    Advice.LOOK: (ORANGE, "diamond"),
    Advice.LEAVE: (RED, "x"),
    Advice.NOT_VALUED: (GREY, "cross"),
}
_LINES_WITH_LEGEND = 12


def shares(result: Valuation) -> Display:
    """Each valued client's share of the total, best first, with its interval where the protocol has one."""
    columns = ["client", "share", "share_low", "share_high", "rows", "distance"]
    table = _advised(result)[[*columns, "advice"]]
    return Display(
        "shares",
        "Share of each client in the total value, best first; the dotted line is an equal share.",
        table[table["share"].notna()].reset_index(drop=True),
        _draw_shares,
    )


def shapley_values(result: Valuation) -> Display | None:
    """Each client's Shapley value with its standard error; None where the protocol has none."""
    if result.scores is None:
        return None
    table = result.scores.to_frame().dropna(subset=["value"]).sort_values("value", ascending=False, kind="stable")
    return Display(
        "shapley-values",
        "What each client adds to a coalition on average (its Shapley value); below zero it does harm.",
        table.reset_index(drop=True),
        _draw_values,
    )


def client_map(result: Valuation) -> Display | None:
    """Distance against quality, one mark for each client; None where the protocol knows no quality."""
    table = _advised(result)[["client", "rows", "distance", "low", "high", "quality", "share", "flagged", "advice"]]
    table = table[table["quality"].notna() & table["distance"].notna()].reset_index(drop=True)
    if table.empty:
        return None
    return Display(
        "client-map",
        "Every client by its distance from the target and the quality of its rows; larger marks have more rows.",
        table,
        _draw_map,
    )


def convergence(result: Valuation) -> Display | None:
    """The estimate of every client's distance, round by round; None where there were no rounds."""
    table = result.history[["client", "round", "estimate"]].dropna()
    if table["round"].nunique() < 2:
        return None
    return Display(
        "convergence", "The estimate of every client's distance, round by round.", table.reset_index(drop=True), _lines
    )


def _advised(result: Valuation) -> pd.DataFrame:
    advice = {opinion.client: opinion.advice for opinion in result.verdict()}
    ranked = result.ranking()
    return ranked.assign(advice=[advice[str(name)] for name in ranked["client"]])


def _draw_shares(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Bar

    figure = empty_figure(x="share of the total value", height=bar_rows(len(table)))
    share = table["share"].to_numpy(float)
    low, high = (table[name].to_numpy(float, na_value=np.nan) for name in ("share_low", "share_high"))
    known = np.isfinite(low) & np.isfinite(high)
    figure.add_trace(
        Bar(
            orientation="h",
            y=list(range(len(table))),
            x=share.tolist(),
            error_x=_whiskers(np.where(known, high - share, 0.0), np.where(known, share - low, 0.0)),
            marker={"color": [_ADVICE[advice][0] for advice in table["advice"]]},
            customdata=[
                [as_hover(name), rows, advice]
                for name, rows, advice in zip(table["client"], table["rows"], table["advice"], strict=True)
            ],
            hovertemplate="%{customdata[0]}<br>share %{x:.1%}<br>%{customdata[1]:,} rows<br>%{customdata[2]}"
            "<extra></extra>",
            showlegend=False,
        )
    )
    if len(table) > 1:
        figure.add_vline(x=1.0 / len(table), line={"dash": "dot", "color": GREY})
    _names_down(figure, table["client"])
    figure.update_xaxes(tickformat=".0%", rangemode="tozero")
    return figure


def _draw_values(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Bar

    figure = empty_figure(x="Shapley value", height=bar_rows(len(table)))
    values, errors = table["value"].to_numpy(float), table["standard_error"].fillna(0.0).to_numpy(float)
    figure.add_trace(
        Bar(
            orientation="h",
            y=list(range(len(table))),
            x=values.tolist(),
            error_x=_whiskers(errors, errors),
            marker={"color": [BLUE if value >= 0 else RED for value in values]},
            customdata=[[as_hover(name), error] for name, error in zip(table["client"], errors.tolist(), strict=True)],
            hovertemplate="%{customdata[0]}<br>%{x:.4f} ± %{customdata[1]:.4f}<extra></extra>",
            showlegend=False,
        )
    )
    _names_down(figure, table["client"])
    return figure


def _draw_map(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Scatter

    figure = empty_figure(x="distance from the target (left is nearer)", y="quality of the rows", height=440)
    size = 10.0 + 18.0 * np.sqrt(table["rows"].to_numpy(float) / max(float(table["rows"].max()), 1.0))
    places = _name_places(table)
    for advice, (colour, symbol) in _ADVICE.items():
        mine = (table["advice"] == advice).to_numpy()
        part = table[mine]
        if part.empty:
            continue
        distance = part["distance"].to_numpy(float)
        low, high = (part[name].to_numpy(float, na_value=np.nan) for name in ("low", "high"))
        figure.add_trace(
            Scatter(
                name=advice,
                mode="markers+text",
                x=distance.tolist(),
                y=part["quality"].astype(float).tolist(),
                text=[as_text(name, 24) if at else "" for name, at in zip(part["client"], places[mine], strict=True)],
                textposition=[place or "top center" for place in places[mine]],
                error_x=_whiskers(np.nan_to_num(high - distance), np.nan_to_num(distance - low)),
                marker={"color": colour, "symbol": symbol, "size": size[mine].tolist(), "opacity": 0.85},
                customdata=[
                    [as_hover(name), rows, "–" if _missing(flagged) else f"{int(flagged):,}"]
                    for name, rows, flagged in zip(part["client"], part["rows"], part["flagged"], strict=True)
                ],
                hovertemplate="%{customdata[0]}<br>distance %{x:.3f}<br>quality %{y:.3f}<br>%{customdata[1]:,} rows, "
                "%{customdata[2]} flagged<extra></extra>",
            )
        )
    figure.update_layout(showlegend=True)
    return figure


def _name_places(table: pd.DataFrame) -> np.ndarray:
    """Where each name fits beside its mark without covering another; empty where it does not."""
    # In parts of the chart's width and height; a character is about a hundredth of the width.
    distance, quality = (table[name].to_numpy(float) for name in ("distance", "quality"))
    # Whiskers make the axis wider than the marks do.
    ends = table[["distance", "low", "high"]].to_numpy(float, na_value=np.nan)
    x = _unit(distance, float(np.nanmin(ends)), float(np.nanmax(ends)))
    y = _unit(quality, float(quality.min()), float(quality.max()))
    taken = np.vstack([np.column_stack([x - 0.02, y - 0.04, x + 0.02, y + 0.04]), np.full((len(table), 4), np.nan)])
    places = np.full(len(table), "", dtype=object)
    for index, name in enumerate(table["client"]):
        wide, tall = 0.0095 * (len(str(name)[:25]) + 1), 0.06
        for place, across, up in (
            ("top center", 0.0, 1.0),
            ("bottom center", 0.0, -1.0),
            ("top right", 0.6, 1.0),
            ("bottom left", -0.6, -1.0),
            ("bottom right", 0.6, -1.0),
            ("top left", -0.6, 1.0),
        ):
            middle = x[index] + across * wide, y[index] + up * (tall / 2 + 0.05)
            box = middle[0] - wide / 2, middle[1] - tall / 2, middle[0] + wide / 2, middle[1] + tall / 2
            if not _covers(box, taken):
                places[index], taken[len(table) + index] = place, box
                break
    return places


def _unit(values: np.ndarray, least: float, most: float) -> np.ndarray:
    return (values - least) / (most - least) if most > least else np.full(len(values), 0.5)


def _covers(box: tuple[float, float, float, float], taken: np.ndarray) -> bool:
    left, bottom, right, top = taken.T
    return bool(np.any((box[0] < right) & (left < box[2]) & (box[1] < top) & (bottom < box[3])))


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
    figure.update_yaxes(rangemode="tozero")
    return figure


def _names_down(figure: Any, names: pd.Series) -> None:
    """Names on the axis by place: as categories, two that look alike would share a bar."""
    places = list(range(len(names)))
    figure.update_yaxes(
        tickvals=places, ticktext=[as_text(name) for name in names], range=[len(names) - 0.5, -0.5], showgrid=False
    )


def _whiskers(above: np.ndarray, below: np.ndarray) -> dict[str, Any] | None:
    above, below = np.maximum(above, 0.0), np.maximum(below, 0.0)
    if not (above.any() or below.any()):
        return None
    return {
        "type": "data",
        "symmetric": False,
        "array": above.tolist(),
        "arrayminus": below.tolist(),
        "color": GREY,
        "thickness": 1.2,
    }


def _missing(value: Any) -> bool:
    import pandas as pd

    return bool(pd.isna(value))
