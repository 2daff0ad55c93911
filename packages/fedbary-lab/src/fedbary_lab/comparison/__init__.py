"""`compare_clients` and `compare_rows`: several methods on the same clients, or on their rows."""

from fedbary_lab.comparison.client_comparison import Comparison
from fedbary_lab.comparison.measures import agreement
from fedbary_lab.comparison.protocols import PROTOCOL_METHODS, protocol_scores
from fedbary_lab.comparison.row_comparison import RowComparison
from fedbary_lab.comparison.run_clients import compare_clients
from fedbary_lab.comparison.run_rows import compare_rows

__all__ = [
    "PROTOCOL_METHODS",
    "Comparison",
    "RowComparison",
    "agreement",
    "compare_clients",
    "compare_rows",
    "protocol_scores",
]
