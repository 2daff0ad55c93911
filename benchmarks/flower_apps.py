"""Flower apps that train with all nodes, and with those that a valuation includes: accuracy on the server's test rows.

Run: ``python benchmarks/flower_apps.py`` (``--smoke`` for one seed, ``--app`` for one app, ``--plain`` for the lines
that differ). The apps are those of ``examples``, whole, on a grid in this process; their plain versions are the same
files without the lines marked ``# fedbary``.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import logging
import os
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY / "packages" / "fedbary-flower" / "tests"))
APPS = {"sklearn": "sklearn_app", "pytorch": "pytorch_app"}
STRATEGIES = ("FedAvg", "FedProx", "FedAdam")
MARK = "# fedbary"
NODES = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="one seed")
    parser.add_argument("--app", choices=APPS, help="one of the apps")
    parser.add_argument("--plain", action="store_true", help="print the lines that an app has for FedBary")
    options = parser.parse_args()
    import flwr.serverapp  # noqa: F401 - sets up its log, which would drown the table

    logging.getLogger("flwr").setLevel(logging.ERROR)
    seeds = range(1) if options.smoke else range(1, 6)  # parameters were chosen on seed 0
    print(f"{NODES} nodes, most labels of 4 wrong, 10 rounds, {len(seeds)} seeds; mean accuracy (lowest)")
    print("\n| app | strategy | all nodes | nodes that the verdict includes | difference, lowest |")
    print("| --- | --- | --- | --- | --- |")
    for app in [options.app] if options.app else APPS:
        if options.plain:
            print("\n".join(marked_lines(app)), file=sys.stderr)
        for strategy in STRATEGIES:
            before, after = (
                np.array([accuracy(app, strategy, seed, with_fedbary=chosen) for seed in seeds])
                for chosen in (False, True)
            )
            shown = " | ".join(f"{values.mean():.3f} ({values.min():.3f})" for values in (before, after))
            print(f"| {app} | {strategy} | {shown} | {(after - before).min():+.3f} |", flush=True)


def marked_lines(app: str) -> list[str]:
    """The lines that an app has because of FedBary."""
    folder = REPOSITORY / "examples" / f"flower-{app}" / APPS[app]
    return [line for file in sorted(folder.glob("*.py")) for line in file.read_text().splitlines() if MARK in line]


def plain_copy(app: str, folder: Path) -> Path:
    """The app without FedBary."""
    copy = shutil.copytree(REPOSITORY / "examples" / f"flower-{app}", folder / f"plain-{app}")
    for file in copy.rglob("*.py"):
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(line for line in lines if MARK not in line))
    return copy


def accuracy(app: str, strategy: str, seed: int, *, with_fedbary: bool) -> float:
    """The accuracy that an app ends with, on a grid in this process."""
    from flwr.app import Context, RecordDict

    from inprocess import InProcessGrid

    with tempfile.TemporaryDirectory() as temporary, contextlib.redirect_stdout(io.StringIO()):
        folder = Path(temporary)
        os.environ["FEDBARY_STATE"] = str(folder / "state")
        home = REPOSITORY / "examples" / f"flower-{app}" if with_fedbary else plain_copy(app, folder)
        config = tomllib.loads((home / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
        config |= {"strategy": strategy, "seed": seed, "output": temporary}
        nodes = {100 + i: {"partition-id": i, "num-partitions": NODES, "report": False} for i in range(NODES)}
        with _importable(home, APPS[app]):
            client, server = (importlib.import_module(f"{APPS[app]}.{side}_app").app for side in ("client", "server"))
            server(InProcessGrid(client, nodes, run_config=config), Context(1, 0, {}, RecordDict(), config))
        return float(json.loads((folder / "accuracy.json").read_text())["accuracy"])


@contextlib.contextmanager
def _importable(home: Path, package: str):
    sys.path.insert(0, str(home))
    try:
        yield
    finally:
        sys.path.remove(str(home))
        for name in [name for name in sys.modules if name.split(".")[0] == package]:
            del sys.modules[name]


if __name__ == "__main__":
    main()
