"""The Flower app of the coordinator: waits for the nodes, runs the protocol, writes the result and its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedbary.engines import coordinator
from fedbary.engines.flower.engine import FlowerEngine
from fedbary.engines.run_config import RunConfig

if TYPE_CHECKING:
    from fedbary.valuation.result import Valuation

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Value the nodes as the run config says; `flwr run --stream` shows the verdict."""
    run = RunConfig.of(context.run_config)
    coordinator.coordinate(over(grid, run), run)


def over(grid: Grid, run: RunConfig) -> FlowerEngine:
    """The engine of a run over a grid."""
    return FlowerEngine(
        grid,
        run.attendance,
        folder=run.output,
        resume=run.resume,
        patience=run.patience,
        simulation=run.simulation,
    )


def valued(grid: Grid, run: RunConfig) -> Valuation:
    """The result of a run over a grid; nothing is saved."""
    return coordinator.valued(over(grid, run), run)
