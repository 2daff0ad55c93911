"""The tables that are compared, checked in the same way at both levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fedbary.data.table import Table, as_table, table_or_error
from fedbary.errors import FedbaryError, SettingsError

if TYPE_CHECKING:
    from fedbary.api import Data


def tables_of(
    clients: Mapping[str, Data | FedbaryError], reference: Data
) -> tuple[dict[str, Table | FedbaryError], Table]:
    """Each client's table, or why it cannot be used, so that the others are compared; and the reference."""
    if len({str(name) for name in clients}) < len(clients):
        raise SettingsError("Two clients have the same name once written as text: rename one of them.")
    if not clients:
        raise SettingsError("There is no client to compare: give at least one.")
    target = as_table(reference)
    return {str(name): table_or_error(data, target.label_name) for name, data in clients.items()}, target
