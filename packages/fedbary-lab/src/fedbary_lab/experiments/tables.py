"""From records to tables: mean and spread over seeds, and Markdown that reads well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def mean_and_spread(records: pd.DataFrame, keys: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    """One row per combination of keys, in order of appearance: ``m`` and ``m_sd`` of every metric, and counts.

    ``seeds`` counts the records without an error, ``errors`` the others, and ``error`` says what they were.
    """
    import pandas as pd

    records = records.reindex(columns=[*dict.fromkeys([*records.columns, *keys, *metrics, "error"])])
    rows = []
    for names, group in records.groupby(list(keys), sort=False, dropna=False):
        row = dict(zip(keys, names, strict=True))
        for metric in metrics:
            known = group[metric].dropna().astype(float)
            row[metric] = known.mean() if len(known) else np.nan
            row[f"{metric}_sd"] = known.std(ddof=1) if len(known) > 1 else np.nan
        errors = group["error"].dropna()
        rows.append(row | {"seeds": len(group) - len(errors), "errors": len(errors), "error": " | ".join(set(errors))})
    return pd.DataFrame(rows)


def stacked(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Tables of different metrics one below the other; where a table knows no floor of a metric, none is missed."""
    import pandas as pd

    final = pd.concat(parts, ignore_index=True)
    missed = [name for name in map(str, final) if name.endswith("_missed")]
    return final.assign(**{name: final[name] == True for name in missed})  # noqa: E712 (neither is a missing value)


def pivots(
    final: pd.DataFrame,
    *,
    by: str,
    down: Sequence[str],
    across: str,
    titles: Mapping[str, str],
    digits: int | Mapping[str, int] = 3,
) -> str:
    """Markdown: for each value of ``by`` and each metric one table, ``down`` × ``across``; errors below.

    ``digits`` after the point may differ from metric to metric. Where ``final`` has a column ``m_missed`` for a metric
    ``m``, the numbers in which it is true are bold.
    """
    parts = []
    for name, group in final.groupby(by, sort=False):
        parts.append(f"## {name}\n")
        for metric, title in titles.items():
            shown = group[group.groupby(across)[metric].transform("count") + group["errors"] > 0]
            if shown[metric].notna().any():
                shape = digits if isinstance(digits, int) else digits[metric]
                parts.append(f"**{title}**\n\n{_pivot(shown, down, across, metric, shape)}\n")
    return "\n".join([*parts, *errors(final, [by, across])]).rstrip() + "\n"


def errors(final: pd.DataFrame, keys: Sequence[str]) -> list[str]:
    """A Markdown section with what went wrong and where, or nothing."""
    lines = final.loc[final["errors"] > 0, [*keys, "error"]].drop_duplicates().itertuples(index=False, name=None)
    found = [
        # A cell that failed as a whole has no method, or no fault.
        f"- {', '.join(str(one) for one in where if one == one)}: {' '.join(str(error).split())[:300]}"  # noqa: PLR0124
        for *where, error in lines
    ]
    return ["## Errors\n", *found] if found else []


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table of texts."""
    lines = ["| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows)]
    return "\n".join(lines)


def number(mean: float, spread: float = np.nan, digits: int = 3) -> str:
    """A mean with its spread; a dash for nothing.

    Examples
    --------
    >>> number(0.98765, 0.00321), number(1.0), number(float("nan"))
    ('0.988 ± 0.003', '1.000', '–')
    """
    if not np.isfinite(mean):
        return "–"
    return f"{mean:.{digits}f}" + (f" ± {spread:.{digits}f}" if np.isfinite(spread) else "")


def _pivot(group: pd.DataFrame, down: Sequence[str], across: str, metric: str, digits: int) -> str:
    columns = list(group[across].unique())
    cells = {
        (*(row[key] for key in down), row[across]): "error"
        if row["errors"] and not row["seeds"]
        else _marked(number(row[metric], row[f"{metric}_sd"], digits), missed=bool(row.get(f"{metric}_missed")))
        for row in group.to_dict("records")
    }
    places = group[list(down)].dropna().drop_duplicates().itertuples(index=False, name=None)
    rows = [[*map(str, place), *(cells.get((*place, column), "–") for column in columns)] for place in places]
    return markdown_table([*down, *map(str, columns)], rows)


def _marked(text: str, *, missed: bool) -> str:
    return f"**{text}**" if missed else text
