"""Claims about labels, held against cards: which liars are disputed, and how many honest clients are.

Five clients each of breast-cancer (110 rows) and digits (150 rows). A liar sends its true card, and as evidence perfect
rows, zeros, or what its table says with the right labels; the others have 5 % wrong labels. Honest federations have
clean labels, or one client with labels replaced at random or by the nearest class, split evenly, by Dirichlet(.3), or
with a site effect of half a deviation. `python benchmarks/claims.py` prints the numbers of decision 059.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np

import fedbary as fb
from fedbary.judging.evidence import SHARES
from fedbary.protocols.messages import Message, Reply
from fedbary.valuation.result import Valuation
from fedbary.valuation.rows import RowRules
from fedbary_lab.experiments.federations import SplitDataset
from fedbary_lab.experiments.site_federations import at_site

ROWS = {"breast-cancer": 110, "digits": 150}
CLIENTS, LIAR = 5, "c4"
FAULTS = ((None, 0.0), ("labels", 0.2), ("labels", 0.4), ("confusions", 0.2))
WAYS = {"even": (np.inf, 0.0), "Dirichlet .3": (0.3, 0.0), "site effect .5": (np.inf, 0.5)}
Tables = dict[str, fb.Table]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    seeds = range(parser.parse_args().seeds)
    data = {name: SplitDataset(None, fb.datasets.load(name).all()) for name in ROWS}  # type: ignore[arg-type]
    print("| table | wrong labels | lie | disputed | included |\n| --- | --- | --- | --- | --- |")
    for name, rate, lie in product(ROWS, (0.2, 0.4, 0.8), ("perfect", "zeros", "of right labels")):
        told = {"way": WAYS["even"], "fault": ("labels", rate), "others": 0.05}
        found = [_run(*_tables(data[name], ROWS[name], seed=seed, **told), lie) for seed in seeds]
        seen = sum(_disputed(one, LIAR) for one in found)
        included = sum(
            opinion.advice.value == "include" for one in found for opinion in one.verdict() if opinion.client == LIAR
        )
        print(f"| {name} | {rate:.0%} | {lie} | {seen} of {len(seeds)} | {included} |", flush=True)
    print("\n| table | split | honest clients disputed |\n| --- | --- | --- |")
    for name, (words, way) in product(ROWS, WAYS.items()):
        disputed = 0
        for seed, fault in product(seeds, FAULTS):
            tables, right = _tables(data[name], ROWS[name], way=way, fault=fault, seed=seed)
            found = _run(tables, right, "")
            disputed += sum(_disputed(found, client) for client in tables)
        print(f"| {name} | {words} | {disputed} of {CLIENTS * len(FAULTS) * len(seeds)} |", flush=True)


def _tables(
    data: SplitDataset,
    rows: int,
    *,
    way: tuple[float, float],
    fault: tuple[str | None, float],
    seed: int,
    others: float = 0.0,
) -> tuple[Tables, fb.Table]:
    """The clients' tables, the last with the fault, and what that one is with its right labels."""
    alpha, effect = way
    spread = {name: np.asarray(column, dtype=float).std(axis=0) for name, column in data.pool.columns.items()}
    tables: Tables = {}
    for place, chosen in enumerate(data.disjoint_rows([rows] * CLIENTS, alpha, seed=1000 * seed + 17)):
        table = data.pool.take(chosen)
        kind, share = fault if place == CLIENTS - 1 and fault[0] else ("labels", others)
        labels = data.client(chosen, kind, share, seed=100 * seed + place).table.labels if share else table.labels
        if effect:
            table = at_site(table, spread, effect, np.random.default_rng([seed, 1, place]))
        tables[f"c{place}"], right = table.replace(labels=labels), table
    return tables, right


def _run(tables: Tables, right: fb.Table, lie: str) -> Valuation:
    settings, rules = fb.Cards(), RowRules()
    server = settings.server(list(tables), None, settings.space(None), rules=rules, seed=0)
    halves = {name: settings.client(table, rules=rules, seed=0) for name, table in tables.items()}
    other = settings.client(right, rules=rules, seed=0)
    said: dict[str, Callable[[Message, Reply], Reply]] = {
        "": lambda _, reply: reply,
        "perfect": lambda _, reply: _perfect(reply),
        "zeros": lambda _, reply: replace(reply, arrays={key: 0.0 * told for key, told in reply.arrays.items()}),
        "of right labels": lambda message, _: other.answer(message),
    }
    if lie == "of right labels":
        other.answer(server.tasks()[LIAR])
    while tasks := server.tasks():
        replies = {name: halves[name].answer(message) for name, message in tasks.items()}
        if LIAR in replies and (
            "likelihood" in replies[LIAR].arrays or (lie == "of right labels" and tasks[LIAR].kind != "card")
        ):
            replies[LIAR] = said[lie](tasks[LIAR], replies[LIAR])
        server.absorb(replies)
    return server.result()


def _perfect(reply: Reply) -> Reply:
    """Evidence of rows without any surprise."""
    told = {**reply.arrays, "likelihood": -1e4 * SHARES}
    for name in ("labels", "features"):
        told[name] = np.zeros_like(told[name])
        told[name][0] = reply.arrays[name].sum()
    return replace(reply, arrays=told)


def _disputed(result: Valuation, client: str) -> bool:
    return result.outcomes[client].has("judging.disputed")


if __name__ == "__main__":
    main()
