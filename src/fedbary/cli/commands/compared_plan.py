"""What `fedbary compare --dry-run` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fedbary.cli.commands.dry_run import Plan, finish
from fedbary.cli.commands.peek import peek_clients, peek_server
from fedbary.cli.commands.trials import trial_of_comparison, trial_of_row_comparison


def plan_comparison(
    paths: Mapping[str, Path],
    chosen: Mapping[str, Any],
    *,
    reference: Path,
    label: str,
    row_id: str | None,
    output: Path,
    json: bool,
) -> None:
    """Print what the comparison would do; ``chosen`` is what `compare_clients` or `compare_rows` is called with."""
    from fedbary.research.comparison.run_clients import chosen_methods
    from fedbary.research.comparison.run_rows import chosen_row_methods

    target = peek_server(reference, label, row_id)
    given = dict(chosen)
    by_row = "training" not in given
    clients = peek_clients(paths, label, row_id)
    if by_row:
        methods = chosen_row_methods(given["methods"], given["truth"])
        work, settings = [f"row values by {', '.join(methods)}"], {"seed": given["seed"]}
        writes = ["rows.csv", "summary.csv"]
    else:
        methods = chosen_methods(given["methods"], given["truth"], len(clients))
        work = [f"clients' values by {', '.join(methods)}", *_trainings(methods, len(clients), given)]
        settings = {"model": given["model"], **asdict(given["training"])}
        writes = ["scores.csv", "summary.csv", "comparison.json", "training-log.npz", "scores/"]
    plan = Plan(clients, {"reference": target}, tuple(work), settings, (f"{output}/", *writes))
    if by_row:
        finish(plan, lambda usable: trial_of_row_comparison(usable, target, **given), json=json)
    else:
        rounds = given["training"].rounds
        finish(plan, lambda usable: trial_of_comparison(usable, target, rounds, **given), json=json)


def _trainings(methods: list[str], clients: int, given: Mapping[str, Any]) -> list[str]:
    """How often a model would be trained, and how many coalitions there are."""
    from fedbary.research.baselines.clients import METHODS

    if not any(name in METHODS for name in methods):
        return []
    lines = [] if given["log"] is not None else [f"one training of {given['training'].rounds} rounds with all clients"]
    lines.append(f"2^{clients} = {2**clients:,} coalitions of {clients} clients")
    if "exactfed" in methods:
        lines.append(f"exactfed trains a model for each of the {2**clients:,} coalitions")
    if "loo" in methods:
        lines.append(f"loo trains {clients + 1:,} models")
    return lines
