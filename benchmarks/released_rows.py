"""What it costs that exact answers are made of released rows: guarded clients against trusting ones, in one run.

Five clients of digits, breast-cancer and penguins (islands left out, so that categories and missing cells are among
them), the first with 20 % of its labels flipped; the rest of the rows are the reference of the sketch. Beside each
protocol: the share of rows that are released, clean clients blamed, the spoilt one seen, the AUROC of its row values
and its estimated share of wrong labels. Run: ``python benchmarks/released_rows.py`` (``--seeds 2`` for a quick look).
"""

from __future__ import annotations

import argparse

import numpy as np
import palmerpenguins
from sklearn.metrics import roc_auc_score

import fedbary as fb
from fedbary.protocols.messages import Settings
from fedbary.protocols.released_table import ReleasedTable

PROTOCOLS = {
    "cards, trusted": (fb.Cards(), False),
    "cards, guarded": (fb.Cards(policy="guarded", shared=True), False),
    "sketch, trusted": (fb.Sketch(), True),
    "sketch, guarded": (fb.Sketch(policy="coarsen"), True),
}


def tables() -> dict[str, tuple[fb.Table, int]]:
    penguins = palmerpenguins.load_penguins().drop(columns=["island", "year"])
    return {
        "digits": (fb.datasets.load("digits").train, 200),
        "breast-cancer": (fb.datasets.load("breast-cancer").all(), 90),
        "penguins": (fb.Table.from_frame(penguins, label="species"), 55),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    seeds = parser.parse_args().seeds
    print("| table | protocol | released | clean blamed | seen | AUROC | wrong labels |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, (table, size) in tables().items():
        found: dict[str, list[tuple[float, ...]]] = {protocol: [] for protocol in PROTOCOLS}
        for seed in range(seeds):
            rows = np.random.default_rng(seed).permutation(len(table))
            parts = {f"c{place}": table.take(rows[place * size : (place + 1) * size]) for place in range(5)}
            parts["c0"], flipped = fb.corruptions.flip_labels(parts["c0"], 0.2, seed=seed)
            reference = table.take(rows[5 * size :])
            for protocol, (settings, needs) in PROTOCOLS.items():
                found[protocol].append(_run(parts, reference if needs else None, settings, np.asarray(flipped)))
        for protocol, runs in found.items():
            shares = " | ".join(f"{number:.2f}" for number in np.mean(runs, axis=0))
            print(f"| {name} | {protocol} | {shares} |", flush=True)


def _run(
    parts: dict[str, fb.Table], reference: fb.Table | None, settings: Settings, bad: np.ndarray
) -> tuple[float, ...]:
    result = fb.value(parts, reference, protocol=settings, seed=0)
    clients = result.clients.set_index("client")
    blamed = {opinion.client: opinion.advice.value in ("leave out", "look at first") for opinion in result.verdict()}
    released = 1.0
    if getattr(settings, "policy", "") != "trusted":
        made = [len(ReleasedTable.guarded(part, "classes", 5).places) / len(part) for part in parts.values()]
        released = float(np.mean(made))
    values = result.rows("c0")["value"].to_numpy()
    wrong = np.zeros(len(values), dtype=bool)
    wrong[bad] = True
    auroc = roc_auc_score(wrong, -values)
    clean = np.mean([blamed[name] for name in parts if name != "c0"])
    return released, float(clean), float(blamed["c0"]), float(auroc), float(clients.wrong_labels["c0"])


if __name__ == "__main__":
    main()
