"""Tables that commands put into docs/performance.md, so that no number there is typed by hand."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"


def place(name: str, text: str) -> None:
    """Put a text between the marks of that name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(begin)
    PAGE.write_text(f"{before}{begin}\n{text.strip()}\n\n{end}{rest.split(end)[1]}", encoding="utf-8")
