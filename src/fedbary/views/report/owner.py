"""A data owner's report of its own rows: which look wrong, why, and what to do; for the owner alone."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any

from fedbary.errors import SettingsError
from fedbary.valuation.scored_rows import PROVED, RowFacts
from fedbary.valuation.storage import row_file_names
from fedbary.views.plots import label_pairs, row_map, value_histogram
from fedbary.views.plots.bundle import json_inside_html
from fedbary.views.plots.page import render
from fedbary.views.report.learned import learned
from fedbary.views.report.promises import owner_headline, promises
from fedbary.views.report.row_table import MOST_PICTURES, RowTable, row_table
from fedbary.views.report.thumbnails import images_of
from fedbary.views.row_map import MOST_ROWS, given_labels, numeric_label, row_points, table_of_rows
from fedbary.wording import counted, percent

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.data.table import Table
    from fedbary.valuation.result import ImageShape, Valuation
    from fedbary.views.plots import Display

_LONGEST_TYPED = 60


def owner_html(
    result: Valuation, *, client: str, table: Any = None, images: ImageShape = "auto", folder: str | None = None
) -> str:
    """The report of one client's rows as HTML; it holds rows.

    Parameters
    ----------
    result : Valuation
        A result that knows the client's row values.
    client : str
        Whose rows.
    table : Table, (X, y) or DataFrame, optional
        The rows themselves, for labels, columns, the map and pictures; they must be those that were valued.
    images : {"auto"}, None or (height, width) or (height, width, channels)
        Whether rows are pictures; see `fedbary.views.report.thumbnails.images_of`.
    folder : str, optional
        The folder that holds the result, as a shell takes it, for commands that can be copied.

    Examples
    --------
    >>> import fedbary as fb
    >>> digits = fb.datasets.load("digits")
    >>> mine, _ = fb.corruptions.flip_labels(digits.train.take(range(100)), 0.1, seed=0)
    >>> result = fb.value({"me": mine}, digits.test, seed=0)
    >>> "It is for their owner; do not send it to the coordinator." in owner_html(result, client="me", table=mine)
    True
    """
    rows, row_facts = result.rows(client), result.row_facts(client)
    if table is None and images not in ("auto", None):
        raise SettingsError("views.pictures-need-rows")
    own = None if table is None else table_of_rows(table, rows, row_facts, client=client, label=_label_name(result))
    numbers = own is not None and numeric_label(own, result.schema)
    given = [] if own is None else given_labels(own, result.schema)
    listed = row_table(rows, own, given, None if own is None else images_of(own, images), numbers=numbers)
    drawn = _pictures(result, rows, own, given, numbers=numbers)
    content = _facts(result, rows, row_facts, client, listed, numbers=numbers, folder=folder) | {
        "has_table": own is not None
    }
    content |= {"drawn": {one.name: one.title for one in drawn}, "row_data": _embedded(listed, client)}
    return render("owner.html", content, drawn, package="fedbary.views.report", scripts=("tables.js", "owner.js"))


def _label_name(result: Valuation) -> str | None:
    return result.settings.get("label") if result.schema is None else result.schema.label.name


def _pictures(
    result: Valuation, rows: pd.DataFrame, table: Table | None, given: list[str], *, numbers: bool
) -> list[Display]:
    drawn: list[Display | None] = []
    if table is not None and result.schema is not None:
        drawn.append(row_map(row_points(result.schema, table, rows, result.target)))
    drawn.append(value_histogram(rows))
    if table is not None:
        drawn.append(label_pairs(given, rows, numbers=numbers))
    return [one for one in drawn if one is not None and len(one.table)]


def _facts(
    result: Valuation,
    rows: pd.DataFrame,
    facts: RowFacts,
    client: str,
    listed: RowTable,
    *,
    numbers: bool,
    folder: str | None,
) -> dict[str, Any]:
    settings = result.settings
    has_flags = bool(rows["flag"].notna().any())
    flagged = int(rows["flag"].fillna(False).astype(bool).sum())
    # Without another sign, whoever holds everybody's rows ran all parties in one process.
    at_owner = "owner" in settings
    mend = not numbers and bool(rows["suggested_label"].notna().any())
    return {
        "client": client,
        "headline": owner_headline(rows, facts),
        "promises": promises(rows, facts, settings),
        "tiles": _tiles(rows, facts),
        "has_flags": has_flags,
        "flagged": flagged,
        "commands": _commands(client, "--data FILE" if at_owner else "", folder or "DIR", mend=mend) if flagged else [],
        "columns": listed.columns,
        "plain": listed.plain(),
        "pictures": listed.pictures,
        "fewer_pictures": len(listed.pictures) == MOST_PICTURES and listed.rows > MOST_PICTURES,
        "shown_rows": f"{listed.rows:,}",
        "total_rows": counted(len(rows), "row"),
        "left_out": f"{listed.left_out:,}" if listed.left_out else "",
        "columns_left_out": listed.columns_left_out,
        "sampled": len(rows) > MOST_ROWS,
        "has_target": result.target is not None,
        "with_reference": settings.get("reference_rows") is not None or settings.get("protocol") == "sketch",
        "numbers": numbers,
        "at_owner": at_owner,
        "learned": learned(settings),
        "protocol": str(settings.get("protocol", "unknown")),
        "ledger_head": settings.get("ledger_head"),
        "versions": dict(settings.get("versions", {})),
        "schema": None if result.schema is None else result.schema.fingerprint,
    }


def _tiles(rows: pd.DataFrame, facts: RowFacts) -> list[tuple[str, str]]:
    tiles = [("rows", f"{len(rows):,}")]
    if rows["flag"].notna().any():
        flagged = rows[rows["flag"].fillna(False).astype(bool)]
        about = flagged["reason"].fillna("")
        tiles.append(("flagged", f"{len(flagged):,} ({percent(len(flagged) / len(rows))})" if len(flagged) else "none"))
        if rows["reason"].notna().any():
            tiles.append(("doubted for their label", f"{int(about.str.contains('label').sum()):,}"))
            tiles.append(("doubted for their features", f"{int(about.str.contains('features').sum()):,}"))
    if facts.wrong_labels is not None:
        tiles.append(("wrong labels, estimated", percent(facts.wrong_labels.share)))
    if facts.guarantee.code == PROVED:
        tiles.append(("false-discovery rate", f"at most {100 * float(str(facts.guarantee.facts['rate'])):g} %"))
    return tiles


def _commands(client: str, more: str, folder: str, *, mend: bool) -> list[dict[str, str]]:
    """What to type next; a name that cannot be copied into a shell is left for the owner to type."""
    name = quote(client) if client.isprintable() and len(client) <= _LONGEST_TYPED else "NAME"
    mended = "gives rows that are flagged for their label the suggested one, and leaves out those flagged for features"
    done = {"clean": "writes your table without the flagged rows", **({"relabelled": mended} if mend else {})}
    return [
        {"line": f"fedbary rows {folder} --client {name} --export {how} {more}".strip(), "what": what}
        for how, what in done.items()
    ]


def _embedded(listed: RowTable, client: str) -> Any:
    from markupsafe import Markup

    file = f"rows-of-{row_file_names([client])[client]}.csv"
    return Markup(json_inside_html(listed.to_json() | {"file": file}))  # noqa: S704 - JSON without markup
