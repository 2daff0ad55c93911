"""A data owner's report of its own rows: which look wrong, why, and what to do; for the owner alone."""

from __future__ import annotations

from datetime import date
from shlex import quote
from typing import TYPE_CHECKING, Any

from fedbary.errors import SettingsError
from fedbary.protocols.registry import learned
from fedbary.valuation.rows import RowFacts
from fedbary.valuation.storage import row_file_names
from fedbary.views.plots import label_pairs, row_map, site_effects, value_histogram
from fedbary.views.plots.bundle import json_inside_html
from fedbary.views.plots.client_map import main_columns
from fedbary.views.plots.page import render
from fedbary.views.report.missing_cells import lacking_columns
from fedbary.views.report.promises import owner_headline, promises
from fedbary.views.report.row_table import FLAGGED, MOST_PICTURES, SUSPECT, RowTable, findings, listed_rows, row_table
from fedbary.views.report.thumbnails import images_of
from fedbary.views.row_map import MOST_ROWS, given_labels, numeric_label, row_points, table_of_rows
from fedbary.wording import counted, dash, headline_percent, on_one_line, percent, sigmas, times

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.data.table import Table
    from fedbary.valuation.result import ImageShape, Valuation
    from fedbary.views.plots import Display

_LONGEST_TYPED, _MOVED = 60, "moved"
# So many pairs of labels are a sentence; more are a picture.
_MOST_PAIRS = 4
# Of a larger table only the rows that the page shows are looked at.
_MOST_WHOLE = 65_536


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
    """
    rows, row_facts = result.rows(client), result.row_facts(client)
    if table is None and images not in ("auto", None):
        raise SettingsError("views.pictures-need-rows")
    own = None if table is None else table_of_rows(table, rows, row_facts, client=client, label=_label_name(result))
    numbers = own is not None and numeric_label(own, result.schema)
    given = [] if own is None else given_labels(own, result.schema)
    shown = own if own is None or len(own) <= _MOST_WHOLE else own.take(listed_rows(rows))
    listed = row_table(rows, shown, given, None if shown is None else images_of(shown, images), numbers=numbers)
    drawn = _pictures(result, client, rows, own, given, numbers=numbers)
    pairs = next((one for one in drawn if one.name == "label-pairs"), None)
    said = "" if pairs is None or numbers else pairs_in_words(pairs.table)
    drawn = [one for one in drawn if one is not pairs or not said]
    content = _facts(result, rows, row_facts, client, listed, numbers=numbers, folder=folder)
    content |= {"missing": [] if own is None else lacking_columns(own)}
    content |= {"has_table": own is not None, "label_pairs": said, "row_data": _embedded(listed, client)}
    content |= {"drawn": {one.name: one.title for one in drawn}}
    return render("owner.html", content, drawn, package="fedbary.views.report", scripts=("tables.js", "owner.js"))


def _label_name(result: Valuation) -> str | None:
    return result.settings.get("label") if result.schema is None else result.schema.label.name


def _pictures(
    result: Valuation, client: str, rows: pd.DataFrame, table: Table | None, given: list[str], *, numbers: bool
) -> list[Display]:
    drawn: list[Display | None] = [site_effects(result, client)]
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
    found = [mark for mark in findings(rows) if mark]
    # Without another sign, whoever holds everybody's rows ran all parties in one process.
    at_owner = "owner" in settings
    reference = settings.get("reference_rows") is not None or settings.get("protocol") == "sketch"
    return {
        "client": client,
        "about": _about(len(rows), reference=reference),
        "headline": owner_headline(rows, facts),
        "promises": promises(rows, facts, numbers=result.predicts_number),
        "tiles": _tiles(result, rows, facts, client),
        "has_flags": bool(rows["flag"].notna().any()),
        "has_p": bool(rows["p_value"].notna().any()),
        "flagged": found.count(FLAGGED),
        "suspects": found.count(SUSPECT),
        "commands": _commands(result, rows, facts, client, folder, numbers=numbers),
        "found": _found(result, client),
        "columns": [column for _, column in listed.headings],
        "headings": listed.headings,
        "filters": listed.filters,
        "plain": listed.plain(),
        "pictures": listed.pictures,
        "fewer_pictures": len(listed.pictures) == MOST_PICTURES and listed.rows > MOST_PICTURES,
        "shown_rows": f"{listed.rows:,}",
        "total_rows": counted(len(rows), "row"),
        "left_out": f"{listed.left_out:,}" if listed.left_out else "",
        "columns_left_out": listed.columns_left_out,
        "sampled": len(rows) > MOST_ROWS,
        "has_target": result.target is not None,
        "numbers": numbers,
        "at_owner": at_owner,
        "learned": learned(settings),
        "protocol": str(settings.get("protocol", "unknown")),
        "ledger_head": settings.get("ledger_head"),
        "versions": dict(settings.get("versions", {})),
        "schema": None if result.schema is None else result.schema.fingerprint,
        "folder": folder or "FOLDER",
    }


def _about(rows: int, *, reference: bool) -> list[str]:
    today = date.today()
    return [
        f"{today.day} {today:%B %Y}",
        counted(rows, "row"),
        "compared with a reference that the coordinator described" if reference else "compared with other clients",
        "on the machine that holds the rows",
    ]


def pairs_in_words(pairs: pd.DataFrame) -> str:
    """Given and suggested labels as a sentence, where they are so few that a picture would say less; else nothing.

    Examples
    --------
    >>> import pandas as pd
    >>> pairs_in_words(pd.DataFrame({"given": ["a", "b"], "suggested": ["b", "a"], "rows": [3, 1]}))
    "Of the rows doubted for their label, 3 say 'a' where 'b' is suggested, and 1 says 'b' where 'a' is suggested."
    """
    if len(pairs) > _MOST_PAIRS:
        return ""
    most = pairs.sort_values("rows", ascending=False, kind="stable")
    said = [
        f"{rows:,} {'says' if rows == 1 else 'say'} {on_one_line(str(given))!r} where "
        f"{on_one_line(str(suggested))!r} is suggested"
        for given, suggested, rows in most[["given", "suggested", "rows"]].itertuples(index=False)
    ]
    return f"Of the rows doubted for their label, {', and '.join(filter(None, [', '.join(said[:-1]), said[-1]]))}."


def _tiles(result: Valuation, rows: pd.DataFrame, facts: RowFacts, client: str) -> list[tuple[str, str, str]]:
    """What an owner asks first: a name, a number, and a line to put it into proportion."""
    found, tiles = findings(rows), []
    flagged, suspects = found.count(FLAGGED), found.count(SUSPECT)
    if rows["flag"].notna().any():
        share = f"{percent(flagged / len(rows))} of {counted(len(rows), 'row')}" if flagged else ""
        tiles.append(("flagged", f"{flagged:,}" if flagged else "none", share))
    if rows["suspect"].notna().any():
        tiles.append(("suspects", f"{suspects:,}" if suspects else "none", "without guarantee" if suspects else ""))
    for estimate, title in ((facts.wrong_labels, "wrong labels"), (facts.odd_features, "rows with odd features")):
        if estimate is not None:
            between = f"{100 * estimate.low:.0f} to {100 * estimate.high:.0f} %"
            tiles.append((f"{title}, estimated", headline_percent(estimate.share), between))
    numbers: Any = result.clients.set_index("client").loc[client]
    named = main_columns(result.outcomes[client])
    for name, words in (("shift", sigmas), ("blur", times)):
        if dash(numbers[name]) != "–":
            most = named[f"{name}_columns"]
            tiles.append((f"{name}, against the others", words(numbers[name]), f"most in {most}" if most else ""))
    if dash(numbers["missing"]) != "–":
        tiles.append(("cells missing", headline_percent(numbers["missing"]), ""))
    return tiles or [("rows", f"{len(rows):,}", "ranked, none flagged")]


def _found(result: Valuation, client: str) -> list[str]:
    """What was found out about all of its rows together."""
    return [str(note) for note in result.outcomes[client].notes if note.code.startswith("judging.")]


def _commands(
    result: Valuation, rows: pd.DataFrame, facts: RowFacts, client: str, folder: str | None, *, numbers: bool
) -> list[dict[str, str]]:
    """What to type next, for a shell where the result lies in a folder, and else for Python.

    A name that cannot be copied into a shell is left for the owner to type.
    """
    found = findings(rows)
    doable = [("clean", "", "writes your table without the flagged rows")] if FLAGGED in found else []
    if SUSPECT in found:
        doable.append(("clean", "suspects", "leaves out the suspects, too, of which many may be fine"))
    if doable and not numbers and rows["suggested_label"].notna().any():
        mended = "gives rows that are doubted for their label the suggested one, and leaves out those with odd features"
        doable.append(("relabelled", "" if FLAGGED in found else "suspects", mended))
    if facts.moving:
        offer = "moves your numbers to where the others' lie: an offer, where they are fine and merely elsewhere"
        doable.append((_MOVED, "", offer))
    if folder is None:
        how = {"clean": "", "relabelled": ', "relabel"'}
        also = {"": "", "suspects": ", suspects=True"}
        return [
            {
                "line": f"fb.moved(table, result.row_facts({client!r}))"
                if kind == _MOVED
                else f"fb.clean(table, result.rows({client!r}){how[kind]}{also[more]})",
                "what": what,
            }
            for kind, more, what in doable
        ]
    name = quote(client) if client.isprintable() and len(client) <= _LONGEST_TYPED else "NAME"
    data = "" if client in result.settings.get("sources", {}) else " --data FILE"
    return [
        {
            "line": f"fedbary rows {folder} --client {name}{data} --export {kind}{' --suspects' if more else ''}",
            "what": what,
        }
        for kind, more, what in doable
    ]


def _embedded(listed: RowTable, client: str) -> Any:
    from markupsafe import Markup

    file = f"rows-of-{row_file_names([client])[client]}.csv"
    return Markup(json_inside_html(listed.to_json() | {"file": file}))  # noqa: S704 - JSON without markup
