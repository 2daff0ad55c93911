"""Time and peak memory of the interpolation protocol, N = 5, 10, 50, 100 clients × 500 rows, S = 100 and 500.

Every cell runs in a fresh process, so that peak memory is its own. Run: ``python benchmarks/scaling.py``
(``--smoke`` for a quick look). Data: Fashion-MNIST if it is on this machine, else digits; seed 0.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

from samples import ROWS, sample


def measure(clients: int, support: int, rounds: int, workers: int) -> dict[str, float | str]:
    """Run one cell in this process."""
    import fedbary as fb

    data, tables, reference = sample(clients)
    # S = 500 with 500 rows shows the server every row; it is the paper's setting, not ours.
    settings = fb.Interpolation(support=support, rounds=rounds, tolerance=0.0, allow_reconstruction=support > ROWS // 5)
    started = time.perf_counter()
    fb.value(tables, reference, protocol=settings, seed=0, engine=fb.LocalEngine(workers=workers))
    seconds = time.perf_counter() - started
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {"seconds": seconds, "peak_mib": peak / 1024, "data": data}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="four small cells only")
    parser.add_argument("--cell", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        print(json.dumps(measure(*map(int, options.cell))))
        return
    sizes, supports, rounds = ([2, 4], [20, 40], 2) if options.smoke else ([5, 10, 50, 100], [100, 500], 10)
    print(f"Interpolation protocol, {ROWS} rows a client, {rounds} rounds, two worker threads")
    largest = []
    for support in supports:
        cells = []
        ratio = f"ratio to N = {sizes[0]}"
        print(f"\n| N (S = {support}) | data | seconds | {ratio} | seconds a client | peak MiB of a process |")
        print("| --- | --- | --- | --- | --- | --- |")
        for clients in sizes:
            cell = fresh(clients, support, rounds, 2)
            cells.append(cell["seconds"])
            print(
                f"| {clients} | {cell['data']} | {cell['seconds']:.1f} | {cell['seconds'] / cells[0]:.1f} "
                f"| {cell['seconds'] / clients:.2f} | {cell['peak_mib']:.0f} |",
                flush=True,
            )
        exponent = np.polyfit(np.log(sizes), np.log(cells), 1)[0]
        print(f"\nfitted exponent in N (S = {support}): {exponent:.2f}")
        largest.append(cells[-1])
    print(f"\nN = {sizes[-1]}: S = {supports[-1]} takes {largest[-1] / largest[0]:.1f} times S = {supports[0]}")
    clients = sizes[-2]
    alone, both = (fresh(clients, supports[0], rounds, workers)["seconds"] for workers in (1, 2))
    print(f"\nN = {clients}, S = {supports[0]}: two threads take {both / alone:.2f} of the time of one")


def fresh(*cell: int) -> dict[str, float | str]:
    """Run one cell in a process of its own."""
    command = [sys.executable, __file__, "--cell", *map(str, cell)]
    return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


if __name__ == "__main__":
    main()
