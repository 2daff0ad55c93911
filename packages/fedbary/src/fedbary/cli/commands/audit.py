"""`fedbary audit`: what a dishonest server could learn under an owner's policy, by trying it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbary.cli.ui.client_files import read_reference
from fedbary.cli.ui.completion import one_of
from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import OWN_READING, Json, RowId, Seed, refuse_file
from fedbary.cli.ui.progress import spinner
from fedbary.cli.ui.protocol_options import chosen_protocol
from fedbary.cli.ui.settings_options import with_settings
from fedbary.data.options import ReadOptions
from fedbary.errors import SettingsError
from fedbary.protocols.registry import DEFAULT, PROTOCOLS

if TYPE_CHECKING:
    from fedbary.auditing import Audit

EXPOSED = 3


@with_settings(reading=OWN_READING)
def audit(
    table: Annotated[
        str | None,
        typer.Argument(help="Your file, folder of images or database. Default: a stand-in.", show_default=False),
    ] = None,
    *,
    label: Annotated[str, typer.Option(metavar="COL", help="The label column.")] = "label",
    row_id: RowId = None,
    reference: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rows that the server has. Default: a third of yours."),
    ] = None,
    policy: Annotated[Path | None, typer.Option(metavar="FILE", help="Your policy file. Default: defaults.")] = None,
    unguarded: Annotated[bool, typer.Option("--unguarded", help="No policy and no ledger, as in one process.")] = False,
    protocol: Annotated[
        str, typer.Option(metavar="NAME", help=f"{', '.join(PROTOCOLS)}.", autocompletion=one_of(*PROTOCOLS))
    ] = DEFAULT,
    epsilon: Annotated[
        float | None,
        typer.Option(help="sketch, cards: the ε that the server asks for. Default: the most your policy allows."),
    ] = None,
    trials: Annotated[int, typer.Option(min=20, help="Owners of each kind in a game; more are surer.")] = 300,
    fail_above: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0.0,
            max=1.0,
            help="Also end with code 3 where the worst attack got more: the share of rows that were rebuilt, or of "
            "known rows that were found at 1 % false alarms.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for the table (.csv, .md), JSON and picture.", show_default=False),
    ] = None,
    png: Annotated[bool, typer.Option("--png", help="Also write the picture as audit.png.")] = False,
    seed: Seed = 0,
    reading: ReadOptions,
    json: Json = False,
) -> None:
    """Attack your own policy and settings as a dishonest server would, and say how far that got.

    TABLE is your file, folder of images or database; without one a public table stands in. The attacks ask the real
    client behind your policy, with a ledger in a temporary folder: rebuilding rows, finding a known row, guessing a
    label, counting a class, provoking refusals, timing; and subtracting the answers to any two questions, of all
    protocols that your policy allows, two versions or two labels of the table, by files or at a node. Nothing is
    sent. Values are beside what is promised.

    Exit code 3: a promise is broken (beyond doubt, at 99.9 %), or --fail-above is exceeded.
    """
    if policy is not None and unguarded:
        raise SettingsError("cli.policy-and-unguarded")
    if png and output is None:
        raise SettingsError("cli.png-without-folder")
    if output is not None:
        refuse_file(output)
        _make(output)
    with spinner() as say:
        say("reading the files")
        from fedbary.auditing import audit as attack
        from fedbary.data.files import read
        from fedbary.guard.policy import OwnerPolicy

        own: Any = "none" if unguarded else "default" if policy is None else OwnerPolicy.load(policy)
        asked: Any = protocol
        if epsilon is not None:
            least = own.min_group if isinstance(own, OwnerPolicy) else OwnerPolicy().min_group
            asked = chosen_protocol(protocol, {"epsilon": epsilon, "min_group": least})
        target = None if reference is None else read_reference(reference, label, row_id, reading)
        agreed = None if target is None else target.reading
        found = attack(
            None if table is None else read(table, label, id=row_id, options=reading, reading=agreed),
            asked,
            policy=own,
            reference=target,
            trials=trials,
            seed=seed,
            progress=say,
        )
        files = {} if output is None else found.save(output)
        if png and output is not None:
            files["png"] = str(found.display().save(output / "audit.png"))
    if json:
        write_json({**found.to_json(), "files": files})
    else:
        _show(found, files)
    if found.broken or (fail_above is not None and found.worst.value > fail_above):
        raise typer.Exit(EXPOSED)


def _make(output: Path) -> None:
    """The folder, before the attacks rather than after them."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError("cli.folder-unwritable", folder=str(output), why=error.strerror) from error


def _show(found: Audit, files: dict[str, str]) -> None:
    from fedbary.cli.ui.tables import bulleted, screen, table
    from fedbary.filling import COMMAND
    from fedbary.wording import counted

    console = screen()
    rows = counted(found.rows, "row")
    console.print(f"{found.protocol}, {found.setting}: {rows}, {found.trials} owners of each kind in every game.\n")
    columns = ("attack", "value", "95 % interval", "promised", "holds")
    console.print(table(columns, found.lines(), numeric=("value", "95 % interval", "promised")))
    console.print(
        "\nA value is the share of rows that were rebuilt, of known rows that were found at 1 % false alarms, or of "
        "right guesses of two (half is chance); docs/audit.md has each attack.\n"
    )
    console.print(bulleted([note.text(COMMAND) for note in found.recommendation]))
    if files:
        console.print("")
        console.print(f"written  {', '.join(files.values())}", soft_wrap=True)
