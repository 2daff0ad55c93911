"""Seeded runs whose numbers are frozen: every protocol through Python and the command line, and other methods.

That a Flower grid gives the same numbers is a test of its own.

``python tests/integration/frozen_runs.py`` writes ``frozen_numbers.json`` anew. A change that means to move a number
writes the file in the same commit and says why; any other change that moves one is a mistake.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")
os.environ.setdefault("FEDBARY_OFFLINE", "1")

import numpy as np
import pandas as pd

import fedbary as fb

NUMBERS = Path(__file__).with_name("frozen_numbers.json")
HOSPITALS = Path(__file__).parents[2] / "examples" / "hospitals"


def of_result(result: fb.Valuation) -> dict[str, Any]:
    """Every number of a valuation: clients, row values in sums that any change of a row moves, Shapley values."""
    found: dict[str, Any] = {"failed": sorted(result.failed)}
    for column in result.clients.select_dtypes("number"):
        found[f"clients.{column}"] = _numbers(result.clients[column])
    found["history.estimate"] = _sums(result.history["estimate"])
    for name, scored in (result.row_tables or {}).items():
        frame = scored.frame
        for column in frame.select_dtypes("number"):
            if column != "row":
                found[f"rows.{name}.{column}"] = _sums(frame[column])
        found[f"rows.{name}.flag"] = _sums(frame["flag"].astype("Float64"))
        found[f"rows.{name}.reasons"] = frame["reason"].value_counts().sort_index().astype(int).to_dict()
        found[f"rows.{name}.suggested"] = frame["suggested_label"].value_counts().sort_index().astype(int).to_dict()
    if result.scores is not None:
        found["scores"] = _numbers(result.scores.values)
    return found


@cache
def _five() -> tuple[dict[str, Any], fb.Table]:
    """Five clients of digits, among them flipped labels, noise and a table that cannot be used."""
    digits = fb.datasets.load("digits")
    parts = fb.partitions.dirichlet(digits.train, 5, 1.0, rows=90, seed=1).clients
    flipped, _ = fb.corruptions.flip_labels(parts["client_2"], 0.3, seed=2)
    noisy, _ = fb.corruptions.add_noise(parts["client_3"], 0.4, seed=3)
    unusable = pd.DataFrame({"x": ["a b"] * 8, "label": [0, 1] * 4})
    return parts | {"client_2": flipped, "client_3": noisy, "broken": unusable}, digits.test


@cache
def _mixed() -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Numbers, categories and a class label of text."""
    rng = np.random.default_rng(5)
    frames = {}
    for name, rows in (("a", 120), ("b", 80), ("c", 60), ("reference", 300)):
        label = rng.choice(["ill", "well"], rows)
        frames[name] = pd.DataFrame(
            {
                "age": rng.normal(50, 9, rows) + 8 * (label == "ill"),
                "income": np.exp(rng.normal(8, 1, rows)),
                "ward": rng.choice(["north", "south", "west"], rows, p=[0.5, 0.3, 0.2]),
                "label": label,
            }
        )
    return {name: frames[name] for name in "abc"}, frames["reference"]


@cache
def _numbers_as_labels() -> tuple[dict[str, fb.Table], fb.Table]:
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    parts = [fb.Table.from_arrays(X[start::4], y[start::4]) for start in range(4)]
    return {"a": parts[0], "b": parts[1], "c": parts[2]}, parts[3]


def _valued(clients: Any, reference: Any = None, **options: Any) -> dict[str, Any]:
    return of_result(fb.value(clients, reference, seed=7, **options))


def _command(*arguments: str) -> dict[str, Any]:
    """What a command wrote to its folder."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-P", "-m", "fedbary", *arguments, "-o", folder]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode not in (0, 3):
            raise RuntimeError(ended.stderr)
        return of_result(fb.Valuation.load(folder))


def _hospitals(*more: str) -> dict[str, Any]:
    files = [str(HOSPITALS / f"hospital_{name}.parquet") for name in ("north", "south", "west")]
    return _command("value", *files, "--label", "diagnosis", "--id", "patient", "--seed", "3", *more)


def _client_methods() -> dict[str, Any]:
    clients, reference = _five()
    usable = {name: table for name, table in clients.items() if name != "broken"}
    methods = ["exactfed", "loo", "mr", "or", "tmr", "gtg", "fedshapley", "cgsv", "shapfed", "fedce", "sketch"]
    scores = fb.compare_clients(usable, reference, methods=methods, seed=7).scores
    return {name: _numbers(found.values) for name, found in scores.items()}


def _row_methods() -> dict[str, Any]:
    clients, reference = _five()
    chosen = {"client_2": clients["client_2"]}
    methods = ["knn-shapley", "lava", "logistic", "cleanlab", "sketch", "interpolation"]
    compared = fb.compare_rows(chosen, reference, methods=methods, seed=7)
    return {str(name): _sums(frame["value"]) for name, frame in compared.to_frame().groupby("method")}


RUNS: dict[str, Callable[[], dict[str, Any]]] = {
    "sketch": lambda: _valued(*_five(), protocol="sketch"),
    "sketch coarsen": lambda: _valued(*_five(), protocol=fb.Sketch(policy="coarsen")),
    "sketch sign": lambda: _valued(*_five(), protocol="sketch", rule="sign"),
    "sketch euclidean": lambda: _valued(*_five(), protocol="sketch", space=fb.Space(metric="euclidean", projection=16)),
    "sketch mixed columns": lambda: _valued(*_mixed(), protocol="sketch"),
    "sketch regression": lambda: _valued(*_numbers_as_labels(), protocol="sketch"),
    "cards": lambda: _valued(_five()[0]),
    "cards mixed columns": lambda: _valued(_mixed()[0]),
    "cards with reference": lambda: _valued(*_five(), protocol=fb.Cards(worth=True)),
    "interpolation": lambda: _valued(*_five(), protocol="interpolation"),
    "interpolation without reference": lambda: _valued(_five()[0], protocol="interpolation"),
    "interpolation exact": lambda: _valued(
        *_mixed(), protocol=fb.Interpolation(support=20, rounds=3, interpolation="exact", allow_reconstruction=True)
    ),
    "triangle": lambda: _valued(*_five(), protocol="triangle"),
    "command value": lambda: _hospitals("--reference", str(HOSPITALS / "validation.parquet")),
    "command value without reference": _hospitals,
    "command demo": lambda: _command("demo"),
    "client methods": _client_methods,
    "row methods": _row_methods,
}


def _numbers(values: Any) -> list[float | None]:
    return [None if pd.isna(value) else float(value) for value in values]


def _sums(values: Any) -> list[float]:
    """Count, sum, and a weighted sum that a changed order moves."""
    known = pd.Series(values).dropna().to_numpy(dtype=float)
    return [float(len(known)), float(known.sum()), float(known @ np.cos(np.arange(len(known))))]


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(RUNS)
    stored = json.loads(NUMBERS.read_text()) if NUMBERS.is_file() else {}
    for name in chosen:
        stored[name] = RUNS[name]()
        sys.stdout.write(f"{name}\n")
    NUMBERS.write_text(json.dumps({name: stored[name] for name in RUNS if name in stored}, indent=1) + "\n")
