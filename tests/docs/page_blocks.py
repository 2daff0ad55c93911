"""Fenced blocks of the pages, and which of them are run.

The convention, for README.md and docs/**/*.md:

- ``bash`` and ``python`` blocks are run, in the order of the page, in a folder of the page's own. It holds the data of
  the tutorial: ``examples/hospitals``, and the same tables without ids as ``sites/hospital_a.parquet`` (south), ``_b``
  (north), ``_c`` (west), ``validation.parquet``, ``test.parquet``, ``mine.parquet`` and ``mine.csv`` (south), and
  ``like-theirs.parquet`` (validation), and ``all.csv``, the rows of all sites with a column ``site``.
- Every ``bash`` block starts in that folder, in a shell of its own, or in this process where it has no more
  than simple commands (shell.py). Lines that begin with ``make`` are not run; their targets must exist.
- ``python`` blocks of a page share their names. ``fb``, ``clients``, ``reference`` and ``test`` are there at the start.
- ``<!-- not run: REASON -->`` on the line above keeps a block from being run.
- ``<!-- output -->`` on the line above a ``text`` block: it shows what the block before printed. Its lines
  were printed in this order, perhaps with others between; words must be the same, numbers may differ by 2 %.
- All other blocks (``text``, ``toml``, …) are shown only. Each has a language.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUN = ("bash", "python")
SHOWN = ("text", "json", "toml", "yaml", "csv", "html")
# Pages whose blocks another test runs: the walks through a federation, and the examples, which are scripts.
ELSEWHERE = ("docs/flower.md", "docs/nvflare.md", "docs/gallery/")

_BLOCK = re.compile(
    r"^(?:<!-- (?P<note>not run: [^\n]+|output) -->\n)?```(?P<language>[^\n`]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, the line it starts in, its language, the comment above it and what it holds."""

    page: Path
    line: int
    language: str
    note: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def is_run(self) -> bool:
        return self.language in RUN and not self.note

    @property
    def is_output(self) -> bool:
        return self.note == "output"


def pages() -> list[Path]:
    """All pages, README first; what tools/pages.py makes them from is none."""
    return [ROOT / "README.md", *(page for page in sorted(ROOT.glob("docs/**/*.md")) if page.parent.name != "sources")]


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        language = found["language"].strip()
        # The README may leave the language of its commands out.
        if page.name == "README.md" and not language:
            language = "bash"
        line = text.count("\n", 0, found.start("text"))
        yield Block(page, line, language, (found["note"] or "").strip(), found["text"])


def is_run_elsewhere(page: Path) -> bool:
    return str(page.relative_to(ROOT)).startswith(ELSEWHERE)
