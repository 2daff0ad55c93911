"""What a comparison is given, checked in the same way for clients and for rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from fedbary.checks import did_you_mean
from fedbary.data.objects import check_types, client_tables, reference_table
from fedbary.data.table import Table
from fedbary.errors import FedbaryError, SettingsError, wrong_parameter

if TYPE_CHECKING:
    from fedbary.api import Data


def tables_of(
    clients: Mapping[str, Data | FedbaryError], reference: Data
) -> tuple[dict[str, Table | FedbaryError], Table]:
    """Each client's table, or why it cannot be used, so that the others are compared; and the reference."""
    if len({str(name) for name in clients}) < len(clients):
        raise SettingsError("settings.same-name")
    if not clients:
        raise SettingsError("research.no-client-to-compare")
    check_types(clients)
    target = reference_table(reference)
    return client_tables(clients, target), target


def check_methods(
    methods: Sequence[str], truth: str | None, known: Collection[str], *, of: str = "", options: bool = False
) -> list[str]:
    """The methods and the truth, each once; refuses names that are not ``known``, with options behind ``@`` or not."""
    if isinstance(methods, str):
        raise wrong_parameter("methods", "compare_rows" if of else "compare_clients", "a list of names", methods)
    named = [*methods] if truth is None else [*methods, truth]
    if not named:
        raise SettingsError("research.no-method-given")
    for name in named:
        bare = str(name).partition("@")[0] if options else name
        if bare not in known:
            guess = did_you_mean(bare, known)
            raise SettingsError("research.no-such-method", name=str(name), of=of, guess=guess, known=", ".join(known))
    return list(dict.fromkeys(named))
