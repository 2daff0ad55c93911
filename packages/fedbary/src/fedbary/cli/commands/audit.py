"""`fedbary audit`: what a dishonest server could learn under an owner's policy, by trying it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.command import command
from fedbary.cli.ui.inputs import read_reference
from fedbary.cli.ui.options import LABEL_COLUMN, ROW_ID, SEED, argument, flag, one_of, option, refuse_file
from fedbary.cli.ui.settings import OWN_READING, chosen_protocol
from fedbary.cli.ui.terminal import spinner
from fedbary.data.options import ReadOptions
from fedbary.errors import SettingsError
from fedbary.filling import COMMAND
from fedbary.protocols.registry import DEFAULT, PROTOCOLS
from fedbary.views.page import Grid, Items, Line, Page, Part
from fedbary.wording import counted

if TYPE_CHECKING:
    pass

_EXPOSED = 3


@command("fedbary audit mine.parquet --label diagnosis --policy policy.toml -o audit", reading=OWN_READING)
def audit(
    table: str | None = argument("Your file, folder of images or database. Default: a stand-in.", default=None),
    *,
    label: str = LABEL_COLUMN,
    row_id: str | None = ROW_ID,
    reference: Path | None = option("Rows that the server has. Default: a third of yours.", "FILE"),
    policy: Path | None = option("Your policy file. Default: defaults.", "FILE"),
    unguarded: bool = flag("--unguarded", "No policy and no ledger, as in one process."),
    protocol: str = option(f"{', '.join(PROTOCOLS)}.", "NAME", default=DEFAULT, complete=one_of(*PROTOCOLS)),
    epsilon: float | None = option(
        "sketch, cards: the ε that the server asks for. Default: the most your policy allows."
    ),
    trials: int = option("Owners of each kind in a game; more are surer.", min=20, default=300),
    fail_above: float | None = option(
        "Also end with code 3 where the worst attack got more: the share of rows that were rebuilt, or of known rows "
        "that were found at 1 % false alarms.",
        "SHARE",
        min=0.0,
        max=1.0,
    ),
    output: Path | None = option("Folder for the table (.csv, .md), JSON and picture.", None, "-o", "--output"),
    png: bool = flag("--png", "Also write the picture as audit.png."),
    seed: int = SEED,
    reading: ReadOptions,
) -> Page:
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
    if output is not None:  # before the attacks rather than after them
        refuse_file(output)
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError("cli.folder-unwritable", folder=str(output), why=error.strerror) from error
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
        result = attack(
            None if table is None else read(table, label, id=row_id, options=reading, reading=agreed),
            asked,
            policy=own,
            reference=target,
            trials=trials,
            seed=seed,
            progress=say,
        )
        files = {} if output is None else result.save(output)
        if png and output is not None:
            files["png"] = str(result.display().save(output / "audit.png"))
    exposed = result.broken or (fail_above is not None and result.worst.value > fail_above)
    rows, columns = counted(result.rows, "row"), ("attack", "value", "95 % interval", "promised", "holds")
    parts: list[Part] = [
        f"{result.protocol}, {result.setting}: {rows}, {result.trials} owners of each kind in every game.",
        "",
        Grid(columns, list(result.lines()), ("value", "95 % interval", "promised")),
        "",
        "A value is the share of rows that were rebuilt, of known rows that were found at 1 % false alarms, or of "
        "right guesses of two (half is chance); docs/audit.md has each attack.",
        "",
        Items([note.text(COMMAND) for note in result.recommendation]),
    ]
    if files:
        parts += ["", Line(f"written  {', '.join(files.values())}", whole=True)]
    return Page(parts, {**result.to_json(), "files": files}, _EXPOSED if exposed else 0)
