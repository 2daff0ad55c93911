"""Before and after: the same work by an older revision and by this tree, one after the other on this machine.

``python benchmarks/before_after.py --base REVISION`` (``--smoke`` for a quick look). The older revision is checked out
into a temporary folder and used by the same Python, so both have the same NumPy. Seconds are wall clock on an otherwise
idle machine, with processor seconds beside them; — where the older one did not end within ``--patience`` seconds.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from performance_page import place
from workloads import Took, measured

HERE = Path(__file__).resolve().parent.parent
WORK = (
    ("one client, 1,000 × 128, sketch", "in-memory", "sketch", "1000"),
    ("one client, 10,000 × 128, sketch", "in-memory", "sketch", "10000"),
    ("one client, 20,000 × 128, sketch", "in-memory", "sketch", "20000"),
    ("one client, 50,000 × 128, sketch", "in-memory", "sketch", "50000"),
    ("one client, 20,000 × 32, regression", "in-memory", "sketch", "20000", "32", "0"),
    ("one client, 100,000 × 128, cards", "in-memory", "cards", "100000"),
    ("1,000 clients × 500 × 64, sketch", "many-clients", "sketch", "1000"),
    ("300 clients × 500 × 64, cards", "many-clients", "cards", "300"),
    ("scoring model, 2,000 × 512", "scoring-fit", "2000", "512"),
    ("scoring model, 1,000 × 784", "scoring-fit", "1000", "784"),
    ("interpolation, 20 clients × 500, reference", "interpolation", "20"),
    ("interpolation, 20 clients × 500, barycenter", "interpolation", "20", "500", "100", "0"),
    ("`fedbary --help`", "command", "--help"),
    ("`fedbary demo`", "command", "demo"),
)
SMOKE = (
    ("one client, 1,000 × 16, sketch", "in-memory", "sketch", "1000", "16"),
    ("`fedbary --help`", "command", "--help"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", default="43b8524", help="the older revision (default: the last before issue 19)")
    parser.add_argument("--patience", type=float, default=300.0, help="seconds that a piece of work may take")
    parser.add_argument("--smoke", action="store_true", help="two small pieces of work only")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    lines = ["| work | before, s (processor) | after, s (processor) | times faster | peak MiB before → after |"]
    lines.append("| --- | --- | --- | --- | --- |")
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "base"
        git("worktree", "add", "--detach", "--quiet", str(base), options.base)
        try:
            for title, *work in SMOKE if options.smoke else WORK:
                before, after = (
                    measured(*work, source=sources(tree), patience=options.patience) for tree in (base, HERE)
                )
                lines.append(line(title, before, after))
                print(lines[-1], flush=True)
        finally:
            git("worktree", "remove", "--force", str(base))
    if options.write:
        place("before-after", "\n".join(lines))


def line(title: str, before: Took | None, after: Took | None) -> str:
    """One line of the table."""
    times = f"{before['wall'] / after['wall']:.1f}" if before and after else "—"
    memory = " → ".join("—" if took is None else f"{took['peak_mib']:,.0f}" for took in (before, after))
    return f"| {title} | {seconds(before)} | {seconds(after)} | {times} | {memory} |"


def seconds(took: Took | None) -> str:
    """Wall clock and processor time."""
    return "—" if took is None else f"{took['wall']:.2f} ({took['cpu']:.2f})"


def sources(tree: Path) -> Path:
    """Where a revision keeps the core: since the repository has four packages, in one of them."""
    return next(place for place in (tree / "packages" / "fedbary" / "src", tree / "src") if place.is_dir())


def git(*words: str) -> None:
    subprocess.run(["git", "-C", str(HERE), *words], check=True)


if __name__ == "__main__":
    main()
