"""What the privacy guards cost, and what they leave open; digits, one thread, fixed seeds.

First table: `quality` of clean clients under ``policy="coarsen"`` and ``"trusted"``. Second number: in an honest run of
the consensus protocol (two clients with 60 rows of each class, K = 10 points), how many answers differ from those of
the round before by exactly one pair of rows, so that a curious server reads x_i − x_j. Run:
``python benchmarks/guards.py``.
"""

from __future__ import annotations

import argparse

import numpy as np

import fedbary as fb
from fedbary.protocols.messages import Message, Reply
from fedbary.valuation.rules import RowRules

SIZES = (300, 150, 80, 40)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="one draw only")
    draws = 1 if parser.parse_args().smoke else 10
    digits = fb.datasets.load("digits").all()
    print(
        f"quality of clean clients, mean of {draws} draws\n\n| policy | "
        + " | ".join(f"{n} rows" for n in SIZES)
        + " |"
    )
    print("| --- |" + " --- |" * len(SIZES))
    for policy in ("trusted", "coarsen"):
        found = [qualities(digits, policy, seed) for seed in range(draws)]
        print(f"| {policy} | " + " | ".join(f"{q:.3f}" for q in np.nanmean(found, axis=0)) + " |", flush=True)
    swaps, answers = swapped_pairs(digits)
    print(f"\nconsensus: {swaps} of {answers} answers differ from the last round's by one pair of rows")


def qualities(digits: fb.Table, policy: str, seed: int) -> list[float]:
    *clients, reference = fb.partitions.by_size(digits, [*SIZES, 797], seed=seed).clients.values()
    settings = fb.Sketch(policy=policy)  # type: ignore[arg-type]
    named = dict(zip(map(str, SIZES), clients, strict=True))
    return list(fb.value(named, reference, protocol=settings, seed=seed).clients["quality"].astype(float))


def swapped_pairs(digits: fb.Table) -> tuple[int, int]:
    rng = np.random.default_rng(0)
    chosen = [rng.permutation(np.flatnonzero(digits.labels == label)) for label in np.unique(digits.labels)]
    tables = {str(i): digits.take(np.concatenate([rows[60 * i : 60 * i + 60] for rows in chosen])) for i in (0, 1)}
    settings, rules = fb.Consensus(), RowRules()
    server = settings.server(list(tables), None, settings.space(None), rules=rules, seed=0)
    clients = {name: settings.client(table, rules=rules, seed=0) for name, table in tables.items()}
    swaps, answers, last = 0, 0, dict[str, np.ndarray]()
    while tasks := server.tasks():
        replies: dict[str, Reply] = {}
        for name, message in tasks.items():
            replies[name] = clients[name].answer(message)
            if message.kind == "step":
                moved = replies[name].arrays["points"]
                if name in last:
                    swaps += count_swaps(clients[name], message, moved - last[name])
                    answers += int(np.prod(moved.shape[:2]))
                last[name] = moved
        server.absorb(replies)
    return swaps, answers


def count_swaps(client: object, message: Message, moves: np.ndarray) -> int:
    """Points whose answer moved by (x_i − x_j)/6 for two rows of their class: each point takes 6 of 60 rows."""
    found, first = 0, 0
    for group, size in zip(client._groups, message.arrays["sizes"], strict=True):  # type: ignore[attr-defined]
        rows = group.points
        pairs = (rows[:, None] - rows[None]).reshape(-1, rows.shape[1])[:, : moves.shape[2]]
        for start in moves[:, first : first + size]:
            for move in start * (len(rows) / size):
                moved = np.abs(move).max() > 1e-9
                found += bool(moved and np.abs(pairs - move).max(axis=1).min() < 1e-8)
        first += size
    return found


if __name__ == "__main__":
    main()
