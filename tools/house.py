"""The map of the house in CONTRIBUTING.md: what each room is for, and the way of one call through them.

``python tools/house.py`` writes both between their marks; ``--check`` says whether they are as they should be.
"""

from __future__ import annotations

import sys
import threading
import tomllib
from pathlib import Path
from types import FrameType
from typing import Any

from hops import NOT_A_HOP, OURS, value_in_python

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
DEEPEST = 5


def rooms() -> str:
    """Packages from the lowest layer to the highest, each with the first line of its own description."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    lines = ["| room | what it is for |", "| --- | --- |"]
    for name in (room for layer in reversed(contracts[0]["layers"]) for room in layer.split(" | ")):
        place = Path(OURS) / name
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        words = file.read_text(encoding="utf-8").split('"""')[1].strip().splitlines()[0]
        lines.append(f"| `{name}{'/' if place.is_dir() else '.py'}` | {words} |")
    return "\n".join(lines)


def way() -> str:
    """Which files `fb.value` with a reference passes, in order, each the first time and as deep as a reader follows."""
    call = value_in_python()
    call()
    stack: list[str] = []
    lines: list[str] = []
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(OURS) or code.co_name in NOT_A_HOP:
            return
        place = f"{Path(code.co_filename).relative_to(OURS)}:{code.co_qualname}"
        if event == "call":
            crossed = not stack or stack[-1].partition(":")[0] != place.partition(":")[0]
            files = [one.partition(":")[0] for one in stack]
            depth = sum(one != other for one, other in zip(files, ["", *files], strict=False))
            if crossed and depth < DEEPEST and place not in seen:
                seen.add(place)
                lines.append("    " * depth + place.replace(":", "  "))
            stack.append(place)
        elif event == "return" and stack:
            stack.pop()

    threading.setprofile(None)  # type: ignore[arg-type]
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return "```text\n" + "\n".join(lines) + "\n```"


def page() -> str:
    """CONTRIBUTING.md with both parts made anew."""
    text = PAGE.read_text(encoding="utf-8")
    for mark, made in (("rooms", rooms()), ("way", way())):
        start, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
        before, _, rest = text.partition(start)
        text = f"{before}{start}\n\n{made}\n\n{end}{rest.partition(end)[2]}"
    return text


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(page() != PAGE.read_text(encoding="utf-8") and "CONTRIBUTING.md: run python tools/house.py")
    PAGE.write_text(page(), encoding="utf-8")
