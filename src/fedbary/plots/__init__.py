"""Pictures of results: objects with `.plot()`, `.frame()` and `.save()`, the same for reports, experiments and docs."""

from fedbary.plots.clients import client_map, convergence, shapley_values, shares
from fedbary.plots.curves import curves
from fedbary.plots.display import Display
from fedbary.plots.methods import method_aurocs, method_likeness, method_shares
from fedbary.plots.plan import transport_plan
from fedbary.plots.rows import label_pairs, row_map, value_histogram

__all__ = [
    "Display",
    "client_map",
    "convergence",
    "curves",
    "label_pairs",
    "method_aurocs",
    "method_likeness",
    "method_shares",
    "row_map",
    "shapley_values",
    "shares",
    "transport_plan",
    "value_histogram",
]
