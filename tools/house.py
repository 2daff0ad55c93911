"""The map of the house: the picture docs/images/house.svg, and the table of rooms in CONTRIBUTING.md.

``python tools/house.py`` makes both from the layers in pyproject.toml and the first line of each room's description;
``--check`` says whether they are as they should be.
"""

from __future__ import annotations

import sys
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
PICTURE = ROOT / "docs" / "images" / "house.svg"
CORE = ROOT / "packages" / "fedbary" / "src" / "fedbary"
SATELLITES = {
    "fedbary-flower": "Flower: engine, strategies, keys and start scripts, the app",
    "fedbary-nvflare": "NVIDIA FLARE: engine, closed kits, jobs",
    "fedbary-lab": "Methods to compare with, trainings, experiments, stored tables",
}
# Characters that fit into a line of the picture.
LONGEST, LONGEST_SATELLITE = 76, 50


def layers() -> list[list[str]]:
    """The core's rooms, from the lowest layer to the highest."""
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    (core,) = (one for one in tool["importlinter"]["contracts"] if one.get("containers") == ["fedbary"])
    return [layer.split(" | ") for layer in reversed(core["layers"])]


def description(room: str) -> str:
    """The first line of a room's own docstring."""
    file = CORE / room / "__init__.py" if (CORE / room).is_dir() else CORE / f"{room}.py"
    return file.read_text(encoding="utf-8").split('"""')[1].strip().splitlines()[0]


def rooms() -> str:
    """The table: every room and what it is for."""
    lines = ["| room | what it is for |", "| --- | --- |"]
    for room in (room for layer in layers() for room in layer):
        lines.append(f"| `{room}{'/' if (CORE / room).is_dir() else '.py'}` | {description(room)} |")
    return "\n".join(lines)


def picture() -> str:
    """Four packages as boxes; in the core its floors, the lowest at the bottom, each on those below it."""
    floors: list[tuple[list[str], str]] = []
    for layer in layers():
        single_files = not any((CORE / room).is_dir() for room in layer)
        if single_files and floors and not floors[-1][1]:
            floors[-1][0].extend(layer)
        else:
            floors.append((list(layer), "" if single_files else _short(description(layer[0]))))
    top, step, left, width = 78, 30, 20, 620
    height = step * len(floors)
    parts = [_box(left, top - 42, width, height + 52, "core")]
    parts.append(_text(left + 14, top - 20, "fedbary", "name"))
    parts.append(_text(left + 84, top - 20, "the core: a floor may use those below it, never one above", "small"))
    for place, (names, says) in enumerate(reversed(floors)):
        y = top + place * step
        parts.append(_box(left + 10, y - 6, width - 20, step - 5, "floor"))
        if says:
            parts.append(_text(left + 20, y + 10, names[0], "room") + _text(left + 112, y + 10, says, "small"))
        else:
            parts.append(_text(left + 20, y + 10, " · ".join(reversed(names)), "room"))
    right, room_for = left + width + 60, height + 52
    tall = (room_for - 2 * 24) / 3
    for place, (name, says) in enumerate(SATELLITES.items()):
        roof = top - 42 + place * (tall + 24)
        parts.append(_box(right, roof, 320, tall, "satellite") + _text(right + 14, roof + 24, name, "name"))
        lines = [*_lines(says), "", *_lines(", ".join(inside(name)))]
        parts += [_text(right + 14, roof + 46 + 17 * i, line, "small") for i, line in enumerate(lines)]
        middle = roof + tall / 2
        parts.append(f'<path class="arrow" d="M{right} {middle:.0f}H{left + width + 9}"/>')
        parts.append(f'<path class="head" d="M{left + width + 2} {middle:.0f}l9 -5v10z"/>')
    parts.append(_text(right, 24, "satellites import the core, which finds them by entry points", "small"))
    whole_width, whole_height = right + 340, top + height + 30
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole_width} {whole_height}" '
        f'width="{whole_width}" height="{whole_height}" role="img" aria-labelledby="title">\n'
        '<title id="title">Four packages, and the rooms of the core from the ground up</title>\n'
        f"<style>{STYLE}</style>\n"
        f'<rect class="paper" width="{whole_width}" height="{whole_height}" rx="10"/>\n'
    ) + "\n".join([*parts, "</svg>\n"])


# It has a paper of its own, so that it reads the same on a light and on a dark page.
STYLE = (
    "text{font-family:system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#1d2b2a}"
    ".paper{fill:#fbfcfc}.core{fill:#e3f1ef;stroke:#00796b;stroke-width:1.5}.floor{fill:#fff;stroke:#9cc7c1}"
    ".satellite{fill:#f3eee3;stroke:#a1803c;stroke-width:1.5}"
    ".name{font-size:15px;font-weight:700}.room{font-size:12.5px;font-weight:600}.small{font-size:12px}"
    ".arrow{stroke:#555;stroke-width:1.5}.head{fill:#555}"
)


def page() -> str:
    """CONTRIBUTING.md with its table made anew."""
    before, start, rest = PAGE.read_text(encoding="utf-8").partition("<!-- rooms -->")
    _, end, after = rest.partition("<!-- end of rooms -->")
    return f"{before}{start}\n\n{rooms()}\n\n{end}{after}"


def inside(package: str) -> list[str]:
    """What lies in a satellite."""
    folder = ROOT / "packages" / package / "src" / package.replace("-", "_")
    found = (path for path in folder.glob("[a-z]*") if path.suffix == ".py" or any(path.glob("*.py")))
    return sorted(path.stem for path in found)


def _short(text: str) -> str:
    """The whole line where it fits, else its heading, or what follows a heading of a word or two up to a comma."""
    text = text.rstrip(".")
    head, _, tail = text.partition(": ")
    if len(text) > LONGEST:
        text = head if not tail or len(head.split()) > 2 else tail
    if len(text) > LONGEST:
        text = text[: text.rfind(",", 0, LONGEST)] if "," in text[:LONGEST] else text[: text.rfind(" ", 0, LONGEST)]
    return text[:1].upper() + text[1:]


def _lines(text: str) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) >= LONGEST_SATELLITE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _box(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="5"/>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}">{escape(text)}</text>'


if __name__ == "__main__":
    made = {PAGE: page(), PICTURE: picture()}
    if "--check" in sys.argv:
        differ = [path.name for path, text in made.items() if not path.is_file() or path.read_text("utf-8") != text]
        sys.exit(f"{', '.join(differ)}: run python tools/house.py" if differ else 0)
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
