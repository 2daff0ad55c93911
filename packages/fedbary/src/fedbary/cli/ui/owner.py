"""What an owner's commands have in common: a configuration as a node has it, a ledger, and results of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.data.places import is_url, place_name
from fedbary.errors import DataError
from fedbary.filling import COMMAND
from fedbary.views.page import Line, Part

if TYPE_CHECKING:
    from fedbary.data.options import ReadOptions
    from fedbary.guard.node_config import NodeConfig
    from fedbary.valuation.result import Valuation


def owner_config(
    table: str,
    *,
    label: str,
    row_id: str | None,
    reading: ReadOptions,
    name: str,
    policy: Path | None = None,
    ledger: Path | None = None,
    results: Path | None = None,
) -> NodeConfig:
    """What a node of this owner would be configured with: the same table has the same ledger over any engine."""
    from fedbary.guard.node_config import NodeConfig

    if not is_url(table) and not Path(table).exists():
        raise DataError("data.no-file", where=table)
    options: dict[str, Any] = {"data-path": table, "label": label, "name": name}
    options |= {} if row_id is None else {"id": row_id}
    options |= {} if policy is None else {"policy": str(policy)}
    config = replace(NodeConfig.of(options, 0), reading=reading)
    if ledger is not None:
        home = ledger.parent if ledger.name == "ledger.jsonl" else ledger
        config = replace(config, home=home, output=home / "results")
    return config if results is None else replace(config, output=results)


def beside(table: str, suffix: str) -> Path:
    """Where what is made of a table is written by default: beside it, or here where it lies in a database."""
    return (Path() if is_url(table) else Path(table).parent) / f"{place_name(table)}{suffix}"


def written(path: Path | str, more: str = "") -> Line:
    return Line(f"written  {path}{more}", whole=True)


def ledger_parts(config: NodeConfig) -> list[Part]:
    """Where the ledger is, and which others have questions about the same rows."""
    copies = [Line(f"look     {note.text(COMMAND)}", whole=True) for note in config.copies()]
    return [Line(f"ledger   {config.ledger.path}", whole=True), *copies]


def own_result_parts(folder: Path, config: NodeConfig) -> list[Part]:
    """Where the owner finds what is its own, and why something is not there."""
    from fedbary.guard.owner_files import LOG

    parts: list[Part] = []
    values = "rows.csv" if (folder / "rows.csv").is_file() else "rows.parquet"  # of very many rows there is no CSV
    for name, what in (("report.html", "your report"), (values, "your row values")):
        if (folder / name).is_file():
            parts.append(Line(f"yours    {folder / name}  {what}", whole=True))
    for name in ("no-row-values.txt", "no-report.txt"):
        if (folder / name).is_file():
            parts.append(Line(f"yours    {(folder / name).read_text(encoding='utf-8').strip()}", whole=True))
    parts += ledger_parts(config)
    if (config.home / LOG).is_file():
        parts.append(Line(f"log      {config.home / LOG}  what failed or was refused, and why", whole=True))
    return parts


def rows_by_model(
    table: str, model: Path, *, name: str, row_id: str | None, reading: ReadOptions, folder: Path
) -> Valuation:
    """Value the rows of a table by a model that came as a file, and write them and a report for their owner."""
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
    config = owner_config(table, label=label, row_id=row_id, reading=reading, name=name)
    rows = read(table, label, id=row_id, options=reading, reading=schema.reading)
    client = settings.client(rows, rules=rules, seed=0)
    with one_thread():
        client.answer(message)
        save_rows(client, settings, rules, config, folder=folder, table=rows)
    missing = folder / "no-row-values.txt"
    if missing.is_file():
        raise DataError("cli.no-row-values", table=str(table), why=missing.read_text(encoding="utf-8").strip())
    return load_owner_view(folder)
