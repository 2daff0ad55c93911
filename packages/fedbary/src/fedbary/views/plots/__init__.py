"""Pictures of results: objects with `.plot()`, `.frame()` and `.save()`, the same for reports, experiments and docs."""

from fedbary.views.display import Display
from fedbary.views.plots.client_plots import client_map, convergence, qualities, shapley_values, shares, site_effects
from fedbary.views.plots.row_plots import label_pairs, row_map, transport_plan, value_histogram

__all__ = [
    "Display",
    "client_map",
    "convergence",
    "label_pairs",
    "qualities",
    "row_map",
    "shapley_values",
    "shares",
    "site_effects",
    "transport_plan",
    "value_histogram",
]
