"""`fedbary value`: value the clients whose data lie in files."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from fedbary.cli.ui.command import CONFIG, command
from fedbary.cli.ui.inputs import (
    SentFiles,
    Study,
    client_paths,
    given_files,
    read_notes,
    read_reference,
    require_some_table,
)
from fedbary.cli.ui.options import DEVICE, FILES, OPEN, PROTOCOL, ROW_ID, flag, option, output_folder, require
from fedbary.cli.ui.results import valuation_page, with_sources, write_outcome
from fedbary.cli.ui.session import on_interrupt, session
from fedbary.cli.ui.settings import OF_RUN, READING, chosen_protocol
from fedbary.cli.ui.terminal import open_file, progress
from fedbary.data.options import ReadOptions
from fedbary.errors import SettingsError
from fedbary.protocols.registry import DEFAULT
from fedbary.space.options import RowRules, Space
from fedbary.views.page import Page

_RUN = "The run"


@command(
    "fedbary value 'sites/*.parquet' --label diagnosis --reference validation.parquet -o out",
    **OF_RUN,
    reading=READING,
)
def value(
    files: list[str] | None = FILES,
    *,
    label: str | None = option("The label column; cards and studies know theirs.", "COL"),
    row_id: str | None = ROW_ID,
    reference: Path | None = option("Validation rows to compare with. Without it: the other clients.", "FILE"),
    config: Path | None = CONFIG,  # noqa: ARG001 - its callback acts
    output: Path = output_folder("fedbary-out"),
    report: bool = flag("--report/--no-report", "Write report.html.", default=True),
    show: bool = OPEN,
    protocol: str | None = PROTOCOL,
    protocol_options: Mapping[str, object],
    rules: RowRules,
    space: Space,
    reading: ReadOptions,
    seed: int = option("Makes the run repeatable.", min=0, default=0, panel=_RUN),
    workers: int | None = option("Clients to work on at a time. Default: all cores.", panel=_RUN),
    device: str = DEVICE,
    resume: bool = flag("--resume", "Go on from an interrupted run's last round.", panel=_RUN),
    wait: bool = flag(
        "--wait/--no-wait", "A study of several rounds: wait for everybody's answer.", default=True, panel=_RUN
    ),
) -> Page:
    """Value every client's data by its Wasserstein distance to a reference, or to what the clients have in common.

    With --worth a client is also valued by what it adds to the others (Shapley values, no training).

    FILES are tables as they are (CSV, Parquet, Excel, JSON lines, Feather), folders of images, quoted globs or a
    folder. Each is one client, called after it; with --client-column one file holds many. Or they are cards (*.card),
    which hold all that is needed; the folder gets a model for each of their owners. Or a folder of `fedbary ask`, with
    answers to its questions: who has answered is valued, and further rounds are asked. A client whose file cannot be
    used is reported with the reason, and the others are valued (exit code 3). The output folder gets the ranked
    clients, the value of every row, a report.html that works offline, and what is needed to repeat the run.
    """
    from fedbary.compute import computing_on
    from fedbary.valuation.storage import check_output
    from fedbary.views.html_file import check_report

    patterns = given_files(files)
    check_output(output)
    if report:
        check_report(output / "report.html")
    with (
        computing_on(device, "value"),
        progress("reading the files") as listener,
        on_interrupt(lambda: _finished_rounds(output)),
    ):
        from fedbary import FilesEngine, LocalEngine, read_clients
        from fedbary import value as run
        from fedbary.guard.policy import most_messages

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
            local = LocalEngine(workers=workers, folder=output, resume=resume)
            result = run(tables, target, protocol=settings, engine=local, **of_run)
            result = with_sources(result, paths, label, row_id, reading)
        elif sent.study is not None:
            typed = {"protocol": protocol, "label": label, **protocol_options}
            if given := [f"--{name.replace('_', '-')}" for name, what in typed.items() if what is not None]:
                raise SettingsError("cli.study-has-settings", folder=str(sent.study), options=", ".join(given))
            study = Study.load(sent.study)
            wait = wait and most_messages(study.asked.protocol) > 1  # else who has answered is valued
            result = study.run(sent.study, sent.answers, wait=wait, reference=reference, progress=listener)
        else:
            settings = chosen_protocol(protocol or DEFAULT, protocol_options)
            target = None if reference is None else read_reference(reference, sent.label(), None, reading)
            engine = FilesEngine(output, answers=sent.answers)  # models for the cards' owners are written there
            result = run(list(sent.cards), target, protocol=settings, engine=engine, **of_run)
        written = write_outcome(result, output, report=report)
    if show and report:
        open_file(Path(written["report"]))
    return valuation_page(result, written, guesses)


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
