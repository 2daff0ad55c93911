"""`fedbary ask`: questions as files, for data owners who have no server to talk to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from fedbary.cli.ui.completion import one_of
from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import OWN_READING, Json, Label, RowId
from fedbary.cli.ui.protocol_options import PROTOCOL_OPTIONS, chosen_protocol
from fedbary.cli.ui.settings_options import SettingsOf, with_settings
from fedbary.data.options import ReadOptions
from fedbary.protocols.registry import PROTOCOLS
from fedbary.space.options import Space
from fedbary.valuation.rows import RowRules


@with_settings(
    protocol_options=PROTOCOL_OPTIONS,
    rules=SettingsOf(RowRules, panel="Flags"),
    space=SettingsOf(Space, panel="How rows become points"),
    reading=OWN_READING,
)
def ask(
    *,
    label: Label,
    reference: Annotated[
        Path | None, typer.Option(help="Validation rows to compare with; they stay here.", metavar="FILE")
    ] = None,
    row_id: RowId = None,
    client: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Whom you ask; may be repeated. Left out: one question for anybody."),
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The study's folder.")] = Path("study"),
    protocol: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Which protocol; one of several rounds needs --client.",
            rich_help_panel=PROTOCOL_OPTIONS.panel,
            autocompletion=one_of(*PROTOCOLS),
        ),
    ] = "sketch",
    protocol_options: Mapping[str, object],
    rules: RowRules,
    space: Space,
    reading: ReadOptions,
    seed: Annotated[int, typer.Option(min=0, help="Makes the run repeatable.")] = 0,
    json: Json = False,
) -> None:
    """Write questions that you send to data owners as files: by e-mail, on a stick, as you like.

    The folder gets question.fb, or one question for each --client. An owner answers with `fedbary answer` and sends
    the answer back; `fedbary value FOLDER ANSWERS` reads the answers, and asks on where the protocol has further
    rounds. Your validation rows stay here: what leaves of them is what `fedbary show` prints of a question.
    """
    from fedbary.cli.ui.progress import progress
    from fedbary.cli.ui.study import NAME, Study, is_study
    from fedbary.cli.ui.tables import screen
    from fedbary.cli.ui.terminal_text import visible
    from fedbary.errors import SettingsError, Waiting
    from fedbary.guard.node import Asked

    if is_study(output):
        raise SettingsError("cli.study-exists", folder=str(output))
    asked = Asked(chosen_protocol(protocol, protocol_options), rules, {})
    place = None if reference is None else str(reference.resolve())
    names = None if client is None else tuple(client)
    study = Study(asked, space, seed, label, row_id, place, names, reading)
    with progress("reading the reference") as listener:
        try:
            study.run(output, wait=True, progress=listener)
        except Waiting:
            study.save(output)
    questions = sorted(output.glob("*.fb"))
    if json:
        write_json({"study": output / NAME, "questions": questions})
        return
    console = screen()
    for file in questions:
        console.print(f"written  {visible(file)}", soft_wrap=True)
    whom = "every data owner" if client is None else "its owner"
    first = questions[0].name
    console.print(f"\nSend {'it' if len(questions) == 1 else 'each'} to {whom}, who answers with", soft_wrap=True)
    console.print(f"  fedbary answer TABLE {visible(first)} -o NAME.answer", soft_wrap=True)
    console.print(f"and read what comes back with\n  fedbary value {visible(output)} *.answer", soft_wrap=True)
