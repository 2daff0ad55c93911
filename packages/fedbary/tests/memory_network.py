"""A network in this process without any carrier: what all engines have in common, with nothing else around it."""

from fedbary.engines.networked import NetworkedEngine, Patience
from fedbary.engines.nodes import Attendance
from fedbary.engines.packed import answered
from fedbary.guard.node_config import NodeConfig


class MemoryNetwork(NetworkedEngine):
    """Nodes by id, each with its config; ``arrivals`` says who is online at the first, second, … look.

    ``silent`` nodes never answer.
    """

    name = "memory"

    def __init__(self, configs, folder, attendance=None, *, arrivals=(), names=None, silent=(), **options):
        options.setdefault("patience", Patience(timeout=0.05, poll=0.001, retries=0))
        super().__init__(attendance or Attendance(settle=0.0), folder=folder, **options)
        self.configs, self.silent, self.arrivals = configs, silent, list(arrivals)
        self.names = (
            names if names is not None else {node: own["name"] for node, own in configs.items() if "name" in own}
        )
        self.looks = 0

    def online(self):
        there = self.arrivals[min(self.looks, len(self.arrivals) - 1)] if self.arrivals else list(self.configs)
        self.looks += 1
        return {node: self.names.get(node, "") for node in there}

    def deliver(self, messages, on_answer):
        for node, packed in messages.items():
            if node not in self.silent:
                on_answer(node, answered(lambda p=packed: p, lambda n=node: NodeConfig.of(self.configs[n], int(n))))


def simulated(home, clients=3):
    """Nodes of a simulation, by id."""
    return {
        str(100 + i): {"partition-id": i, "num-partitions": clients, "state-path": str(home)} for i in range(clients)
    }


def simulation_config(folder, clients=3, **more):
    """A run config for them."""
    config = {"dataset": "digits", "partition": "case-5", "clients": clients, "rows": 60, "seed": 3, "settle": 0.0}
    return config | {"output": str(folder), "poll": 0.001, "timeout": 5.0, "retries": 0} | more
