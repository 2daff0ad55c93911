"""The told rows of a client, and that a server cannot ask for them in two ways."""

from __future__ import annotations

from fedbary.data.table import Table
from fedbary.errors import PrivacyError
from fedbary.space.k_anonymous import told_rows


class ToldRows:
    """The one table that all of a client's sums are made from; the first question fixes the kind of its label.

    With the label once as classes and once as a number, two sums would differ by the rows of small classes.
    """

    def __init__(self, table: Table, *, min_group: int) -> None:
        self._table, self._min_group = table, min_group
        self._told: Table | None = None
        self.kind = ""

    def of(self, kind: str) -> Table:
        """The told rows, for a label of this kind."""
        if self.kind not in ("", kind):
            raise PrivacyError(
                f"The server asked for labels of kind '{kind}' after it had asked for kind '{self.kind}'; only the "
                "first is answered in a run."
            )
        self.kind = kind
        if self._told is None:
            self._told = told_rows(self._table, kind, min_group=self._min_group)
        return self._told
