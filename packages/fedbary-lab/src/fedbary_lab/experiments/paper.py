"""What the paper says: each of its numbers once, for tables and pages that put ours beside it.

"Data Valuation and Detections in Federated Learning", CVPR 2024: its Tables 2 to 4 and the text of its appendix. Its
figures are read by eye nowhere: what only a figure shows is described in words on the page that compares.
"""

from __future__ import annotations

from collections.abc import Mapping

SAYS: Mapping[str, float] = {
    # Table 2: minutes to value N clients; what the paper leaves out is not here.
    "minutes_exactfed_5": 31,
    "minutes_exactfed_10": 200,
    "minutes_gtg_5": 33 / 60,
    "minutes_gtg_10": 7,
    "minutes_mr_5": 5,
    "minutes_mr_10": 40,
    "minutes_datasv_5": 25,
    "minutes_datasv_10": 150,
    "minutes_s100_5": 1,
    "minutes_s100_10": 2,
    "minutes_s100_50": 14,
    "minutes_s100_100": 21,
    "minutes_s500_5": 2,
    "minutes_s500_10": 4,
    "minutes_s500_50": 30,
    "minutes_s500_100": 60,
    # Table 3: the distance of 5,000 rows whose whole set, or one row of which, is there once, twice, three times.
    "copies_whole_1": 39.14,
    "copies_whole_2": 39.23,
    "copies_whole_3": 39.18,
    "copies_row_1": 40.94,
    "copies_row_2": 40.96,
    "copies_row_3": 40.99,
    # Table 4: five clients, 5,000 rows, and the accuracy before and after the detected rows were removed.
    "boost_cifar10_noisy": 500,
    "boost_cifar10_removed": 494,
    "boost_cifar10_before": 0.67,
    "boost_cifar10_after": 0.73,
    "boost_fashion_noisy": 1000,
    "boost_fashion_removed": 580,
    "boost_fashion_before": 0.56,
    "boost_fashion_after": 0.64,
    # Section on detection: only noisy rows, and all of them, have positive gradients where features are spoilt.
    "success_features": 1.00,
    # Appendix, "Client detection is better than server detection": shares of the noisy rows that are detected.
    "found_by_client": 1.00,
    "found_by_server": 0.76,
    "found_labels": 0.45,
    "found_labels_with_access": 0.47,
}
