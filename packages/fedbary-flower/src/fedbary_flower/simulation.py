"""Whether this is Flower's simulation, where one party is all nodes and the server."""

from __future__ import annotations

import sys
from typing import Any


def is_simulated_node() -> bool:
    """Whether this process is a worker of Flower's simulation engine; where that is not certain, it is not.

    A node config may say anything of partitions in a deployment, too, and a server may send anything. But only the
    simulation engine calls an app inside a task of Ray's that has the engine's name.
    """
    ray: Any = sys.modules.get("ray")
    try:
        if ray is None or not ray.is_initialized():
            return False
        context = ray.get_runtime_context()
        if context.get_actor_id() is None:
            return False
        task = str(context.get_task_function_name())
    except Exception:  # another release of Ray's, of which nothing is known
        return False
    return task.startswith("flwr.simulation.") and task.endswith(".ClientAppActor.run")


def is_simulated_grid(grid: object) -> bool:
    """Whether a grid is the simulation engine's: nobody registered its nodes by name."""
    return type(grid).__name__ == "InMemoryGrid" and type(grid).__module__.startswith("flwr.")
