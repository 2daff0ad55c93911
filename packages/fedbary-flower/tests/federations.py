"""Federations in this process, simulated or with files of their own, for tests over a Flower grid."""

import pandas as pd
import pytest

import fedbary as fb
from drawn_tables import many
from fedbary.engines.coordinator import RunConfig
from fedbary.guard.ledger import Ledger
from fedbary_flower.engine import FlowerEngine
from fedbary_flower.server_app import valued

QUICK = {"poll": 0.001, "timeout": 0.05, "retries": 1}


def simulation(tmp_path, clients=5, **more):
    """Nodes of a simulation and their run config."""
    nodes = {
        100 + i: {"partition-id": i, "num-partitions": clients, "state-path": str(tmp_path)} for i in range(clients)
    }
    config = {"dataset": "digits", "partition": "case-5", "clients": clients, "rows": 60, "seed": 3, **QUICK}
    return nodes, config | {"output": str(tmp_path / "out"), "timeout": 60.0, **more}


def local(config, protocol, *, reference=True):
    pool = fb.datasets.load("digits")
    clients, rows = config["clients"], config["rows"]
    tables = fb.partitions.paper_case(pool.train, 5, clients=clients, rows=rows * clients, seed=config["seed"]).clients
    return fb.value(tables, pool.test if reference else None, protocol=protocol, seed=config["seed"])


def files(tmp_path, tables):
    """One Parquet file for each node, under a path of its own."""
    nodes = {}
    for place, (name, table) in enumerate(tables.items()):
        file = tmp_path / f"data-{place}.parquet"
        pd.DataFrame({**table.columns, "label": table.labels}).to_parquet(file)
        nodes[1000 + place] = {
            "data-path": str(file),
            "label": "label",
            "name": name,
            "table": f"site-{place}",
            "state-path": str(tmp_path / "s"),
            "report": False,  # a thousand of them would take minutes
        }
    return nodes


def reference_file(tmp_path, table):
    file = tmp_path / "reference.parquet"
    pd.DataFrame({**table.columns, "label": table.labels}).to_parquet(file)
    return str(file)


def interrupted(monkeypatch, grid, config):
    """A run whose server dies when it is about to ask for the fourth time."""
    rounds = []
    whole = FlowerEngine.deliver

    def dying(*arguments, **more):
        rounds.append(1)
        if len(rounds) == 4:
            raise KeyboardInterrupt
        return whole(*arguments, **more)

    monkeypatch.setattr(FlowerEngine, "deliver", dying)
    with pytest.raises(KeyboardInterrupt):
        valued(grid, RunConfig.of(config))
    monkeypatch.undo()


def owners(tmp_path, policy=""):
    """Three nodes with files, one policy for all, and the run config of a coordinator with a reference."""
    tables, reference = many(3)
    file = tmp_path / "policy.toml"
    file.write_text(policy)
    nodes = {node: config | {"policy": str(file)} for node, config in files(tmp_path, tables).items()}
    config = {
        "protocol": "sketch",
        "reference": reference_file(tmp_path, reference),
        "num-nodes": 3,
        "timeout": 60.0,
        "poll": 0.001,
    }
    return nodes, config | {"output": str(tmp_path / "out")}


def lines(tmp_path, site):
    return [entry.what for entry in Ledger(tmp_path / "s" / site / "ledger.jsonl").read(head_needed=True).entries]
