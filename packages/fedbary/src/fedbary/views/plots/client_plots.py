"""Pictures of clients: numbers with their intervals, maps with as many names as there is room for, and convergence."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.valuation.verdict import Advice
from fedbary.views.display import BLUE, CYCLE, DASHES, GREY, LOOKS, Display, as_hover, as_text, bar_rows, empty_figure
from fedbary.views.tables import main_columns
from fedbary.wording import dash

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure, Scatter

    from fedbary.valuation.result import Valuation

# Above so many clients, only those that are not simply included are drawn or named.
MANY = 30
_LINES_WITH_LEGEND, _MOST_NAMED = 12, 500


def qualities(result: Valuation) -> Display | None:
    """Each client's quality with its interval, best first; None where the protocol knows none.

    Of very many clients those with a problem and the lowest quality are drawn; the table has them all.
    """
    table, some = _known(result, "quality", "quality_low", "quality_high", "rows")
    title = "Quality of each client: the share of its rows that is estimated to be good, with its interval."
    draw = partial(_dots, name="quality", low="quality_low", high="quality_high", axis="quality", form=".2f")
    return None if table.empty else Display("qualities", title + some, table, draw)


def shares(result: Valuation) -> Display:
    """Each valued client's share of the total, best first, with its interval where the protocol has one."""
    table, some = _known(result, "share", "share_low", "share_high", "rows", "distance")
    title = "Share of each client in the total value; the dotted line is an equal share."
    return Display("shares", title + some, table, _draw_shares)


def _known(result: Valuation, name: str, *more: str) -> tuple[pd.DataFrame, str]:
    """The clients of which a number is known, best first, and what to say where a picture has not room for all."""
    table = _advised(result)[["client", name, *more, "advice"]]
    table = table[table[name].notna()].reset_index(drop=True)
    some = f" The {MANY} of {len(table)} clients that need a look most." if len(table) > MANY else ""
    return table, some


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


def client_map(result: Valuation) -> Display | None:
    """Distance against quality, or closeness where there is none; None where the protocol knows neither."""
    table = _advised(result)
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
    table = _advised(result)
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


def _advised(result: Valuation) -> pd.DataFrame:
    """The ranked clients with the verdict on each."""
    return result.ranking().assign(advice=[opinion.advice for opinion in result.verdict()])


def _draw_shares(table: pd.DataFrame) -> Figure:
    figure = _dots(table, "share", low="share_low", high="share_high", axis="share of the total value", form=".1%")
    first, last = figure.layout.xaxis.range
    if len(table) > 1:
        equal = 1.0 / len(table)
        figure.add_vline(x=equal, line={"dash": "dot", "color": GREY})
        first, last = min(first, 0.98 * equal), max(last, 1.02 * equal)
    # So many decimals that no two ticks read the same.
    ticks = ".0%" if last - first > 0.06 else ".1%" if last - first > 0.006 else ".2%"
    figure.update_xaxes(tickformat=ticks, range=[first, last])
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

    shown = table
    if len(table) > MANY:  # those with a problem, then the lowest, in their order
        fine = (table["advice"] == Advice.INCLUDE).to_numpy()
        shown = table.iloc[np.sort(np.lexsort((table[name].to_numpy(float), fine))[:MANY])].reset_index(drop=True)
    figure = empty_figure(x=axis, height=bar_rows(len(shown)))
    value = shown[name].to_numpy(float)
    ends = [shown[end].to_numpy(float, na_value=np.nan) for end in (low, high)]
    first, last = (np.where(np.isfinite(end), end, value) for end in ends)
    for advice, (those, colour, symbol) in _by_advice(shown).items():
        mine = np.flatnonzero(those)
        if not len(mine):
            continue
        figure.add_trace(
            Scatter(
                mode="lines",
                # The ends of many lines in one trace, with a gap after each.
                x=[end for at in mine for end in (float(first[at]), float(last[at]), None)],
                y=[end for at in mine for end in (float(at), float(at), None)],
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
    # By place: as categories, two names that look alike would share a line.
    names = [as_text(client) for client in shown["client"]]
    figure.update_yaxes(
        tickvals=list(range(len(names))), ticktext=names, range=[len(names) - 0.5, -0.5], showgrid=False
    )
    figure.update_xaxes(zeroline=False, range=_padded(np.concatenate([first, last, value]), 0.03))
    return figure


def _padded(values: np.ndarray, part: float) -> list[float]:
    """The ends of an axis with some room on both sides: marks and names at the edge are cut off otherwise."""
    least, most = float(np.nanmin(values)), float(np.nanmax(values))
    room = part * (most - least) or 0.05 * max(abs(most), 1e-6)
    return [least - room, most + room]


def _far_apart(distances: np.ndarray) -> bool:
    """Whether one client is so far away that on an even scale all others would be one mark."""
    return bool(distances.min() > 0 and distances.max() > 20.0 * distances.min())


def _draw_site_effects(table: pd.DataFrame) -> Figure:
    figure = empty_figure(x="shift, in standard deviations", y="blur, times the others' scatter", height=400)
    figure.add_hline(y=1.0, line={"dash": "dot", "color": GREY})
    shift, blur = (table[name].to_numpy(float) for name in ("shift", "blur"))
    if "own" in table:
        own = table["own"].to_numpy(bool)
        groups = {"other clients": (~own, GREY, "circle"), "your rows": (own, BLUE, "star")}
        places = np.where(own, "top center", "")
    else:
        groups = _by_advice(table)
        places = _name_places(table, shift, blur, shift)
    hover = "%{customdata[0]}<br>shift %{x:.2f} σ<br>blur ×%{y:.2f}<extra></extra>"
    for name, (mine, colour, symbol) in groups.items():
        if mine.any():
            marker = {"color": colour, "symbol": symbol, "size": 13, "opacity": 0.85}
            names = table["client"][mine]
            trace = _named_marks(
                name, names, (shift[mine], blur[mine]), places[mine], marker=marker, hovertemplate=hover
            )
            figure.add_trace(trace.update(customdata=[[as_hover(who)] for who in names]))
    figure.update_xaxes(range=_padded(np.append(shift, 0.0), 0.08))
    figure.update_yaxes(range=_padded(np.append(blur, 1.0), 0.15))
    figure.update_layout(showlegend=True)
    return figure


def _draw_map(table: pd.DataFrame) -> Figure:
    kind = "quality" if "quality" in table else "closeness"
    figure = empty_figure(x="distance from the target (left is nearer)", y=f"{kind} of the rows", height=440)
    rows, height, distance = (table[name].to_numpy(float) for name in ("rows", kind, "distance"))
    low, high = (table[name].to_numpy(float, na_value=np.nan) for name in ("low", "high"))
    size = 10.0 + (14.0 if len(table) > MANY else 18.0) * np.sqrt(rows / max(float(rows.max()), 1.0))
    logarithmic = _far_apart(distance)
    # Whiskers make the axis wider than the marks do.
    across, ends = distance, np.column_stack([distance, low, high])
    if logarithmic:
        across = ends = np.log10(distance)
    places = _name_places(table, across, height, ends)
    hover = (
        f"%{{customdata[0]}}<br>distance %{{x:.3f}}<br>{kind} %{{y:.3f}}<br>"
        "%{customdata[1]:,} rows, %{customdata[2]} flagged<extra></extra>"
    )
    for advice, (mine, colour, symbol) in _by_advice(table).items():
        if not mine.any():
            continue
        part = table[mine]
        marker = {"color": colour, "symbol": symbol, "size": size[mine].tolist(), "opacity": 0.85}
        at = distance[mine], height[mine]
        trace = _named_marks(advice, part["client"], at, places[mine], marker=marker, hovertemplate=hover)
        flagged = ["–" if dash(count) == "–" else f"{int(count):,}" for count in part["flagged"]]
        about = zip(part["client"], part["rows"], flagged, strict=True)
        trace.customdata = [[as_hover(name), *numbers] for name, *numbers in about]
        if len(table) <= MANY and not logarithmic:
            above, below = (np.maximum(np.nan_to_num(end), 0.0)[mine] for end in (high - distance, distance - low))
            if above.any() or below.any():
                ends_of = {"type": "data", "symmetric": False, "array": above.tolist(), "arrayminus": below.tolist()}
                trace.error_x = ends_of | {"color": GREY, "thickness": 1.2}
        figure.add_trace(trace)
    if logarithmic:
        figure.update_xaxes(type="log", dtick=1, range=_padded(across, 0.08))
    else:
        figure.update_xaxes(range=_padded(distance if len(table) > MANY else ends, 0.08))
    figure.update_yaxes(range=_padded(height, 0.12))
    figure.update_layout(showlegend=True)
    return figure


def _by_advice(table: pd.DataFrame) -> dict[str, tuple[np.ndarray, str, str]]:
    """Which clients have each advice, with its colour and symbol; in one order, so that legends name colours once."""
    return {one: ((table["advice"] == one).to_numpy(), look.colour, look.symbol) for one, look in LOOKS.items()}


def _named_marks(
    name: str, names: pd.Series, at: tuple[np.ndarray, np.ndarray], places: np.ndarray, **more: Any
) -> Scatter:
    """Marks of which those with a place have their name there."""
    from plotly.graph_objects import Scatter as New

    return New(
        name=name,
        mode="markers+text",
        x=at[0].tolist(),
        y=at[1].tolist(),
        text=[as_text(who, 24) if place else "" for who, place in zip(names, places, strict=True)],
        textposition=[place or "top center" for place in places],
        **more,
    )


def _name_places(table: pd.DataFrame, across: np.ndarray, height: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Where each name fits beside its mark without covering another; empty where it does not.

    Of many clients only those are named that are not simply included, and of very many the first few hundred: no more
    names find room.
    """
    # In parts of the chart's width and height; a character is about a hundredth of the width.
    x, y = (
        (values - least) / (most - least) if most > least else np.full(len(values), 0.5)
        for values, least, most in ((across, np.nanmin(ends), np.nanmax(ends)), (height, height.min(), height.max()))
    )
    taken = np.vstack([np.column_stack([x - 0.02, y - 0.04, x + 0.02, y + 0.04]), np.full((len(table), 4), np.nan)])
    places = np.full(len(table), "", dtype=object)
    advice, names = table["advice"].to_numpy(), table["client"].to_numpy()
    named = np.arange(len(table)) if len(table) <= MANY else np.flatnonzero(advice != Advice.INCLUDE)[:_MOST_NAMED]
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
            left, bottom, right, top = taken.T
            if not np.any((box[0] < right) & (left < box[2]) & (box[1] < top) & (bottom < box[3])):
                places[index], taken[len(table) + index] = place, box
                break
    return places


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
    if _far_apart(table["estimate"].to_numpy(float)):
        figure.update_yaxes(type="log", dtick=1)
    else:
        figure.update_yaxes(rangemode="tozero")
    return figure
