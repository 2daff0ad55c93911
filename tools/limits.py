"""How large the core may be: lines and files of each room, hops of a call, names that have several homes.

``python tools/limits.py`` prints what is there beside ``tests/limits.toml``; ``--lower`` writes every limit that fell.
Raising one is done by hand, with its reason as a comment on its line.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = ROOT / "packages" / "fedbary" / "src" / "fedbary"
LIMITS = ROOT / "tests" / "limits.toml"
# Limits of lines are multiples of this, so that mending something needs no reason.
_STEP = 50


def measured() -> dict[str, dict[str, int]]:
    """Lines and files by room, the modules of the top floor as one; and public names that several modules define."""
    lines: dict[str, int] = defaultdict(int)
    files: dict[str, int] = defaultdict(int)
    homes: dict[str, set[Path]] = defaultdict(set)
    for path in CORE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        inside = path.relative_to(CORE).parts
        for room in ("core", inside[0] if len(inside) > 1 else "top"):
            lines[room] += text.count("\n")
            files[room] += 1
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(path)
    several = sum(len(where) > 1 for where in homes.values())
    return {"lines": dict(sorted(lines.items())), "files": dict(sorted(files.items())), "names": {"several": several}}


def hops() -> dict[str, int]:
    """Functions and files that ``fb.value`` enters, see ``tools/hops.py``."""
    from hops import entered, value_in_python

    met = entered(value_in_python())
    return {"functions": len(met), "files": len({one.partition(":")[0] for one in met})}


def limits() -> dict[str, dict[str, int]]:
    """What is allowed."""
    return tomllib.loads(LIMITS.read_text(encoding="utf-8"))


def broken(found: dict[str, dict[str, int]]) -> list[str]:
    """What is larger than allowed, or has no limit, in words."""
    allowed = limits()
    return [
        f"{kind} of {name}: {value}, allowed {allowed.get(kind, {}).get(name, 'nothing')}"
        for kind, values in found.items()
        for name, value in values.items()
        if value > allowed.get(kind, {}).get(name, -1)
    ]


def lowered(text: str, found: dict[str, dict[str, int]]) -> str:
    """The file of limits with those that fell."""
    kind, lines = "", []
    for line in text.splitlines():
        if heading := re.fullmatch(r"\[(\w+)\]", line):
            kind = heading[1]
        if entry := re.match(r"(\w+) = (\d+)", line):
            now = found.get(kind, {}).get(entry[1], int(entry[2]))
            now = min(int(entry[2]), -(-now // _STEP) * _STEP if kind == "lines" else now)
            lines.append(f"{entry[1]} = {now}{line[entry.end() :]}")
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    now = {**measured(), "hops": hops()}
    for kind, values in now.items():
        for name, value in values.items():
            sys.stdout.write(f"{kind:6} {name:12} {value:7,} {limits().get(kind, {}).get(name, 0):7,}\n")
    if "--lower" in sys.argv:
        LIMITS.write_text(lowered(LIMITS.read_text(encoding="utf-8"), now), encoding="utf-8")
    sys.exit(bool(broken(now)))
