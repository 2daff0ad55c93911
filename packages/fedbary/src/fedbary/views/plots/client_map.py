"""Maps of clients: how far against how clean, and shift against blur; with as many names as there is room for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.valuation.outcome import Outcome
from fedbary.valuation.verdict import SHIFT, Advice
from fedbary.views.plots.client_plots import ADVICE_LOOKS, MANY, advised, far_apart, padded
from fedbary.views.plots.display import Display
from fedbary.views.plots.look import BLUE, GREY, as_hover, as_text, empty_figure
from fedbary.wording import listed, on_one_line

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


def site_effects(result: Valuation, client: str | None = None) -> Display | None:
    """How far each client's values lie from the others' against how much they scatter; None where neither is known.

    For an owner, ``client``, the others are points without a name.
    """
    table = advised(result)
    table = table[table["shift"].notna() & table["blur"].notna()]
    if table.empty or (client is not None and client not in set(table["client"])):
        return None
    who = "Every client"
    if client is None:
        named = [main_columns(result.outcomes[str(name)]) for name in table["client"]]
        table = table[["client", "rows", "shift", "blur", "advice"]].assign(
            **{name: [one[name] for one in named] for name in ("shift_columns", "blur_columns")}
        )
    else:
        who = "Your rows and every other client"
        own = table["client"] == client
        table = table[["client", "shift", "blur"]].assign(client=np.where(own, client, "another client"), own=own)
    return Display(
        "site-effects",
        f"{who} by how far its values lie from the others', in standard deviations, and how many times as much they "
        "scatter.",
        table.sort_values("shift", kind="stable").reset_index(drop=True),
        _draw_site_effects,
    )


def main_columns(outcome: Outcome) -> dict[str, str]:
    """The columns that make up most of a client's shift and of its blur, where notes name them."""
    said = {note.code: note.redacted().facts.get("columns") for note in outcome.notes}
    named = {"shift_columns": said.get(SHIFT), "blur_columns": said.get("judging.blur")}
    return {
        name: listed([on_one_line(one, 24) for one in columns], most=3) if isinstance(columns, tuple) else ""
        for name, columns in named.items()
    }


def _draw_site_effects(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Scatter

    figure = empty_figure(x="shift, in standard deviations", y="blur, times the others' scatter", height=400)
    figure.add_hline(y=1.0, line={"dash": "dot", "color": GREY})
    shift, blur = (table[name].to_numpy(float) for name in ("shift", "blur"))
    if "own" in table:
        own = table["own"].to_numpy(bool)
        groups = {"other clients": (~own, GREY, "circle"), "your rows": (own, BLUE, "star")}
        places = np.where(own, "top center", "")
    else:
        groups = {one: ((table["advice"] == one).to_numpy(), *look) for one, look in ADVICE_LOOKS.items()}
        places = _name_places(table, shift, blur, shift)
    for name, (mine, colour, symbol) in groups.items():
        part = table[mine]
        if part.empty:
            continue
        figure.add_trace(
            Scatter(
                name=name,
                mode="markers+text",
                x=shift[mine].tolist(),
                y=blur[mine].tolist(),
                text=[as_text(who, 24) if at else "" for who, at in zip(part["client"], places[mine], strict=True)],
                textposition=[place or "top center" for place in places[mine]],
                marker={"color": colour, "symbol": symbol, "size": 13, "opacity": 0.85},
                customdata=[[as_hover(who)] for who in part["client"]],
                hovertemplate="%{customdata[0]}<br>shift %{x:.2f} σ<br>blur ×%{y:.2f}<extra></extra>",
            )
        )
    figure.update_xaxes(range=padded(np.append(shift, 0.0), 0.08))
    figure.update_yaxes(range=padded(np.append(blur, 1.0), 0.15))
    figure.update_layout(showlegend=True)
    return figure


def _draw_map(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Scatter

    height = "quality" if "quality" in table else "closeness"
    figure = empty_figure(x="distance from the target (left is nearer)", y=f"{height} of the rows", height=440)
    size = 10.0 + (14.0 if len(table) > MANY else 18.0) * np.sqrt(
        table["rows"].to_numpy(float) / max(float(table["rows"].max()), 1.0)
    )
    # Whiskers make the axis wider than the marks do.
    across = table["distance"].to_numpy(float)
    ends = table[["distance", "low", "high"]].to_numpy(float, na_value=np.nan)
    if far_apart(across):
        across = ends = np.log10(across)
    places = _name_places(table, across, table[height].to_numpy(float), ends)
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


def _name_places(table: pd.DataFrame, across: np.ndarray, height: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Where each name fits beside its mark without covering another; empty where it does not.

    Of many clients only those are named that are not simply included, and of very many the first few hundred: no more
    names find room.
    """
    # In parts of the chart's width and height; a character is about a hundredth of the width.
    x = _unit(across, float(np.nanmin(ends)), float(np.nanmax(ends)))
    y = _unit(height, float(height.min()), float(height.max()))
    taken = np.vstack([np.column_stack([x - 0.02, y - 0.04, x + 0.02, y + 0.04]), np.full((len(table), 4), np.nan)])
    places = np.full(len(table), "", dtype=object)
    advice, names = table["advice"].to_numpy(), table["client"].to_numpy()
    named = np.arange(len(table)) if len(table) <= MANY else np.flatnonzero(advice != Advice.INCLUDE)[:_MOST_TRIED]
    for index in named:
        wide, tall = 0.0095 * (len(str(names[index])[:25]) + 1), 0.06
        for place, aside, up in (
            ("top center", 0.0, 1.0),
            ("bottom center", 0.0, -1.0),
            ("top right", 0.6, 1.0),
            ("bottom left", -0.6, -1.0),
            ("bottom right", 0.6, -1.0),
            ("top left", -0.6, 1.0),
        ):
            middle = x[index] + aside * wide, y[index] + up * (tall / 2 + 0.05)
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
