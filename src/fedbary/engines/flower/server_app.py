"""The Flower app of the coordinator: waits for the nodes, runs the protocol, writes the result and its report."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedbary.engines.flower.config import RunConfig
from fedbary.engines.flower.engine import FlowerEngine
from fedbary.engines.local import one_thread
from fedbary.space.row_identity import content_digest

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.valuation.result import Valuation

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Value the nodes as the run config says."""
    run = RunConfig.of(context.run_config)
    result = valued(grid, run)
    result.save(run.output)
    result.report(run.output / "report.html")
    sys.stdout.write(result.ranking().to_string(index=False) + "\n")  # what `flwr run --stream` shows


def valued(grid: Grid, run: RunConfig) -> Valuation:
    """The result of a run over a grid."""
    engine = FlowerEngine(grid, folder=run.output, resume=run.resume, patience=run.patience)
    reference = _reference(run)
    settings = {
        **asdict(run.asked.rules),
        "seed": run.seed,
        "engine": "flower",
        "reference_rows": None if reference is None else len(reference),
        "reference_digest": None if reference is None else content_digest(reference),
        "versions": {name: version(name) for name in ("fedbary", "flwr")},
    }
    nodes = engine.nodes(run.nodes, least=run.least, deadline=run.deadline)
    identity = json.dumps([run.asked.to_json(), asdict(run.space), settings, nodes], sort_keys=True, default=str)
    with one_thread():
        result = engine.run(
            nodes,
            run.asked,
            lambda names, host: run.asked.protocol.server(
                names, reference, run.space, rules=run.asked.rules, seed=run.seed, host=host
            ),
            identity=hashlib.sha256(identity.encode()).hexdigest(),
        )
    missing = run.nodes - len(nodes)
    notes = (*result.notes, *([f"{missing} of {run.nodes} nodes did not come in time"] if missing > 0 else []))
    return replace(result, settings=result.settings | settings, notes=notes)


def _reference(run: RunConfig) -> Table | None:
    if run.reference is not None:
        from fedbary.data.files import read

        return read(run.reference, run.label, id=run.id)
    if run.asked.simulated and run.asked.protocol.name != "consensus":
        from fedbary.guard.simulated_tables import reference_table

        return reference_table(run.asked.simulated)
    return None
