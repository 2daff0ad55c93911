"""What a client says of its rows beside the distance: shares of wrong labels, odd features and missing cells."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.judging.estimates import Estimate
from fedbary.judging.federation import Judgement
from fedbary.protocols.judged_clients import quality_columns
from fedbary.protocols.messages import Scalar
from fedbary.space.notes import CellCounts, told_missing
from fedbary.space.schema import Schema
from fedbary.valuation.rows import bad_rows

Integers = NDArray[np.int64]

ESTIMATES = ("wrong_labels", "odd_features")
# Every scalar of a reply that is about the rows, in the order of `Estimate.columns`.
ABOUT_ROWS = (*(name + end for name in ESTIMATES for end in ("", "_low", "_high")), "missing")
# Those of a private answer, from which the server makes the others; "missing" is in both.
NOISY = ("doubted", "odd")
# How far a client lies from where the reference expects it, and how many times it scatters as much.
PLACE = ("shift", "blur")
# Digits of the share of missing cells that leave where a server is not trusted.
_DIGITS = 2


def about_rows(
    judgement: Judgement, table: Table, schema: Schema, *, cells: CellCounts, copies: Integers, min_group: int
) -> dict[str, Scalar]:
    """The scalars, exact for ``min_group`` 1; else in whole rows, and 0 for fewer rows than ``min_group``.

    A server that chose the model could read real numbers bit by bit, and a count of one row as whether it is there. So
    the judgement must be of evidence that was made for that ``min_group`` (`fedbary.judging.groups`). Rows that are
    copies of each other have the same number in ``copies``.
    """
    found: dict[str, Scalar] = {}
    for name, estimate in zip(ESTIMATES, (judgement.wrong, judgement.odd), strict=True):
        found |= {key: _in_groups(share, len(table), min_group) for key, share in estimate.columns(name).items()}
    if np.isfinite(judgement.blur):
        found["blur"] = round(judgement.blur, _DIGITS)
    share = float(cells.missing.mean()) / schema.cells
    if min_group > 1:
        # No column says of few rows that they lack a cell, or that they have one.
        shares = told_missing(table, schema, cells, copies, least=min_group)
        lacking = sum(shares[column.name] * column.width for column in schema.columns)
        share = round(lacking / schema.cells, _DIGITS)
    return {**found, "missing": share}


def client_numbers(scalars: Mapping[str, float]) -> dict[str, float]:
    """Columns of ``result.clients`` from a reply's scalars; none of what the reply does not have."""
    found = {name: scalars[name] for name in (*ABOUT_ROWS, *PLACE) if np.isfinite(scalars.get(name, np.nan))}
    if not all(name in found for name in ABOUT_ROWS[:-1]):
        return found
    wrong, odd = (Estimate(found[name], found[f"{name}_low"], found[f"{name}_high"]) for name in ESTIMATES)
    return {**found, **quality_columns(bad_rows(odd, wrong))}


def _in_groups(share: float, rows: int, min_group: int) -> float:
    if min_group <= 1:
        return share
    count = round(share * rows)
    return 0.0 if count < min_group else 1.0 if rows - count < min_group else count / rows
