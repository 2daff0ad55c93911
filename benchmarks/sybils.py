"""One liar under several names: how many verdicts of four honest clients change.

Every client has as many rows of one table. The liar calls each class by the next one's name, and claims rows without
any surprise, which hardly scatter: beside it the honest look bad. Beside its own card it sends copies: the same, of
three and nine times the rows, of rows drawn again from its own, or with noise of a hundredth of each column's
deviation. Counted are honest clients whose verdict is another than beside the liar alone, and honest clients who are
not included. `python benchmarks/sybils.py` prints the table of docs/cards-privacy.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

import fedbary as fb
from fedbary.data.table import Table
from fedbary.judging.evidence import SHARES, UNKNOWN
from fedbary.protocols.cards.client import card_of, card_reply
from fedbary.valuation.rows import RowRules

TABLES = {"digits": 100, "breast-cancer": 55}
HONEST, NAMES = 4, (1, 2, 3)
KINDS = ("identical", "scaled", "drawn again", "1 % noise")


def main() -> None:
    """Print a line for each table, kind of copies and number of names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="one draw only")
    seeds = range(1 if parser.parse_args().smoke else 12)
    print(
        "| table | cards of the liar | other verdicts, 2 names | 3 names | not included, 1 name | 2 names | 3 names |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for table, rows in TABLES.items():
        parts = [_parts(table, rows, seed) for seed in seeds]
        alone = [_verdicts(honest, [liar]) for honest, liar in parts]
        for kind in KINDS:
            found = {1: alone}
            for names in NAMES[1:]:
                found[names] = [
                    _verdicts(honest, _copies(liar, kind, names, seed), scaled=kind == "scaled")
                    for seed, (honest, liar) in zip(seeds, parts, strict=True)
                ]
            changed = [_count(found[names], alone) for names in NAMES[1:]]
            refused = [sum(advice != "include" for one in found[names] for advice in one) for names in NAMES]
            everybody = HONEST * len(seeds)
            print(
                f"| {table} | {kind} | " + " | ".join(f"{n} of {everybody}" for n in [*changed, *refused]) + " |",
                flush=True,
            )


def _parts(name: str, rows: int, seed: int) -> tuple[list[Table], Table]:
    """The honest clients' tables, and the liar's."""
    train = fb.datasets.load(name).train
    *honest, liar = fb.partitions.by_size(train, [rows] * (HONEST + 1), seed=seed).clients.values()
    classes = np.unique(np.asarray(train.labels))
    wrong = classes[(np.searchsorted(classes, np.asarray(liar.labels)) + 1) % len(classes)]
    return honest, liar.replace(labels=wrong)


def _copies(liar: Table, kind: str, names: int, seed: int) -> list[Table]:
    """The liar's own table first, then what its other names have."""
    found = [liar]
    for place in range(1, names):
        rng = np.random.default_rng([seed, place])
        if kind == "drawn again":
            found.append(liar.take(rng.integers(0, len(liar), len(liar))))
        elif kind == "1 % noise":
            columns = {name: np.asarray(values, dtype=float) for name, values in liar.columns.items()}
            noisy = {
                name: values + 0.01 * values.std(axis=0) * rng.standard_normal(values.shape)
                for name, values in columns.items()
            }
            found.append(liar.replace(columns=noisy))
        else:
            found.append(liar)
    return found


def _verdicts(honest: list[Table], liars: list[Table], *, scaled: bool = False) -> list[str]:
    """Of the honest clients, in their order."""
    settings, rules = fb.Cards(), RowRules()
    tables = {f"client_{place}": table for place, table in enumerate([*honest, *liars])}
    server = settings.server(list(tables), None, settings.space(None), rules=rules, seed=0)
    halves = {name: settings.client(table, rules=rules, seed=0) for name, table in tables.items()}
    while tasks := server.tasks():
        replies = {name: halves[name].answer(message) for name, message in tasks.items()}
        if scaled and "card" in {message.kind for message in tasks.values()}:
            for place in range(1, len(liars)):
                name = f"client_{HONEST + place}"
                card, times = card_of(replies[name]), 3**place
                many = {part: times * getattr(card, part) for part in ("rows", "counts", "sums", "second")}
                replies[name] = card_reply(replace(card, **many))
        for name in list(tables)[HONEST:]:
            if name in replies and "likelihood" in replies[name].arrays:
                replies[name] = replace(replies[name], arrays=_perfect(replies[name].arrays))
        server.absorb(replies)
    advice = {opinion.client: opinion.advice.value for opinion in server.result().verdict()}
    return [advice[f"client_{place}"] for place in range(HONEST)]


def _perfect(told: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What a client would say whose rows are as a model expects them, and nearer."""
    first = {name: np.eye(1, len(told[name]))[0] * told[name].sum() for name in ("labels", "features")}
    return {**told, **first, "likelihood": -1e3 * SHARES, "scatter": np.where(told["scatter"] > UNKNOWN, -3.0, UNKNOWN)}


def _count(found: list[list[str]], alone: list[list[str]]) -> int:
    return sum(one != other for both in zip(found, alone, strict=True) for one, other in zip(*both, strict=True))


if __name__ == "__main__":
    main()
