"""`Checkup`: what was found in a table, in numbers, in words, and as a page for its owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.checkup.coded import Coded, CodedTable, day
from fedbary.checkup.findings import Finding, Severity
from fedbary.columns import BY_NAME
from fedbary.errors import DataError
from fedbary.filling import COMMAND, Dialect
from fedbary.notes import Note
from fedbary.space.labels import class_names
from fedbary.wording import counted, dash, headline_percent, listed, number, on_one_line, percent

if TYPE_CHECKING:
    from fedbary.checkup.fix import Correction, Subject

_MOST_LEVELS, _MOST_CLASSES = 5, 100
_GROUPS = (
    (Severity.REFUSED, "A federation would refuse this table", "bad"),
    (Severity.DOUBTFUL, "Look at", "warn"),
    (Severity.NOTE, "Worth knowing", ""),
)


@dataclass(frozen=True)
class ColumnFacts:
    """One column of the file: how it is read (``number``, ``category``, …), and whether nobody said so.

    Missing cells, different values (``levels``), the range of numbers and dates with their median and the most frequent
    levels of a category are not known of columns that are left out.
    """

    name: str
    kind: str
    guessed: bool
    missing: int | None = None
    levels: int | None = None
    low: float | str | None = None
    middle: float | str | None = None
    high: float | str | None = None
    frequent: tuple[str, ...] = ()

    @property
    def used(self) -> bool:
        """Whether the column becomes part of the table."""
        return not BY_NAME[self.kind].left_out

    @property
    def constant(self) -> bool:
        """Whether all cells that have a value say the same."""
        return self.levels is not None and self.levels <= 1

    def to_json(self) -> dict[str, Any]:
        """The facts for programs."""
        return asdict(self) | {"frequent": list(self.frequent), "used": self.used, "constant": self.constant}


@dataclass(frozen=True)
class LabelFacts:
    """The label: classes with their rows, the largest first, or the range of a number."""

    name: str
    classes: tuple[tuple[str, int], ...] = ()
    low: float | None = None
    mean: float | None = None
    high: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The facts for programs."""
        if self.classes:
            return {"name": self.name, "classes": [{"class": name, "rows": rows} for name, rows in self.classes]}
        return {"name": self.name, "low": self.low, "mean": self.mean, "high": self.high}


def described_columns(coded: CodedTable, said: Collection[str]) -> tuple[ColumnFacts, ...]:
    """The columns of the file that a table was read from; the kinds of those in ``said`` were not guessed."""
    names = coded.table.reading or coded.columns
    return tuple(_described(name, coded.kind(name), coded.columns.get(name), name not in said) for name in names)


def _described(name: str, kind: str, column: Coded | None, guessed: bool) -> ColumnFacts:
    if column is None:
        return ColumnFacts(name, kind, guessed)
    facts = ColumnFacts(name, kind, guessed, column.missing, len(column.values))
    if column.is_number:
        ends = float(column.values.min()), float(np.median(column.present())), float(column.values.max())
        low, middle, high = map(day, ends) if kind == "date" else ends
        return replace(facts, low=low, middle=middle, high=high)
    if column.values.ndim == 1 and column.values.dtype.kind == "O":
        places = np.argsort(-column.counts, kind="stable")[:_MOST_LEVELS]
        return replace(facts, frequent=tuple(str(column.values[place]) for place in places))
    return facts


def described_label(coded: CodedTable) -> LabelFacts:
    """The label of a table."""
    table = coded.table
    if not table.has_classes:
        labels = np.asarray(table.labels, dtype=float)
        return LabelFacts(
            table.label_name, low=float(labels.min()), mean=float(labels.mean()), high=float(labels.max())
        )
    names, counts = class_names(coded.labels.values).tolist(), coded.labels.counts.tolist()
    return LabelFacts(table.label_name, tuple(sorted(zip(names, counts, strict=True), key=lambda one: (-one[1], one))))


@dataclass(frozen=True)
class Checkup:
    """What a table holds, what is wrong with it, and what a federation would refuse. It is for the table's owner.

    Attributes
    ----------
    origin : str
        The file.
    rows, copies : int
        Rows, and how many of them repeat an earlier one.
    columns : tuple of ColumnFacts
        The columns of the file: kind, missing cells, range, levels.
    label : LabelFacts
        Classes with their rows, or the range of a number.
    findings : tuple of Finding
        What was found, the worst first: ``refused`` (a federation would refuse the table), ``doubtful`` (probably
        wrong) and ``note`` (worth knowing, and fine).
    read : tuple of Note
        What was guessed when the table was read.
    schema : str, optional
        Fingerprint of the schema that the table was held against.
    told : tuple of Note
        With a schema: what the coordinator of a run with default settings would be told of the table.
    """

    origin: str
    rows: int
    copies: int
    columns: tuple[ColumnFacts, ...]
    label: LabelFacts
    findings: tuple[Finding, ...]
    read: tuple[Note, ...] = ()
    schema: str | None = None
    told: tuple[Note, ...] = ()
    subject: Subject | None = field(default=None, compare=False)

    @property
    def refused(self) -> bool:
        """Whether a federation would refuse the table."""
        return bool(self.of(Severity.REFUSED))

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings that are so bad."""
        return tuple(finding for finding in self.findings if finding.severity is severity)

    def __repr__(self) -> str:
        name = f"{self.origin}: " if self.origin else ""
        used = counted(sum(column.used for column in self.columns), "feature column")
        headline = f"{name}{counted(self.rows, 'row')}, {used}. {counted_findings(self)}"
        return "\n".join([headline, *(f"- {finding.severity}: {finding}" for finding in self.findings)])

    def fix(self, path: str | Path) -> tuple[Correction, ...]:
        """Write a copy in which what is certain is corrected, and say what: nothing else changes.

        Labels and levels get the spelling of the schema's; numbers that are written with a decimal comma, groups of
        digits or a unit are written plainly; what stands for a missing cell goes.
        """
        from fedbary.checkup.fix import fix

        if self.subject is None:
            raise DataError("checkup.nothing-to-fix", where=self.origin)
        return fix(self.subject, path)

    def report(self, path: str | Path) -> Path:
        """Write the checkup as a page of HTML, for the table's owner; it loads nothing and sends nothing."""
        from fedbary.views.html_file import write_page

        return write_page(checkup_html(self), path, mode=0o600)  # it shows cells

    def to_json(self, dialect: Dialect | None = None) -> dict[str, Any]:
        """Everything, in the types that JSON knows."""
        content = {
            "file": self.origin,
            "rows": self.rows,
            "repeated_rows": self.copies,
            "columns": [column.to_json() for column in self.columns],
            "label": self.label.to_json(),
            "read": [note.text(dialect) for note in self.read],
            "refused": self.refused,
            "findings": [finding.to_json(dialect) for finding in self.findings],
        }
        if self.schema is None:
            return content
        return content | {"schema": self.schema, "would_send": [note.text(dialect) for note in self.told]}


def counted_findings(checkup: Checkup) -> str:
    """The result in one sentence."""
    whose = "A federation" if checkup.schema is None else "The federation"
    doubts = len(checkup.of(Severity.DOUBTFUL))
    look = f"; {counted(doubts, 'thing')} to look at" if doubts else ""
    return f"{whose} would {'refuse' if checkup.refused else 'take'} this table{look}."


def of_columns(checkup: Checkup) -> list[tuple[str, str, str, str]]:
    """Name, kind, missing cells and values of each column, in words."""
    return [
        (column.name, kind_in_words(checkup, column), dash(column.missing), values_in_words(column))
        for column in checkup.columns
    ]


def kind_in_words(checkup: Checkup, column: ColumnFacts) -> str:
    """How a column is read; that it was guessed goes without saying where nobody said anything of any column."""
    guessed = column.guessed and column.used and not all(other.guessed for other in checkup.columns if other.used)
    return f"{column.kind}, guessed" if guessed else column.kind


def values_in_words(column: ColumnFacts) -> str:
    """What the cells of a column hold."""
    if not column.used:
        return "left out"
    if column.low is not None:
        low, middle, high = (
            one if isinstance(one, str) else number(one) for one in (column.low, column.middle, column.high)
        )
        return f"always {low}" if column.constant else f"{low} to {high}, median {middle}"
    if column.frequent:
        names = [on_one_line(name, longest=20) for name in column.frequent]
        return listed(names + [""] * ((column.levels or 0) - len(names)), most=3 if (column.levels or 0) > 4 else 4)
    return "" if column.levels is None else f"{column.levels:,} different"


def checkup_html(checkup: Checkup) -> str:
    """The checkup as a page that needs nothing else."""
    from fedbary.views.html_file import render

    today, rows = date.today(), checkup.rows
    by_column = Counter(finding.column for finding in checkup.findings)
    content = {
        "name": checkup.origin or "a table",
        "about": [f"{today.day} {today:%B %Y}", counted(checkup.rows, "row"), "on the machine that holds the rows"],
        "headline": counted_findings(checkup),
        "tiles": _tiles(checkup),
        "groups": [
            {"title": title, "look": look, "findings": [finding.text(COMMAND) for finding in found]}
            for severity, title, look in _GROUPS
            if (found := checkup.of(severity))
        ],
        "columns": [
            {
                "name": column.name,
                "kind": kind_in_words(checkup, column),
                "missing": f"{lacks:,} ({percent(lacks / rows)})" if (lacks := column.missing) else dash(lacks),
                "missing_exact": "" if column.missing is None else column.missing,
                "says": values_in_words(column),
                "findings": by_column[column.name],
            }
            for column in checkup.columns
        ],
        "label": _label(checkup),
        "read": [note.text(COMMAND) for note in checkup.read],
        "told": [] if checkup.refused else [note.text(COMMAND) for note in checkup.told],
        "schema": checkup.schema,
    }
    return render("checkup.html", content, scripts=("tables.js",))


def _tiles(checkup: Checkup) -> list[tuple[str, str, str]]:
    used = [column for column in checkup.columns if column.used]
    cells = checkup.rows * len(used)
    missing = sum(column.missing or 0 for column in used)
    left_out = len(checkup.columns) - len(used)
    copies = percent(checkup.copies / checkup.rows) if checkup.copies else ""
    return [
        ("rows", f"{checkup.rows:,}", ""),
        ("rows that repeat another", f"{checkup.copies:,}" if checkup.copies else "none", copies),
        ("feature columns", f"{len(used):,}", f"{left_out:,} left out" if left_out else ""),
        ("cells missing", headline_percent(missing / max(cells, 1)), f"{missing:,} of {cells:,}" if missing else ""),
    ]


def _label(checkup: Checkup) -> dict[str, Any]:
    label = checkup.label
    return {
        "name": label.name,
        "classes": [(name, f"{rows:,}", percent(rows / checkup.rows)) for name, rows in label.classes[:_MOST_CLASSES]],
        "more": max(len(label.classes) - _MOST_CLASSES, 0),
        "low": number(label.low),
        "mean": number(label.mean),
        "high": number(label.high),
    }
