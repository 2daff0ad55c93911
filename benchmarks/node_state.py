"""What simulated nodes leave on the disk when a run is over, by kind of file.

500 clients × 15 rows of Fashion-MNIST (else 20 of digits), the sketch protocol, all in this process: the answering side
and its files are those of every network. Run: ``python benchmarks/node_state.py`` (``--smoke`` for a quick look,
``--protocol cards`` for another one).
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import fedbary as fb
from fedbary.engines.coordinator import RunConfig, valued
from fedbary.engines.networked import NetworkedEngine, OnAnswer
from fedbary.engines.packed import Packed, answered
from fedbary.errors import DatasetUnavailable
from fedbary.guard.node_config import NodeConfig


class OneProcess(NetworkedEngine):
    """A network of simulated nodes without any carrier."""

    name: ClassVar[str] = "one process"

    def __init__(self, run: RunConfig, state: Path) -> None:
        options = {"patience": run.patience, "simulation": run.simulation}
        super().__init__(run.attendance, folder=run.output, **options)
        self._state, self._count = state, run.attendance.wanted or 1

    def online(self) -> Mapping[str, str]:
        """All of them."""
        return {str(node): "" for node in range(1, self._count + 1)}

    def deliver(self, messages: Mapping[str, Packed], on_answer: OnAnswer) -> None:
        """One after the other."""
        for node, message in messages.items():
            on_answer(node, answered(lambda message=message: message, lambda node=node: self._config(int(node))))

    def _config(self, node: int) -> NodeConfig:
        simulated = {"partition-id": node - 1, "num-partitions": self._count, "state-path": str(self._state)}
        return NodeConfig.of(simulated, node)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="twenty clients of digits")
    parser.add_argument("--protocol", default="sketch")
    given = parser.parse_args()
    dataset, clients = ("digits", 20) if given.smoke else ("fashion-mnist", 500)
    try:
        fb.datasets.load(dataset)
    except DatasetUnavailable:
        dataset, clients = "digits", 20
    options = {"lower": "triangle"} if given.protocol == "sketch" else {}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        config = {"dataset": dataset, "partition": "same", "clients": clients, "rows": 15, "output": str(home / "out")}
        run = RunConfig.of(config | {"protocol": given.protocol} | options)
        result = valued(OneProcess(run, home / "state"), run)
        sizes: Counter[str] = Counter()
        for file in (home / "state").rglob("*"):
            sizes[file.name] += file.stat().st_size if file.is_file() else 0
    print(f"{dataset}, {clients} clients × 15 rows, {given.protocol}, {len(result.failed)} failed\n")
    print("| file | MB of all clients |\n| --- | --- |")
    for name, size in sizes.most_common():
        if size:
            print(f"| `{name}` | {size / 1e6:.1f} |")
    print(f"| together | {sizes.total() / 1e6:.1f} |")


if __name__ == "__main__":
    main()
