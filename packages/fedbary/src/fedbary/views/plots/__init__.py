"""Pictures of results: objects with `.plot()`, `.frame()` and `.save()`, the same for reports, experiments and docs."""

from fedbary_lab.plots.bars import bars
from fedbary.views.plots.client_map import client_map
from fedbary.views.plots.client_plots import convergence, qualities, shapley_values, shares
from fedbary_lab.plots.curves import curves
from fedbary.views.plots.display import Display
from fedbary_lab.plots.method_plots import method_aurocs, method_likeness, method_shares
from fedbary.views.plots.plan import transport_plan
from fedbary.views.plots.row_plots import label_pairs, row_map, value_histogram
from fedbary_lab.plots.scatter import scatter

__all__ = [
    "Display",
    "bars",
    "client_map",
    "convergence",
    "curves",
    "label_pairs",
    "method_aurocs",
    "method_likeness",
    "method_shares",
    "qualities",
    "row_map",
    "scatter",
    "shapley_values",
    "shares",
    "transport_plan",
    "value_histogram",
]
