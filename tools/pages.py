"""Make the pages of results from stored tables, so that no number on them is typed by hand.

``python tools/pages.py`` writes

- docs/results/NAME.md, the whole table of each experiment, from docs/results/stored/NAME;
- docs/results.md and docs/paper.md, from docs/sources;
- how long each took, for `fedbary reproduce --list`;
- what stands between ``<!-- from docs/sources/X.md -->`` and ``<!-- end -->`` in README.md and docs.

Sources are Markdown in which ``{{ experiment.fact:.3f }}`` stands for a number that the experiment's ``facts(table)``
returns (``cells``, ``seeds`` and ``minutes`` are known of each), ``{{ paper.key }}`` for one that the paper prints. As
long as a table has not been stored, its page and its blocks keep what they said, and its section of a page says so;
a section that quotes several tables has dashes in place of the missing numbers.
``{{ tables }}`` stands for the list of all tables, which is in the navigation of mkdocs.yml, too.

``--check`` says what differs and writes nothing. ``--store FOLDER ...`` first takes over finished experiments, and
``--commit`` names the code where the machine that computed them had no repository. ``--pictures`` also draws
docs/images again.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")

from fedbary_lab.experiments import EXPERIMENTS, Experiment, find, stored
from fedbary_lab.experiments.paper import SAYS
from fedbary_lab.experiments.stored import Provenance
from result_pictures import PICTURES

if TYPE_CHECKING:
    import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("results", "paper")
LARGEST = 1_000_000
WIDTH = 120
PLACEHOLDER = re.compile(r"\{\{\s*([\w-]+)\.(\w+)\s*(?::([^}\s]*))?\s*\}\}")
BLOCK = re.compile(r"(<!-- from docs/sources/([\w-]+)\.md -->\n)(.*?)(<!-- end -->)", re.DOTALL)
NAVIGATION = re.compile(r"(( +)# Tables, by tools/pages.py\n)(?: +- results/[\w-]+\.md\n)*( +# End of tables)")
# In sources, decimals are typed only as settings: α = 0.1.
DECIMAL = re.compile(r"(?<![\w.])(?<![αεδλtqp] [=≥≤<>] )\d+\.\d+(?![\w.]*\.\d)")
NOT_PROSE = re.compile(
    r"\{\{.*?\}\}|^```.*?^```$|`[^`\n]*`|\]\([^)\s]*\)|<!--.*?-->|\b\d+\.\d+\.\d+[\w.]*", re.DOTALL | re.MULTILINE
)


class PageError(Exception):
    """A source names what is not there, or types what should come from a table."""


class NotStoredError(PageError):
    """A table has not been computed yet."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the table of {name} has not been stored yet")
        self.name = name


@dataclass(frozen=True)
class Site:
    """The pages of a repository."""

    root: Path = ROOT

    @property
    def docs(self) -> Path:
        return self.root / "docs"

    def stored(self, name: str) -> Path:
        return self.docs / "results" / "stored" / name

    @cached_property
    def tables(self) -> dict[str, tuple[pd.DataFrame, Provenance]]:
        """Stored tables by experiment."""
        return {
            experiment.name: stored.read(folder)
            for experiment in EXPERIMENTS
            if (folder := self.stored(experiment.name)).is_dir()
        }

    @cached_property
    def facts(self) -> dict[str, dict[str, float]]:
        """The numbers that sources may quote, by experiment."""
        known: dict[str, dict[str, float]] = {"paper": dict(SAYS)}
        for name, (table, provenance) in self.tables.items():
            run = {"cells": provenance.cells, "seeds": provenance.seeds, "minutes": provenance.minutes}
            known[name] = run | find(name).facts(table)
        return known

    def made(self) -> dict[Path, str]:
        """Every page and what it should say; what cannot be made yet is left as it is."""
        pages = {
            self.docs / "results" / f"{name}.md": result_page(find(name), *self.tables[name]) for name in self.tables
        }
        for name in PAGES:
            if (source := self.docs / "sources" / f"{name}.md").is_file():
                pages[self.docs / f"{name}.md"] = self.page(source)
        for page in self._with_blocks():
            text = pages.get(page) or page.read_text(encoding="utf-8")
            pages[page] = BLOCK.sub(lambda found: found[1] + self.block(found[2], found[3]) + found[4], text)
        if (navigation := self.root / "mkdocs.yml").is_file():
            shown = self.shown(pages)
            pages[navigation] = NAVIGATION.sub(
                lambda found: found[1] + "".join(f"{found[2]}- results/{name}.md\n" for name in shown) + found[3],
                navigation.read_text(encoding="utf-8"),
            )
        took = "".join(f"{name},{provenance.minutes:.1f}\n" for name, (_, provenance) in self.tables.items())
        pages[self.root / stored.MINUTES.relative_to(ROOT)] = f"experiment,minutes\n{took}"
        return pages

    def shown(self, pages: Collection[Path] = ()) -> list[str]:
        """Experiments that have a page, or get one."""
        folder = self.docs / "results"
        return [
            experiment.name
            for experiment in EXPERIMENTS
            if (page := folder / f"{experiment.name}.md") in pages or experiment.name in self.tables or page.is_file()
        ]

    def all_tables(self) -> str:
        """Every experiment with a page, what it shows, and how long it took."""
        lines = ["| table | what it shows | minutes of one core |", "| --- | --- | --- |"]
        for name in self.shown():
            minutes = f"{self.tables[name][1].minutes:.0f}" if name in self.tables else "–"
            lines.append(f"| [{name}](results/{name}.md) | {find(name).shows} | {minutes} |")
        return "\n".join(lines)

    def page(self, source: Path) -> str:
        """A whole page; a section whose table has not been stored says only that."""
        parts = re.split(r"^(?=## )", self._read(source), flags=re.MULTILINE)
        made = wrapped("".join(self._section(part, source) for part in parts))
        return f"{made.rstrip()}\n\n<!-- made by tools/pages.py from docs/sources/{source.name} -->\n"

    def block(self, name: str, before: str) -> str:
        """What stands between the marks of a page."""
        source = self.docs / "sources" / f"{name}.md"
        if not source.is_file():
            raise PageError(f"there is no docs/sources/{name}.md")
        text = self._read(source)
        made = wrapped(self.filled(text, source)).strip()
        return before if self.not_stored(text) else f"\n{made}\n\n"

    def filled(self, text: str, source: Path) -> str:
        """The text with numbers in place of what names them; a dash for each whose table has not been stored."""

        def number(found: re.Match[str]) -> str:
            if found[1] not in self.facts:
                return "–"
            said = format(self.facts[found[1]][found[2]], found[3] or "g")
            return said.replace("-", "−").replace("%", " %")

        if problems := [problem for found in PLACEHOLDER.finditer(text) if (problem := self._problem(found))]:
            raise PageError("\n".join(f"docs/sources/{source.name}: {problem}" for problem in problems))
        made = PLACEHOLDER.sub(number, text.replace("{{ tables }}", self.all_tables()))
        if unknown := re.search(r"\{\{.*?\}\}|\{\{", made):
            raise PageError(f"docs/sources/{source.name}: {unknown[0]} is not {{{{ experiment.fact:.3f }}}}")
        return made

    def _problem(self, found: re.Match[str]) -> str:
        """What is wrong with a placeholder; a table that has not been stored is no problem yet."""
        name, fact, shape = found[1], found[2], found[3] or "g"
        if name not in self.facts:
            known = name in {experiment.name for experiment in EXPERIMENTS}
            return "" if known else f"there is no experiment {name!r} ({found[0]})"
        if fact not in self.facts[name]:
            return f"{name} has no fact {fact!r} ({found[0]})"
        try:
            format(self.facts[name][fact], shape)
        except ValueError as error:
            return f"{found[0]}: {error}"
        return ""

    def not_stored(self, text: str) -> list[str]:
        """Experiments that a text quotes and whose tables have not been stored."""
        quoted = dict.fromkeys(found[1] for found in PLACEHOLDER.finditer(text))
        return [name for name in quoted if name not in self.facts]

    def draw(self, name: str) -> Path:
        """Draw a picture of docs/images again."""
        experiment, picture, width, height = PICTURES[name]
        if experiment not in self.tables:
            raise NotStoredError(experiment)
        display = picture(self.tables[experiment][0])
        return display.save(self.docs / "images" / f"{name}.svg", width=width, height=height)

    def missing(self) -> list[str]:
        """Experiments whose tables have not been stored."""
        return [experiment.name for experiment in EXPERIMENTS if experiment.name not in self.tables]

    def _section(self, text: str, source: Path) -> str:
        """A section, with dashes for some of its numbers; if there would be nothing else, a sentence instead."""
        filled, missing = self.filled(text, source), self.not_stored(text)
        quoted = {found[1] for found in PLACEHOLDER.finditer(text)} - {"paper"}
        if not missing or len(missing) < len(quoted):
            return filled
        title, name = text.partition("\n")[0], missing[0]
        before = f" [As it was before](results/{name}.md)." if name in self.shown() else ""
        return f"{title}\n\nThis table has not been stored yet: `fedbary reproduce {name}`.{before}\n\n"

    def _read(self, source: Path) -> str:
        text = source.read_text(encoding="utf-8")
        if typed := typed_decimals(text):
            raise PageError(f"docs/sources/{source.name}: typed by hand: {', '.join(typed)}")
        return text

    def _with_blocks(self) -> Iterator[Path]:
        for page in (self.root / "README.md", *sorted(self.docs.glob("*.md"))):
            if page.is_file() and BLOCK.search(page.read_text(encoding="utf-8")):
                yield page


def result_page(experiment: Experiment, table: pd.DataFrame, provenance: Provenance) -> str:
    """The page of a table: as the experiment prints it, with where it comes from below its title."""
    title, _, body = experiment.module.markdown(table).partition("\n")
    seeds = f", {provenance.seeds} seeds" if provenance.seeds > 1 else ""
    versions = ", ".join(f"{name} {version}" for name, version in provenance.versions.items())
    whole = "" if provenance.complete else " **Not complete**: cells are missing or ended with an error."
    origin = (
        f"Computed by `{provenance.command}`: {provenance.cells} cells{seeds}, {provenance.minutes:.1f} minutes of one "
        f"core, with the code of `{provenance.commit}`{f' ({versions})' if versions else ''}.{whole} "
        f"[As CSV](stored/{experiment.name}/{stored.TABLE}). [Summary](../results.md)."
    )
    return f"{title}\n\n{origin}\n{body}"


def wrapped(text: str) -> str:
    """Paragraphs in lines of one length: numbers are shorter than their names."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _wrapped_prose(part) for part in parts)


def _wrapped_prose(text: str) -> str:
    paragraphs = text.split("\n\n")
    for place, paragraph in enumerate(paragraphs):
        if re.match(r"\n*[\w`*\[]", paragraph) and not re.search(r"^(\||[-*+] |\d+\. )", paragraph, re.MULTILINE):
            # A number at the end of a sentence would begin a list where it begins a line.
            words = re.sub(r" (\d+\.)(?= |$)", "\u00a0\\1", " ".join(paragraph.split()))
            lines = textwrap.fill(words, WIDTH, break_long_words=False, break_on_hyphens=False)
            opening, closing = re.match(r"\n*", paragraph)[0], re.search(r"\n*$", paragraph)[0]
            paragraphs[place] = opening + lines.replace("\u00a0", " ") + closing
    return "\n\n".join(paragraphs)


def typed_decimals(text: str) -> list[str]:
    """Decimals in prose that no placeholder has put there."""
    return [found[0] for found in DECIMAL.finditer(NOT_PROSE.sub("", text))]


def store(site: Site, folder: Path, commit: str = "") -> str:
    """Take over a finished experiment; what to know about it, in a line."""
    experiment = find(folder.resolve().name)
    table, provenance = stored.read(folder)
    experiment.module.markdown(table)
    provenance = replace(provenance, commit=commit or provenance.commit)
    place = site.stored(experiment.name)
    place.mkdir(parents=True, exist_ok=True)
    stored.write(place, table, provenance)
    size = (place / stored.TABLE).stat().st_size
    said = [f"{experiment.name}: {size / 1000:.0f} kB, {provenance.minutes:.1f} minutes of one core"]
    said += [f"that is more than {LARGEST / 1000:.0f} kB"] if size > LARGEST else []
    said += [] if provenance.complete else ["not complete"]
    return "; ".join(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="Say what differs, and write nothing.")
    parser.add_argument("--store", nargs="+", type=Path, default=[], metavar="FOLDER", help="Finished experiments.")
    parser.add_argument("--commit", default="", help="The code that computed what is stored.")
    parser.add_argument("--pictures", action="store_true", help="Draw docs/images again.")
    asked = parser.parse_args()
    site = Site()
    for folder in asked.store:
        print(store(site, folder, asked.commit))
    try:
        pages = site.made()
    except PageError as error:
        sys.exit(str(error))
    differ = [page for page, text in pages.items() if not page.is_file() or page.read_text(encoding="utf-8") != text]
    for page in differ:
        print(f"{page.relative_to(ROOT)}: {'differs' if asked.check else 'written'}")
        if not asked.check:
            page.write_text(pages[page], encoding="utf-8")
    for name in site.missing():
        print(f"{name}: no table stored, its page is as it was")
    if asked.pictures:
        for name in PICTURES:
            try:
                print(site.draw(name).relative_to(ROOT))
            except NotStoredError as error:
                print(f"docs/images/{name}.svg is as it was: {error}")
    if asked.check and differ:
        sys.exit("run python tools/pages.py")


if __name__ == "__main__":
    main()
