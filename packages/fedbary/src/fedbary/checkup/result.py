"""`Checkup`: what was found in a table, for its owner."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.checkup.described import ColumnFacts, LabelFacts
from fedbary.checkup.finding import Finding, Severity
from fedbary.checkup.subject import Subject
from fedbary.errors import DataError
from fedbary.filling import Dialect
from fedbary.notes import Note
from fedbary.wording import counted, dash, listed, number, on_one_line

if TYPE_CHECKING:
    from fedbary.checkup.corrections import Correction


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
        return "\n".join([headline(self), *(f"- {finding.severity}: {finding}" for finding in self.findings)])

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
        from fedbary.checkup.page import write_checkup

        return write_checkup(self, path)

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


def headline(checkup: Checkup) -> str:
    """The table and the result in one line."""
    name = f"{checkup.origin}: " if checkup.origin else ""
    size = f"{counted(checkup.rows, 'row')}, {counted(sum(c.used for c in checkup.columns), 'feature column')}"
    return f"{name}{size}. {counted_findings(checkup)}"


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
    """What the cells of a column hold.

    Examples
    --------
    >>> values_in_words(ColumnFacts("age", "number", False, 0, 40, 18.0, 43.5, 90.0))
    '18 to 90, median 43.50'
    >>> values_in_words(ColumnFacts("sex", "category", False, 0, 2, frequent=("f", "m")))
    'f and m'
    """
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
