"""A data owner's report of its own rows: which look wrong, why, and what to do; for the owner alone."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.data.objects import as_table
from fedbary.errors import DataError, SettingsError
from fedbary.space.row_identity import order_digest
from fedbary.valuation.rows import MEASURED, RowFacts, are_called
from fedbary.valuation.storage import row_file_names
from fedbary.views.advice import typed_name
from fedbary.views.coordinator import how_it_was_made
from fedbary.views.html_file import json_inside_html, render, result_folder, write_page
from fedbary.views.plots import label_pairs, row_map, site_effects, value_histogram
from fedbary.views.plots.row_plots import MOST_ROWS, doubts, given_labels, numeric_label, row_points
from fedbary.views.rows import MOST_PICTURES, images_of, listed_rows, row_table
from fedbary.views.tables import main_columns
from fedbary.wording import counted, dash, headline_percent, on_one_line, percent, sigmas, times, whole_percent

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.data.table import Table
    from fedbary.valuation.result import ImageShape, Valuation

# So many pairs of labels are a sentence; more are a picture. So many columns that lack cells fit a page.
_MOST_PAIRS, _MOST_LACKING = 4, 20
# Of a larger table only the rows that the page shows are looked at.
_MOST_WHOLE = 65_536
_WRONG_CLASSES = (
    " It is an estimate of labels that were replaced at random, without a guarantee; where two classes are mixed up "
    "throughout, more may be wrong."
)
_WRONG_NUMBERS = (
    " It is an estimate of numbers that clean rows hardly have, without a guarantee; smaller errors are not seen, so "
    "more may be wrong."
)


def write_owner_report(
    result: Valuation, path: str | Path, *, client: str, table: Any = None, images: ImageShape = "auto"
) -> Path:
    """Write a data owner's report of its own rows; it holds rows, so it is for the owner alone."""
    html = owner_html(result, client=client, table=table, images=images, folder=result_folder(path))
    return write_page(html, path, mode=0o600)


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
        Whether rows are pictures; see `fedbary.views.rows.images_of`.
    folder : str, optional
        The folder that holds the result, as a shell takes it, for commands that can be copied.
    """
    rows, facts, settings = result.rows(client), result.row_facts(client), result.settings
    if table is None and images not in ("auto", None):
        raise SettingsError("views.pictures-need-rows")
    own = None if table is None else _table_of_rows(table, rows, result, client)
    numbers = own is not None and numeric_label(own, result.schema)
    given = [] if own is None else given_labels(own, result.schema)
    shown = own if own is None or len(own) <= _MOST_WHOLE else own.take(listed_rows(rows))
    listed = row_table(rows, shown, given, None if shown is None else images_of(shown, images), numbers=numbers)
    pictures = [site_effects(result, client)]
    if own is not None and result.schema is not None:
        pictures.append(row_map(row_points(result.schema, own, rows, result.target)))
    pictures.append(value_histogram(rows))
    pairs = None if own is None else label_pairs(given, rows, numbers=numbers)
    said = "" if pairs is None or numbers else pairs_in_words(pairs.table)
    pictures.append(None if said else pairs)
    today, (flagged, suspects) = date.today(), map(int, map(np.count_nonzero, doubts(rows)))
    reference = settings.get("reference_rows") is not None or settings.get("protocol") == "sketch"
    file = f"rows-of-{row_file_names([client])[client]}.csv"
    content = {
        "client": client,
        "about": [
            f"{today.day} {today:%B %Y}",
            counted(len(rows), "row"),
            "compared with a reference that the coordinator described" if reference else "compared with other clients",
            "on the machine that holds the rows",
        ],
        "headline": owner_headline(rows, facts),
        "promises": promises(rows, facts, numbers=result.predicts_number),
        "tiles": _tiles(result, rows, facts, client),
        "has_flags": bool(rows["flag"].notna().any()),
        "has_p": bool(rows["p_value"].notna().any()),
        "flagged": flagged,
        "suspects": suspects,
        "commands": _commands(result, rows, facts, client, folder, numbers=numbers),
        # What was found out about all of its rows together.
        "found": [str(note) for note in result.outcomes[client].notes if note.code.startswith("judging.")],
        "listed": listed,
        "row_data": json_inside_html(listed.to_json() | {"file": file}),
        "fewer_pictures": len(listed.pictures) == MOST_PICTURES and listed.rows > MOST_PICTURES,
        "total_rows": counted(len(rows), "row"),
        "sampled": len(rows) > MOST_ROWS,
        "has_target": result.target is not None,
        "numbers": numbers,
        "missing": [] if own is None else _lacking_columns(own),
        "has_table": own is not None,
        "label_pairs": said,
        # Without another sign, whoever holds everybody's rows ran all parties in one process.
        "at_owner": "owner" in settings,
        "ledger_head": settings.get("ledger_head"),
        **how_it_was_made(result, folder),
    }
    drawn = [one for one in pictures if one is not None and len(one.table)]
    return render("owner.html", content, drawn, scripts=("tables.js", "owner.js"))


def _table_of_rows(data: Any, rows: pd.DataFrame, result: Valuation, client: str) -> Table:
    """The client's table in any of its forms, refused unless it holds the valued rows in their order."""
    label = result.settings.get("label") if result.schema is None else result.schema.label.name
    table = as_table(data, name=client, likely=label)
    if not are_called(rows["row"], table):
        raise DataError("views.other-rows", rows=len(table), valued=len(rows), client=client)
    if result.row_facts(client).table not in ("", order_digest(table)):
        raise DataError("views.rows-changed", client=client)
    return table


def pairs_in_words(pairs: pd.DataFrame) -> str:
    """Given and suggested labels as a sentence, where they are so few that a picture would say less; else nothing."""
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
    tiles = []
    flagged, suspects = map(int, map(np.count_nonzero, doubts(rows)))
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


def _commands(
    result: Valuation, rows: pd.DataFrame, facts: RowFacts, client: str, folder: str | None, *, numbers: bool
) -> dict[str, str]:
    """What to type next, and what it does, for a shell where the result lies in a folder, and else for Python."""
    flagged, suspects = (bool(doubted.any()) for doubted in doubts(rows))
    name, data = typed_name(client), "" if client in result.settings.get("sources", {}) else " --data FILE"

    def clean(export: str, how: str, *, also: bool) -> str:
        if folder is None:
            return f"fb.clean(table, result.rows({client!r}){how}{', suspects=True' if also else ''})"
        return f"fedbary rows {folder} --client {name}{data} --export {export}{' --suspects' if also else ''}"

    doable = {}
    if flagged:
        doable[clean("clean", "", also=False)] = "writes your table without the flagged rows"
    if suspects:
        doable[clean("clean", "", also=True)] = "leaves out the suspects, too, of which many may be fine"
    if doable and not numbers and rows["suggested_label"].notna().any():
        mended = "gives rows that are doubted for their label the suggested one, and leaves out those with odd features"
        doable[clean("relabelled", ', "relabel"', also=not flagged)] = mended
    if facts.moving:
        offer = "moves your numbers to where the others' lie: an offer, where they are fine and merely elsewhere"
        moved = f"fb.moved(table, result.row_facts({client!r}))" if folder is None else clean("moved", "", also=False)
        doable[moved] = offer
    return doable


def _lacking_columns(table: Table) -> list[tuple[str, str, str]]:
    """The columns that lack cells, the worst first: in how many rows, and in which share of them."""
    lacking = sorted(((-count, name) for name, count in table.missing().items() if count))[:_MOST_LACKING]
    return [(on_one_line(name), f"{-count:,}", percent(-count / len(table))) for count, name in lacking]


def owner_headline(rows: pd.DataFrame, facts: RowFacts) -> str:
    """What is wrong with the rows, in one line."""
    total = len(rows)
    flag, suspect = doubts(rows)
    flagged, suspects = rows[flag], int(np.count_nonzero(suspect))
    if rows["flag"].isna().all() and not suspects:
        return f"{counted(total, 'row')}, ranked; this run flags none."
    if not flagged.empty:
        reasons = (("label", "by their label"), ("features", "by their features"))
        counts = [(int((flagged["reason"] == reason).sum()), words) for reason, words in reasons]
        parts = [f"{count:,} {words}" for count, words in counts if count]
        if len(parts) == 1 and len(flagged) > 1:
            parts = ["all" + parts[0].removeprefix(f"{len(flagged):,}")]
        look = "row looks" if total == 1 else "rows looks" if len(flagged) == 1 else "rows look"
        more = f"; {suspects:,} more {'is' if suspects == 1 else 'are'} suspect" if suspects else ""
        return f"{len(flagged):,} of {total:,} {look} wrong{': ' + ', '.join(parts) if parts else ''}{more}."
    # Nobody may read that all is well where a share of wrong labels is estimated.
    wrong = facts.wrong_labels
    doubted = 0 if wrong is None else round(wrong.share * total)
    if suspects:
        share = f"{100 * wrong.share:.0f} %" if wrong is not None and doubted else ""
        estimate = f": about {share} of the labels are estimated to be wrong" if share else ""
        are = "is" if suspects == 1 else "are"
        return f"{suspects:,} of {total:,} rows {are} suspect, though none is flagged{estimate}."
    none = "The one row is not flagged" if total == 1 else f"None of the {total:,} rows is flagged"
    if not doubted:
        return f"{none}."
    return f"{none}, but about {doubted:,} of the labels {'is' if doubted == 1 else 'are'} estimated to be wrong."


def promises(rows: pd.DataFrame, facts: RowFacts, *, numbers: bool = False) -> dict[str, str]:
    """Titles and sentences: what a flag means, what it does not, and what was not tested."""
    flagged, suspects = map(int, map(np.count_nonzero, doubts(rows)))
    has_flags, promise, rate = rows["flag"].notna().any(), str(facts.guarantee), facts.guarantee.facts.get("rate")
    said = {}
    if not has_flags:
        said["Why nothing is flagged"] = (
            f"This run ranks rows and flags none ({promise}). The least valuable rows come first: look at these, and "
            "stop where they look right."
        )
    elif facts.guarantee.code == MEASURED and isinstance(rate, float):
        many = f"about {round(rate * flagged):,}" if round(rate * flagged) else "hardly any"
        here = f"Of the {counted(flagged, 'row')} here, expect {many} to be fine."
        here = here if flagged else "No row stands out so clearly here."
        said["How far to trust the flags"] = f"{promise[0].upper()}{promise[1:]}. {here}"
    else:
        nothing = f"Nothing is promised about how many flagged rows are in fact fine: {promise}."
        said["How far to trust the flags"] = nothing
    if has_flags:
        said["What a flag means"] = (
            "The label does not fit the measurements, or these are odd among your own rows. That can be a mistake, or "
            "something rare and right, such as an uncommon case: look at a row before you remove it."
        )
    if suspects:
        said["What a suspect is"] = (
            f"{counted(suspects, 'row')} below the flagged ones, the worst of the rest, up to the number that is "
            "estimated to be bad. Nothing is promised of them: many may be fine."
        )
    if (wrong := facts.wrong_labels) is not None:
        many_wrong = round(wrong.share * len(rows))
        estimated = "No label is estimated to be wrong."
        if many_wrong:
            estimated = (
                f"About {whole_percent(wrong.share)} of the labels ({100 * wrong.low:.0f}–{100 * wrong.high:.0f} %), "
                f"{counted(many_wrong, 'row')}, {'is' if many_wrong == 1 else 'are'} estimated to be wrong, flagged or "
                "not."
            )
        said["Wrong labels, estimated"] = estimated + (_WRONG_NUMBERS if numbers else _WRONG_CLASSES)
    if facts.untested and has_flags:
        said["Not tested"] = (
            f"{counted(facts.untested, 'row')} could not be tested, because others have hardly any rows of their "
            "class. They are ranked, but never flagged."
        )
    return said
