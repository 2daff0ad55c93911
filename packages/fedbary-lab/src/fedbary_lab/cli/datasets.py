"""`fedbary datasets`: which data sets can be loaded by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fedbary.cli.ui.command import command
from fedbary.cli.ui.options import argument, one_of
from fedbary.views.page import Grid, Page
from fedbary_lab.cli.completion import DATASETS


@command("fedbary datasets mnist")
def datasets(
    name: str | None = argument("One of them. Default: all.", default=None, autocompletion=one_of(*DATASETS)),
) -> Page:
    """List the data sets that fedbary loads by name, how large they are, and where they come from.

    A data set that is not on this machine is looked for in the folder FEDBARY_DATA and in the user's cache, and
    otherwise fetched once from OpenML. In Python: fb.datasets.load("digits"). This command fetches nothing. Data sets
    that other installed packages offer are listed with the package; how large they are is not known before they are
    loaded.
    """
    from fedbary_lab.datasets import describe

    known: list[dict[str, Any]] = describe().to_dict("records")  # type: ignore[assignment]
    known += _offered_by_others(known)
    if name is not None:
        known = [_named(name, known)]
    columns = ("name", "rows", "features", "classes", "available", "where")
    return Page([Grid(columns, _cells(known), ("rows", "features", "classes"))], {"datasets": known})


def _offered_by_others(known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from fedbary.data.datasets import DATASETS

    others = [name for name in DATASETS.offered() if name not in {entry["name"] for entry in known}]
    unknown = dict.fromkeys(("rows", "features", "classes", "task"))
    return [{"name": name, **unknown, "available": True, "where": DATASETS.package(name)} for name in others]


def _named(name: str, known: list[dict[str, Any]]) -> dict[str, Any]:
    from fedbary.checks import did_you_mean
    from fedbary.errors import SettingsError

    names = [entry["name"] for entry in known]
    if name not in names:
        raise SettingsError("cli.no-dataset", name=name, guess=did_you_mean(name, names), known=", ".join(names))
    return known[names.index(name)]


def _cells(known: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    return [
        (
            entry["name"],
            *(
                ("–", "–", "–")
                if entry["rows"] is None
                else (f"{entry['rows']:,}", entry["features"], entry["classes"] or "number")
            ),
            "yes" if entry["available"] else "no",
            Path(entry["where"]).parent if entry["where"].endswith(".npz") and entry["available"] else entry["where"],
        )
        for entry in known
    ]
