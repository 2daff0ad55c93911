"""An owner's rows by a model that came as a file: valued at home, and nothing of it leaves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fedbary.cli.ui.owner_options import owner_config
from fedbary.errors import DataError

if TYPE_CHECKING:
    from fedbary.data.options import ReadOptions
    from fedbary.valuation.result import Valuation


def rows_by_model(
    table: str, model: Path, *, name: str, row_id: str | None, reading: ReadOptions, folder: Path
) -> Valuation:
    """Value the rows of a table by a model, and write them and a report into a folder of their owner's."""
    from fedbary.data.files import read
    from fedbary.engines.files.message_file import FileKind, MessageFile
    from fedbary.engines.local import one_thread
    from fedbary.guard.owner_files import load_owner_view, save_rows
    from fedbary.protocols.cards import Cards
    from fedbary.protocols.forms import check_message
    from fedbary.protocols.registry import exchanges_of
    from fedbary.space.schema import Schema
    from fedbary.valuation.rows import RowRules

    message, _ = MessageFile.load(model, FileKind.MODEL).message()
    check_message(exchanges_of(Cards.name), Cards.name, message)
    schema, settings, rules = Schema.from_json(str(message.scalars["schema"])), Cards(numbers=False), RowRules()
    label = schema.label.name
    config = owner_config(table, label=label, row_id=row_id, reading=reading, name=name, policy=None, ledger=None)
    rows = read(table, label, id=row_id, options=reading, reading=schema.reading)
    client = settings.client(rows, rules=rules, seed=0)
    with one_thread():
        client.answer(message)
        save_rows(client, settings, rules, config, folder=folder, table=rows)
    missing = folder / "no-row-values.txt"
    if missing.is_file():
        raise DataError("cli.no-row-values", table=str(table), why=missing.read_text(encoding="utf-8").strip())
    return load_owner_view(folder)
