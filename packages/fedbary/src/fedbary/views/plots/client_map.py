"""The map of clients: how far from the target against how clean, with as many names as there is room for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.valuation.verdict import Advice
from fedbary.views.plots.client_plots import ADVICE_LOOKS, MANY, advised, far_apart, padded
from fedbary.views.plots.display import Display
from fedbary.views.plots.look import GREY, as_hover, as_text, empty_figure

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from fedbary.valuation.result import Valuation

_MOST_TRIED = 500


def client_map(result: Valuation) -> Display | None:
    """Distance against quality, or closeness where there is none; None where the protocol knows neither."""
    table = advised(result)
    height = "quality" if table["quality"].notna().any() else "closeness"
    table = table[["client", "rows", "distance", "low", "high", height, "share", "flagged", "advice"]]
    table = table[table[height].notna() & table["distance"].notna()].reset_index(drop=True)
    if table.empty:
        return None
    return Display(
        "client-map",
        f"Every client by its distance from the target and the {height} of its rows; larger marks have more rows.",
        table,
        _draw_map,
    )


def _draw_map(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Scatter

    height = "quality" if "quality" in table else "closeness"
    figure = empty_figure(x="distance from the target (left is nearer)", y=f"{height} of the rows", height=440)
    size = 10.0 + (14.0 if len(table) > MANY else 18.0) * np.sqrt(
        table["rows"].to_numpy(float) / max(float(table["rows"].max()), 1.0)
    )
    places = _name_places(table, height)
    for advice, (colour, symbol) in ADVICE_LOOKS.items():
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
                y=part[height].astype(float).tolist(),
                text=[as_text(name, 24) if at else "" for name, at in zip(part["client"], places[mine], strict=True)],
                textposition=[place or "top center" for place in places[mine]],
                error_x=None
                if len(table) > MANY or far_apart(table["distance"].to_numpy(float))
                else _whiskers(np.nan_to_num(high - distance), np.nan_to_num(distance - low)),
                marker={"color": colour, "symbol": symbol, "size": size[mine].tolist(), "opacity": 0.85},
                customdata=[
                    [as_hover(name), rows, "–" if _missing(flagged) else f"{int(flagged):,}"]
                    for name, rows, flagged in zip(part["client"], part["rows"], part["flagged"], strict=True)
                ],
                hovertemplate=f"%{{customdata[0]}}<br>distance %{{x:.3f}}<br>{height} %{{y:.3f}}<br>"
                "%{customdata[1]:,} rows, %{customdata[2]} flagged<extra></extra>",
            )
        )
    ends = table[["distance", *(() if len(table) > MANY else ("low", "high"))]].to_numpy(float, na_value=np.nan)
    if far_apart(table["distance"].to_numpy(float)):
        figure.update_xaxes(type="log", dtick=1, range=padded(np.log10(table["distance"].to_numpy(float)), 0.08))
    else:
        figure.update_xaxes(range=padded(ends, 0.08))
    figure.update_yaxes(range=padded(table[height].to_numpy(float), 0.12))
    figure.update_layout(showlegend=True)
    return figure


def _name_places(table: pd.DataFrame, height: str) -> np.ndarray:
    """Where each name fits beside its mark without covering another; empty where it does not.

    Of many clients only those are named that are not simply included, and of very many the first few hundred: no more
    names find room.
    """
    # In parts of the chart's width and height; a character is about a hundredth of the width.
    distance, quality = (table[name].to_numpy(float) for name in ("distance", height))
    # Whiskers make the axis wider than the marks do.
    ends = table[["distance", "low", "high"]].to_numpy(float, na_value=np.nan)
    if far_apart(distance):
        distance = ends = np.log10(distance)
    x = _unit(distance, float(np.nanmin(ends)), float(np.nanmax(ends)))
    y = _unit(quality, float(quality.min()), float(quality.max()))
    taken = np.vstack([np.column_stack([x - 0.02, y - 0.04, x + 0.02, y + 0.04]), np.full((len(table), 4), np.nan)])
    places = np.full(len(table), "", dtype=object)
    advice, names = table["advice"].to_numpy(), table["client"].to_numpy()
    named = np.arange(len(table)) if len(table) <= MANY else np.flatnonzero(advice != Advice.INCLUDE)[:_MOST_TRIED]
    for index in named:
        wide, tall = 0.0095 * (len(str(names[index])[:25]) + 1), 0.06
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
