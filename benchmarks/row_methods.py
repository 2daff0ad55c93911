"""Every row-level method once on digits: how long it takes beside logistic regression, and how well it finds flips.

python benchmarks/row_methods.py
"""

from __future__ import annotations

import time

import fedbary as fb
from fedbary_lab.baselines import lava_values
from fedbary_lab.baselines.row_methods import ROW_METHODS
from fedbary_lab.comparison.measures import auroc


def main() -> None:
    digits = fb.datasets.load("digits")
    table, wrong = fb.corruptions.flip_labels(
        fb.partitions.by_size(digits.train, [200], seed=0).clients["client_1"], 0.1, seed=0
    )
    reference = fb.partitions.by_size(digits.test, [300], seed=0).clients["client_1"]
    print("200 rows of digits, 10 % flipped labels, 300 reference rows, seed 0; processor seconds, logistic = 1\n")
    print("| method | time | AUROC | values that are 0 |\n| --- | --- | --- | --- |")
    ROW_METHODS["logistic"].compute(table, reference, seed=0)  # imports are not its work
    one = 1.0
    for name in ("logistic", *(name for name in ROW_METHODS if name != "logistic")):
        started = time.process_time()
        values = ROW_METHODS[name].compute(table, reference, seed=0)["value"].to_numpy(dtype=float)
        seconds = time.process_time() - started
        one = seconds if name == "logistic" else one
        shown = f"1 ({seconds:.2f} s)" if name == "logistic" else f"{seconds / one:.1f}"
        print(f"| {name} | {shown} | {auroc(values, wrong):.2f} | {(values == 0).mean():.0%} |", flush=True)
    small, large = sorted((digits.train, digits.test), key=len)
    spoilt, mask = fb.corruptions.flip_labels(small, 0.1, seed=0)
    found = lava_values(spoilt, large, solver="exact")["value"].to_numpy(dtype=float)
    print(f"\nlava-exact, {len(small)} rows against {len(large)}: AUROC {auroc(found, mask):.2f}")


if __name__ == "__main__":
    main()
