"""The same federation over every engine: same numbers, seconds and bytes; then many clients, and many that fail.

Made-up patients (`engine_runs.made`, seed 0), the sketch protocol with 400 reference rows and cards without, the
settings of an owner's default policy. Run: ``python benchmarks/engines.py`` (``--smoke`` for a quick look; ``--only
NAME`` for one part: engines, scale, faults).
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np

import engine_runs as runs
from engine_runs import Case, Measured

ENGINES: dict[str, Callable[[Case], Measured]] = {
    "local": runs.local,
    "files": runs.files,
    "Flower in process": runs.flower_in_process,
    "Flower over TLS": runs.flower_over_tls,
    "Flower on Ray": runs.flower_on_ray,
    "FLARE in process": runs.flare_in_process,
    "FLARE simulator": runs.flare_simulator,
    "FLARE over TLS": runs.flare_in_deployment,
}
IN_PROCESS = ("local", "files", "Flower in process", "FLARE in process")
# FLARE's simulator has a process for each site, some 300 MB, and 100 sites at most.
SIMULATORS = ("local", "Flower in process", "Flower on Ray", "FLARE in process")
COLUMNS = {"sketch": ("distance", "quality"), "cards": ("distance", "share", "quality", "wrong_labels")}


# Ways to fail, as they are called in faults.py of fedbary-flower's tests and flare_inprocess.py of fedbary-nvflare's.
WAYS = {
    "raise": "raises",
    "silence": "vanishes",
    "NaN": "nan",
    "wrong shape": "wrong shape",
    "replay": "replays a run",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="what runs in this process, small")
    parser.add_argument("--only", choices=("engines", "scale", "faults"), help="one part")
    options = parser.parse_args()
    small = options.smoke
    with tempfile.TemporaryDirectory() as folder:
        runs.local(runs.made(Path(folder) / "first", "sketch", 3, 50))  # imports are nobody's time
        if options.only in {None, "engines"}:
            print("Three clients × 200 rows over every engine")
            compare(Path(folder), IN_PROCESS if small else tuple(ENGINES), (3,), 200)
        if options.only in {None, "scale"}:
            print("\nMany clients × 40 rows, where one machine plays them all")
            compare(Path(folder), IN_PROCESS if small else SIMULATORS, (20,) if small else (100, 500), 40)
        if options.only in {None, "faults"}:
            failing(Path(folder), 50 if small else 1000)


def compare(folder: Path, names: Sequence[str], counts: Sequence[int], rows: int) -> None:
    """The same clients over each engine, beside the local one."""
    for protocol, count in product(COLUMNS, counts):
        case = runs.made(folder / f"{protocol}-{count}", protocol, count, rows)
        title = f"{protocol}, {count} clients"
        print(f"\n| {title} | largest difference | seconds | times the local engine | kilobytes |")
        print("| --- | --- | --- | --- | --- |")
        first: Measured | None = None
        for name in names:
            found = ENGINES[name](case)
            first = first or found
            _print(name, found, first, protocol)


def _print(name: str, found: Measured, first: Measured, protocol: str) -> None:
    ours, theirs = (run.result.clients.set_index("client").sort_index() for run in (found, first))
    if ours.index.tolist() != theirs.index.tolist() or found.result.failed:
        raise SystemExit(f"{name}: other clients, or some that failed: {found.result.failed}")
    columns = list(COLUMNS[protocol])
    far = np.nanmax(np.abs(ours[columns].astype(float) - theirs[columns].astype(float)).to_numpy())
    size = "" if found.bytes is None else f"{found.bytes / 1000:.0f}"
    print(f"| {name} | {far:.0e} | {found.seconds:.1f} | {found.seconds / first.seconds:.1f} | {size} |", flush=True)


def failing(folder: Path, count: int) -> None:
    """A fifth of the clients fail in five ways; the others' numbers are those of a run without them."""
    print(f"\n{count} clients × 40 rows, a fifth of them failing in five ways")
    for protocol, network in product(COLUMNS, ("Flower in process", "FLARE in process")):
        case = runs.made(folder / f"{protocol}-failing", protocol, count, 40)
        bad = {case.names[5 * place]: way for place, way in enumerate(list(WAYS) * (count // 25))}
        found, alone = (_flower if network == "Flower in process" else _flare)(case, bad)
        healthy, columns = [name for name in case.names if name not in bad], list(COLUMNS[protocol])
        ours, theirs = (run.result.clients.set_index("client").loc[healthy, columns] for run in (found, alone))
        far = np.nanmax(np.abs(ours.astype(float) - theirs.astype(float)).to_numpy())
        named = len(found.result.failed)
        print(f"\n{network}, {protocol}: {named} named as failed, the others differ by {far:.0e} at most")
        print("\n| fault | clients | what the result says |\n| --- | --- | --- |")
        for way in WAYS:
            names = [name for name, own in bad.items() if own == way]
            said = Counter(found.result.outcomes[name].text for name in names)
            print(f"| {way} | {len(names)} | {'; '.join(f'{text} ({times})' for text, times in said.items())} |")


def _flower(case: Case, bad: Mapping[str, str]) -> tuple[Measured, Measured]:
    from faults import FAULTS

    faults = {100 + case.names.index(name): FAULTS[way] for name, way in bad.items()}
    healthy = ",".join(name for name in case.names if name not in bad)
    return runs.flower_in_process(case, faults, timeout=2.0), runs.flower_in_process(case, nodes=healthy)


def _flare(case: Case, bad: Mapping[str, str]) -> tuple[Measured, Measured]:
    from flare_inprocess import Misbehaving

    sites = {name: Misbehaving(WAYS[way]) for name, way in bad.items()}
    healthy = ",".join(name for name in case.names if name not in bad)
    return runs.flare_in_process(case, sites), runs.flare_in_process(case, nodes=healthy)


if __name__ == "__main__":
    main()
