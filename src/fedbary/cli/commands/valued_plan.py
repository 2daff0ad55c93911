"""What `fedbary value --dry-run` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fedbary.cli.commands.dry_run import Plan, finish
from fedbary.cli.commands.peek import peek_clients, peek_server
from fedbary.cli.commands.trials import trial_of_value


def plan_valuation(
    paths: Mapping[str, Path],
    options: Mapping[str, Any],
    *,
    reference: Path | None,
    label: str,
    row_id: str | None,
    output: Path,
    workers: int | None,
    report: bool,
    json: bool,
) -> None:
    """Print what the run would do; ``options`` is what `fedbary.value` is called with."""
    target = None if reference is None else peek_server(reference, label, row_id)
    protocol: Any = options["protocol"]
    server = {} if target is None else {"reference": target}
    work = [f"the {protocol.name} protocol, against {'the reference' if server else 'what the clients have in common'}"]
    if protocol.name == "coalition":
        work.append(f"up to 2^{len(paths)} = {2 ** len(paths):,} coalitions are played, without training")
    plan = Plan(
        peek_clients(paths, label, row_id),
        server,
        tuple(work),
        {**asdict(protocol), **{name: options[name] for name in ("fdr", "rule", "calibration", "seed")}},
        (
            f"{output}/",
            *(["report.html"] if report else []),
            *("clients.csv", "rows/", "schema.json", "valuation.json", "events.jsonl"),
        ),
    )
    finish(plan, lambda clients: trial_of_value(clients, target, workers, **options), json=json)
