"""How far a reader has to walk: distinct functions and files of ours that one seeded call enters.

``python tools/hops.py`` prints a table; ``--list NAME`` the functions of one call, in the order in which they are met.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")

import fedbary as fb

PACKAGES = str(Path(__file__).parents[1] / "packages")
HOSPITALS = Path(__file__).parents[1] / "examples" / "hospitals"
# No hop for a reader: generated, or part of the expression that it stands in.
NOT_A_HOP = {"<module>", "<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>"}


def entered(call: Callable[[], object]) -> list[str]:
    """Functions of ours that a call enters, each once, as ``file:name``."""
    met: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGES) and code.co_name not in NOT_A_HOP:
            met[code] = None

    with contextlib.redirect_stdout(io.StringIO()):
        call()  # imports, whose class bodies are no hops
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    names = (f"{code.co_filename.partition('/src/')[2]}:{code.co_qualname}" for code in met)
    return list(dict.fromkeys(name for name in names if not name.endswith("<locals>")))


def value_in_python() -> Callable[[], object]:
    """`fb.value` with a reference: the sketch protocol."""
    digits = fb.datasets.load("digits")
    parts = fb.partitions.by_size(digits.train, [60, 60], seed=0).clients
    return lambda: fb.value(parts, digits.test, seed=0, engine=fb.LocalEngine(workers=1))


def value_on_the_command_line() -> Callable[[], object]:
    """`fedbary value` on the three hospitals."""
    from fedbary.cli import main

    files = [str(HOSPITALS / f"hospital_{name}.parquet") for name in ("north", "south", "west")]
    reference = ["--reference", str(HOSPITALS / "validation.parquet")]
    folder = tempfile.mkdtemp()
    line = ["value", *files, "--label", "diagnosis", "--id", "patient", *reference, "--seed", "0", "-o", folder]

    def call() -> None:
        with contextlib.suppress(SystemExit):
            main(line)

    return call


def answer_over_flower() -> Callable[[], object]:
    """What a guarded Flower node does with the sketch protocol's one message, row values and report included."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "packages" / "fedbary-flower" / "tests"))
    from fedbary.engines.coordinator import RunConfig
    from fedbary_flower.client_app import app
    from fedbary_flower.server_app import valued
    from inprocess import InProcessGrid

    folder = Path(tempfile.mkdtemp())
    node = {
        "data-path": str(HOSPITALS / "hospital_north.parquet"),
        "label": "diagnosis",
        "id": "patient",
        "state-path": str(folder),
    }
    run = {"reference": str(HOSPITALS / "validation.parquet"), "label": "diagnosis", "id": "patient", "num-nodes": 1}
    questions: list[Any] = []

    def kept(_: Any, honest: Callable[[], Any]) -> Any:
        questions.append(honest)
        return honest()

    grid = InProcessGrid(app, {7: node}, {7: kept})
    valued(grid, RunConfig.of({**run, "output": str(folder / "out")}))

    def call() -> object:
        for memory in (*folder.glob("**/state.npz"), *folder.glob("**/ledger.jsonl")):
            memory.unlink()  # so that the question is a new one
        return questions[0]()

    return call


CALLS = {
    "fb.value": value_in_python,
    "fedbary value": value_on_the_command_line,
    "Flower answer": answer_over_flower,
}


def main() -> None:
    """Print functions and files for every call."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", choices=CALLS)
    chosen = parser.parse_args().list
    if chosen:
        sys.stdout.write("\n".join(entered(CALLS[chosen]())) + "\n")
        return
    sys.stdout.write("| call | functions | files |\n| --- | ---: | ---: |\n")
    for name, made in CALLS.items():
        hops = entered(made())
        sys.stdout.write(f"| {name} | {len(hops)} | {len({hop.partition(':')[0] for hop in hops})} |\n")


if __name__ == "__main__":
    main()
