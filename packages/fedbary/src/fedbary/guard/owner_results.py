"""What a node keeps for its owner when a run ends: row values, what they were made with, and a report of them."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.data.atomic import private_folder, write_atomically
from fedbary.errors import FedbaryError
from fedbary.guard.guarded_client import GuardedClient
from fedbary.guard.node_config import NodeConfig
from fedbary.guard.owner_folder import owner_view, save_owner_view
from fedbary.protocols.messages import ClientProtocol, Settings, State, array_text, below
from fedbary.space.row_identity import order_digest
from fedbary.space.schema import Schema
from fedbary.valuation.rows import RowRules

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.valuation.result import Valuation


def save_rows(
    client: ClientProtocol,
    asked: Settings,
    rules: RowRules,
    config: NodeConfig,
    *,
    folder: Path,
    table: Table | None,
    head: str | None = None,
) -> None:
    """Row values and flags, for the owner alone; what they cannot be made of does not stop the run.

    With a ``table`` also a report of its rows, which no failure to draw may stop either; ``head`` is the ledger's.
    """
    private_folder(folder)
    try:
        rows = client.row_values()
    except FedbaryError as error:
        _write_reason(folder / "no-row-values.txt", str(error))
        return
    state = client.state()
    settings = client.settings if isinstance(client, GuardedClient) else asked
    schema, target = _compared_with(state)
    facts = _facts(settings, rules, state, target) | {"label": config.label, "id": config.id}
    facts |= {} if head is None else {"ledger_head": head}
    if table is not None:
        rows = replace(rows, facts=replace(rows.facts, table=order_digest(table)))
    # Of a simulation the server has them, and every one of perhaps a thousand nodes would keep the same.
    sent = (schema, target) if config.partition is None else ()
    view = owner_view(config.name, rows, facts, *sent)
    save_owner_view(view, folder)
    if table is not None:
        _draw(view, config.name, table, folder)


def _compared_with(state: State) -> tuple[Schema | None, np.ndarray | None]:
    """The schema and the target's points as the server sent them."""
    schema = Schema.from_json(array_text(state["schema"])) if "schema" in state else None
    return schema, state.get("array.points")


def _facts(settings: Settings, rules: RowRules, state: State, target: np.ndarray | None) -> dict[str, Any]:
    """The settings in force, and what a report needs to say what the server learned."""
    # Only where there is no reference to fit a space to do clients describe themselves, which fixes their label's kind.
    described = "label_kind" in state and array_text(state["label_kind"]) != ""
    # Of cards a reference's rows show by the scores that they calibrate.
    uncalibrated = settings.name == "cards" and not below(state, "array.clean.")
    alone = described or uncalibrated
    return {
        "protocol": settings.name,
        **asdict(settings),
        **asdict(rules),
        "reference_rows": None if alone else "unknown",
        **({} if target is None else {"sketch_points": len(target)}),
    }


def _draw(view: Valuation, name: str, table: Table, folder: Path) -> None:
    missing = folder / "no-report.txt"
    try:
        view.report(folder / "report.html", client=name, table=table)
        missing.unlink(missing_ok=True)
    except Exception as error:
        _write_reason(missing, f"{type(error).__name__}: {error}")


def _write_reason(file: Path, why: str) -> None:
    write_atomically(file, lambda draft: draft.write_text(f"{why}\n", encoding="utf-8"), mode=0o600)
