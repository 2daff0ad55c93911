"""The guarded card of a table, as its owner's client makes it."""

from __future__ import annotations

from dataclasses import replace

from fedbary.data.table import Table
from fedbary.protocols import released_table
from fedbary.protocols.cards.card import Card
from fedbary.protocols.released_table import ReleasedTable
from fedbary.space.labels import label_kind
from fedbary.space.options import Task


def guarded_card(table: Table, *, name: str = "", min_group: int = 5, task: Task = "auto") -> Card:
    released = ReleasedTable.guarded(table, label_kind(table.labels, task), min_group)
    return replace(released_table.guarded_card(released), rows=len(table), name=name)
