"""Pictures that only comparisons and experiments draw."""

from fedbary_lab.plots.bars import bars
from fedbary_lab.plots.curves import curves
from fedbary_lab.plots.method_plots import method_aurocs, method_likeness, method_shares
from fedbary_lab.plots.scatter import scatter

__all__ = ["bars", "curves", "method_aurocs", "method_likeness", "method_shares", "scatter"]
