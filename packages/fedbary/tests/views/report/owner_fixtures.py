"""Owners with made-up row values, so that every number on the page is known."""

import numpy as np

import fedbary as fb
from fedbary.guard.owner_files import owner_view
from fedbary.judging.federation import Estimate
from fedbary.notes import Note
from fedbary.valuation.rows import MEASURED, RowFacts, ScoredRows, row_frame

HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<a href='https://x.y'>k</a>", "[/oops]", "=1+1",
    "\"it's\"", "x" * 300, "\u202eمستشفى", "👩‍🔬",
]  # fmt: skip
SETTINGS = {"protocol": "sketch", "min_group": 5, "fdr": 0.1, "sketch_points": 12, "reference_rows": "unknown"}
FACTS = RowFacts(Note(MEASURED, {"rate": 0.1}), wrong_labels=Estimate(0.1, 0.05, 0.15))


def values_of(table: fb.Table, *, flagged: int, suspects: int = 0, classes=("cat", "dog")):
    """Row k has value k − rows; the first ``flagged`` rows are flagged, in turn for label and features.

    The next ``suspects`` rows are suspects.
    """
    rows, reasons = len(table), np.array(["label", "features"], dtype=object)
    return row_frame(
        table.row_names,
        np.arange(rows, dtype=float) - rows,
        feature_p=(np.arange(rows) + 1) / (rows + 1),
        label_p=(np.arange(rows) + 1) / (rows + 2),
        p_value=np.minimum(1.0, 2 * (np.arange(rows) + 1) / (rows + 2)),
        flag=np.arange(rows) < flagged,
        suspect=(np.arange(rows) >= flagged) & (np.arange(rows) < flagged + suspects),
        reason=reasons[np.arange(rows) % 2],
        suggested_label=np.array(classes, dtype=object)[np.arange(rows) // 2 % len(classes)],
    )


def animals(rows: int = 90, seed: int = 0) -> fb.Table:
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 2, rows)
    columns = {
        "weight": np.where(np.arange(rows) % 10 == 9, np.nan, rng.normal(4.0 + 6.0 * kinds, 1.0)),
        "tame": rng.random(rows) < 0.5,
        "place": np.array(["farm", "town", None], dtype=object)[np.arange(rows) % 3],
    }
    names = np.array([f"a{i}" for i in range(rows)], dtype=object)
    return fb.Table(columns, np.array(["cat", "dog"], dtype=object)[kinds], ids=names, origin="shelter")


def hostile_table(rows: int = 45) -> fb.Table:
    rng = np.random.default_rng(1)
    texts = np.array(HOSTILE, dtype=object)
    columns = {
        HOSTILE[0]: rng.normal(size=rows),
        HOSTILE[4]: rng.normal(size=rows),
        "value": texts[np.arange(rows) % 9],
    }
    names = np.array([f"{HOSTILE[i % 9]} {i}" for i in range(rows)], dtype=object)
    return fb.Table(columns, texts[np.arange(rows) % 5], ids=names, label_name="=label", id_name="<b>id</b>")


def pictures(rows: int, side: int = 28) -> fb.Table:
    """Bright squares at random places."""
    rng = np.random.default_rng(2)
    blocks = np.zeros((rows, side, side), dtype=np.float32)
    for block, (top, left) in zip(blocks, rng.integers(0, side - 8, (rows, 2)), strict=True):
        block[top : top + 8, left : left + 8] = rng.random((8, 8))
    return fb.Table.from_arrays(blocks, rng.integers(0, 3, rows))


def view_of(table: fb.Table, frame, client: str = "shelter", facts: RowFacts = FACTS, **settings):
    """What the owner of this table would hold after a run."""
    schema = fb.fit_schema(table)
    target = np.random.default_rng(3).normal(size=(6, schema.point_width))
    return owner_view(client, ScoredRows(frame, facts), SETTINGS | settings, schema, target)
