"""A transport plan in the plane: two clouds, and what is carried where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fedbary.errors import SettingsError
from fedbary.views.plots.display import Display
from fedbary.views.plots.look import BLUE, GREY, ORANGE, empty_figure

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

_NEGLIGIBLE = 1e-12


def transport_plan(points: ArrayLike, target: ArrayLike, plan: ArrayLike) -> Display:
    """Two clouds of points in the plane and the mass that a plan carries between them.

    Examples
    --------
    >>> import numpy as np
    >>> import fedbary as fb
    >>> a, b = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])
    >>> fb.plots.transport_plan(a, b, fb.solve(a, b).plan).frame()["mass"].tolist()
    [0.5, 0.5]
    """
    import pandas as pd

    a, b, mass = (np.asarray(values, dtype=float) for values in (points, target, plan))
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != 2 or b.shape[1] != 2 or mass.shape != (len(a), len(b)):
        raise SettingsError(
            "views.plan-not-in-the-plane", points=str(a.shape), target=str(b.shape), plan=str(mass.shape)
        )
    start, end = np.nonzero(mass > _NEGLIGIBLE)
    table = pd.DataFrame(
        {
            "from_x": a[start, 0],
            "from_y": a[start, 1],
            "to_x": b[end, 0],
            "to_y": b[end, 1],
            "mass": mass[start, end],
        }
    )
    title = "Where a plan carries the mass of one cloud to another; thicker lines carry more."
    return Display("transport-plan", title, table, _draw)


def _draw(table: pd.DataFrame) -> Figure:
    from plotly.graph_objects import Scatter

    figure = empty_figure(height=440)
    most = float(table["mass"].max()) if len(table) else 1.0
    for x0, y0, x1, y1, mass in table.to_numpy(dtype=float):
        line = {"color": GREY, "width": 0.5 + 2.5 * mass / most}
        figure.add_trace(Scatter(x=[x0, x1], y=[y0, y1], mode="lines", line=line, hoverinfo="skip", showlegend=False))
    for name, columns, colour, symbol in (
        ("the client's rows", ["from_x", "from_y"], BLUE, "circle"),
        ("the target", ["to_x", "to_y"], ORANGE, "diamond"),
    ):
        cloud = table[columns].drop_duplicates().to_numpy(dtype=float)
        figure.add_trace(
            Scatter(
                name=name,
                mode="markers",
                x=cloud[:, 0].tolist(),
                y=cloud[:, 1].tolist(),
                marker={"color": colour, "symbol": symbol, "size": 10},
                hovertemplate="%{x:.2f}, %{y:.2f}<extra></extra>",
            )
        )
    figure.update_layout(showlegend=True)
    return figure
