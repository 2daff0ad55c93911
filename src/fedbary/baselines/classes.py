"""The schema of a classifier: all features, scaled by one table."""

from __future__ import annotations

from dataclasses import replace

from fedbary.data.table import Table
from fedbary.errors import SettingsError
from fedbary.space import Schema, Space, fit_schema


def class_schema(table: Table, space: Space | None) -> Schema:
    """Fit a schema on a table; refuses labels that are a quantity.

    Unlike a protocol, a baseline sees all features by default: a projection could only weaken it.
    """
    chosen = replace(space or Space(projection="none"), labels="onehot", label_weight=1.0)
    if chosen.task == "regression" or not table.has_classes:
        raise SettingsError(f"This method needs classes, but '{table.label_name}' is a number: choose another label.")
    return fit_schema(table, chosen)
