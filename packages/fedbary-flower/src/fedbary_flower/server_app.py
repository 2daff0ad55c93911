"""The Flower app of the coordinator: waits for the nodes, runs the protocol, writes the result and its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedbary.engines import coordinator
from fedbary.engines.coordinator import RunConfig, output_folder
from fedbary_flower.engine import FlowerEngine
from fedbary_flower.simulation import is_simulated_grid
from fedbary_flower.training import train_and_compare

if TYPE_CHECKING:
    from fedbary.valuation.result import Valuation

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Value the nodes as the run config says; `flwr run --stream` shows the verdict."""
    name = str(context.run_id)
    with coordinator.preparing(output_folder(context.run_config), FlowerEngine.name, name):
        run = RunConfig.of(context.run_config)
        engine = over(grid, run, name)
    result = coordinator.coordinate(engine, run)
    if run.train_rounds:
        train_and_compare(grid, result, run)


def over(grid: Grid, run: RunConfig, name: str | None = None) -> FlowerEngine:
    """The engine of a run over a grid; ``name`` is Flower's for the run."""
    return FlowerEngine(
        grid,
        run.attendance,
        folder=run.output,
        resume=run.resume,
        patience=run.patience,
        # Simulated nodes call themselves by their partition: nobody registered them by name.
        simulation=run.simulation or ({"seed": run.seed, "run_seed": run.seed} if is_simulated_grid(grid) else None),
        run_id=name,
    )


def valued(grid: Grid, run: RunConfig) -> Valuation:
    """The result of a run over a grid; nothing is saved."""
    return coordinator.valued(over(grid, run), run)
