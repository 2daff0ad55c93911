"""`Cells`: what a file, a query or a frame holds, before anything was decided about a column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Cells:
    """A pandas frame, and notes on what was guessed to get it: a separator, an encoding.

    ``id`` names the index or column by which rows are known, where their source says it by itself.
    """

    frame: pd.DataFrame
    notes: tuple[Note, ...] = ()
    id: str | None = None


class Wanted(Protocol):
    """Which columns of a table are wanted, by their names alone, where each cell is read by itself: with ε."""

    @property
    def asked(self) -> Sequence[str]:
        """The columns that a format without a header has, whatever its rows hold."""

    def __call__(self, names: Sequence[str]) -> Sequence[str]:
        """Those of a table's columns that are wanted; no other one is looked at."""


def clean_names(names: Iterable[Any]) -> list[str]:
    r"""Names of columns as they are meant: as text, without byte order mark and blanks around them.

    Examples
    --------
    >>> clean_names(["\ufeffage ", 2024])
    ['age', '2024']
    """
    return [str(name).lstrip("\ufeff").strip() for name in names]
