"""`fedbary report`: the coordinator's report of a result, or a data owner's report of its rows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from fedbary.cli.ui.command import command
from fedbary.cli.ui.options import OPEN, SOME_FAILED, argument, flag, one_of, option
from fedbary.cli.ui.options import clients as known_clients
from fedbary.cli.ui.results import ValuedFile, load_result, owner_report_file
from fedbary.cli.ui.results import written as line
from fedbary.cli.ui.terminal import open_file
from fedbary.errors import FedbaryError, SettingsError
from fedbary.views.page import Items, Page, Part

if TYPE_CHECKING:
    from fedbary.valuation.result import ImageShape

_SHAPE = re.compile(r"(\d{1,3})x(\d{1,3})(?:x([13]))?")


@command("fedbary report out --client hospital_a --open")
def report(
    folder: Path = argument("A result folder of `fedbary value`, or of a node of a federation."),
    *,
    client: str | None = option("Write this client's report of its rows.", "NAME", complete=known_clients),
    all_clients: bool = flag("--all-clients", "Write a report for each client."),
    data: str | None = option("The client's file. Default: the one that was valued.", "FILE"),
    label: str | None = option("Its label column. Default: the one that was used.", "COL"),
    row_id: str | None = option("Its column of row ids. Default: the one that was used.", "COL", "--id"),
    images: str = option(
        "Rows as pictures: auto, none, HxW or HxWx3, such as 28x28.",
        "SHAPE",
        default="auto",
        complete=one_of("auto", "none", "28x28", "32x32x3"),
    ),
    output: Path | None = option("The HTML file. Default: in the folder.", "FILE", "-o", "--output"),
    show: bool = OPEN,
) -> Page:
    """Write a report: one HTML file that works offline.

    Without --client it is the coordinator's: whom to include, whom to look at first, and why. It holds no row. With
    --client it is that data owner's: flagged rows and suspects with reasons and suggested labels, a map, and pictures
    where rows are images. It holds rows and is for their owner. In the folder of a federation's node it is always the
    owner's.
    """
    shape = _image_shape(images)
    result = load_result(folder)
    owner = client or result.settings.get("owner")
    if owner is None and not all_clients and (data or label or row_id or shape != "auto"):
        raise SettingsError("cli.report-of-whom")
    if all_clients and (owner is not None or data or output):
        raise SettingsError("cli.all-clients-alone")

    def of_rows(name: str) -> Path:
        """One owner's report, with its rows where their file is known."""
        result.rows(name)  # refuses a client that has none
        file = ValuedFile(result, name, data, row_id, label)
        table = None if file.place is None else file.table()
        return result.report(output or owner_report_file(result, folder, name), client=name, table=table, images=shape)

    written: dict[str, Path] = {}
    failed: dict[str, str] = {}
    if all_clients:
        for name in result.clients["client"]:
            try:
                written[name] = of_rows(str(name))
            except FedbaryError as error:
                failed[name] = str(error)
        if failed and not written:
            raise SettingsError("cli.no-report-written", why=next(iter(failed.values())))
    elif owner is None:
        written["report"] = result.report(output or folder / "report.html")
    else:
        written[owner] = of_rows(owner)
    parts: list[Part] = [line(path) for path in written.values()]
    parts += [Items([f"{name}: {reason}" for name, reason in failed.items()])] if failed else []
    if owner is not None or all_clients:
        many = "They hold rows: each is for its owner."
        parts.append("It holds rows: it is for their owner." if len(written) == 1 else many)
    if show:
        open_file(next(iter(written.values())))
    return Page(parts, {"written": written, "failed": failed}, SOME_FAILED if failed else 0)


def _image_shape(text: str) -> ImageShape:
    """How large the pictures are that rows may be drawn as."""
    if text in ("auto", "none"):
        return "auto" if text == "auto" else None
    sides = _SHAPE.fullmatch(text)
    if sides is None:
        raise SettingsError("cli.images-option", got=text)
    return tuple(int(side) for side in sides.groups() if side is not None)
