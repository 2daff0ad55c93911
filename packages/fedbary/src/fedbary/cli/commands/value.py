"""`fedbary value`: value the clients whose data lie in files."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fedbary.cli.ui.client_files import client_paths, given_files, read_reference, require_some_table
from fedbary.cli.ui.interrupts import on_interrupt
from fedbary.cli.ui.options import READING, SOME_FAILED, Config, Files, Json, OnDevice, Open, Output, RowId, require
from fedbary.cli.ui.protocol_options import PROTOCOL_OPTIONS, ProtocolName, chosen_protocol
from fedbary.cli.ui.sent_files import SentFiles
from fedbary.cli.ui.session import session
from fedbary.cli.ui.settings_options import SettingsOf, with_settings
from fedbary.data.options import ReadOptions
from fedbary.protocols.registry import DEFAULT
from fedbary.space.options import Space
from fedbary.valuation.rows import RowRules

_RUN = "The run"


@with_settings(
    protocol_options=PROTOCOL_OPTIONS,
    rules=SettingsOf(RowRules, panel="Flags"),
    space=SettingsOf(Space, panel="How rows become points"),
    reading=READING,
)
def value(
    files: Files = None,
    *,
    label: Annotated[
        str | None, typer.Option(help="The label column; cards and studies know theirs.", metavar="COL")
    ] = None,
    row_id: RowId = None,
    reference: Annotated[
        Path | None,
        typer.Option(help="Validation rows to compare with. Without it: the other clients.", metavar="FILE"),
    ] = None,
    config: Config = None,  # noqa: ARG001 - its callback acts
    output: Output = Path("fedbary-out"),
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write report.html.")] = True,
    show: Open = False,
    json: Json = False,
    protocol: ProtocolName = None,
    protocol_options: Mapping[str, object],
    rules: RowRules,
    space: Space,
    reading: ReadOptions,
    seed: Annotated[int, typer.Option(min=0, help="Makes the run repeatable.", rich_help_panel=_RUN)] = 0,
    workers: Annotated[
        int | None, typer.Option(help="Clients to work on at a time. Default: all cores.", rich_help_panel=_RUN)
    ] = None,
    device: OnDevice = "auto",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from an interrupted run's last round.", rich_help_panel=_RUN)
    ] = False,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait/--no-wait", help="A study of several rounds: wait for everybody's answer.", rich_help_panel=_RUN
        ),
    ] = True,
) -> None:
    """Value every client's data by its Wasserstein distance to a reference, or to what the clients have in common.

    With --worth a client is also valued by what it adds to the others (Shapley values, no training).

    FILES are tables as they are (CSV, Parquet, Excel, JSON lines, Feather), folders of images, quoted globs or a
    folder. Each is one client, called after it; with --client-column one file holds many. Or they are cards (*.card),
    which hold all that is needed; the folder gets a model for each of their owners. Or a folder of `fedbary ask`, with
    answers to its questions: who has answered is valued, and further rounds are asked. A client whose file cannot be
    used is reported with the reason, and the others are valued (exit code 3). The output folder gets the ranked
    clients, the value of every row, a report.html that works offline, and what is needed to repeat the run.
    """
    from fedbary.cli.ui.browser import open_file
    from fedbary.cli.ui.json import write_json
    from fedbary.cli.ui.progress import progress
    from fedbary.cli.ui.read_notes import read_notes
    from fedbary.cli.ui.tables import show_valuation
    from fedbary.cli.ui.written_result import for_programs, with_sources, write_outcome
    from fedbary.compute import computing_on
    from fedbary.valuation.storage import check_output
    from fedbary.views.report.write import check_report

    patterns = given_files(files)
    check_output(output)
    if report:
        check_report(output / "report.html")
    with (
        computing_on(device, "value"),
        progress("reading the files") as listener,
        on_interrupt(lambda: _finished_rounds(output)),
    ):
        from fedbary import LocalEngine, read_clients
        from fedbary import value as run

        sent, guesses = SentFiles.among(patterns), list[str]()
        of_run = {"space": space, **asdict(rules), "seed": seed, "progress": listener}
        if sent is None:
            require(label, "cli.no-label")
            assert label is not None
            settings = chosen_protocol(protocol or DEFAULT, protocol_options, in_one_process=True)
            paths = client_paths(patterns, apart_from=[reference])
            target = None if reference is None else read_reference(reference, label, row_id, reading)
            agreed = None if target is None else target.reading
            tables = read_clients(paths, label, id=row_id, options=reading, reading=agreed, errors="collect")
            require_some_table(tables)
            guesses = read_notes(tables)
            result = run(
                tables,
                target,
                protocol=settings,
                engine=LocalEngine(workers=workers, folder=output, resume=resume),
                **of_run,
            )
            result = with_sources(result, paths, label, row_id, reading)
        elif sent.study is not None:
            sent.refuse_settings(protocol=protocol, label=label, **protocol_options)
            result = sent.of_study(reference=reference, wait=wait, progress=listener)
        else:
            settings = chosen_protocol(protocol or DEFAULT, protocol_options)
            result = sent.of_cards(settings, output, reference=reference, reading=reading, **of_run)
        written = write_outcome(result, output, report=report)
    if json:
        write_json(for_programs(result, written) | {"guesses": guesses})
    else:
        show_valuation(result, written, guesses)
    if show and report:
        open_file(Path(written["report"]))
    if result.failed or result.without_rows:
        raise typer.Exit(SOME_FAILED)


def _finished_rounds(output: Path) -> str:
    """What an interrupted run leaves, and how to go on."""
    from fedbary.engines.session import CHECKPOINT

    try:
        fresh = time.time() - (output / CHECKPOINT).stat().st_mtime <= session().elapsed()
    except OSError:
        fresh = False
    if not fresh and "--resume" not in session().arguments:
        return "interrupted: no round was finished, nothing was kept"
    command = session().typed_command("--resume")
    return f"interrupted: the finished rounds are kept in {output}; go on with\n  {command}"
