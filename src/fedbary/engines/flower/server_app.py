"""The Flower app of the coordinator: waits for the nodes, runs the protocol, writes the result and its report."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedbary.engines.flower.config import RunConfig
from fedbary.engines.flower.engine import FlowerEngine
from fedbary.engines.session import run_session
from fedbary.protocols.cards import Cards
from fedbary.views.result_tables import valuation_text

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
    # What `flwr run --stream` shows.
    sys.stdout.write(valuation_text(result) + "\n")


def valued(grid: Grid, run: RunConfig) -> Valuation:
    """The result of a run over a grid."""
    engine = FlowerEngine(
        grid,
        run.attendance,
        folder=run.output,
        resume=run.resume,
        patience=run.patience,
        simulation=run.simulation,
    )
    return run_session(run.protocol, engine, reference=_reference(run), space=run.space, rules=run.rules, seed=run.seed)


def _reference(run: RunConfig) -> Table | None:
    if run.reference is not None:
        from fedbary.data.files import read

        return read(run.reference, run.label, id=run.id)
    alone = isinstance(run.protocol, Cards) and not run.protocol.worth
    if run.simulation and not alone:
        from fedbary.guard.simulated_tables import reference_table

        return reference_table(run.simulation)
    return None
