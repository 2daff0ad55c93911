"""`fedbary datasets`: which data sets can be loaded by name."""

from __future__ import annotations

from pathlib import Path


def datasets() -> None:
    """List the data sets that fedbary loads by name, how large they are, and where they come from.

    A data set that is not on this machine is looked for in the folder FEDBARY_DATA and in the user's cache, and
    otherwise fetched once from OpenML. In Python: fb.datasets.load("digits").
    """
    from fedbary.cli.screen import screen, table
    from fedbary.data.datasets import describe

    rows = [
        (
            entry["name"],
            f"{entry['rows']:,}",
            entry["features"],
            entry["classes"] or "number",
            "yes" if entry["available"] else "no",
            Path(entry["where"]).parent if entry["where"].endswith(".npz") and entry["available"] else entry["where"],
        )
        for entry in describe().to_dict("records")
    ]
    columns = ("name", "rows", "features", "classes", "available", "where")
    screen().print(table(columns, rows, numeric=("rows", "features", "classes")))
