"""`fedbary federation run`: a valuation in a running federation, from who is missing to its verdict and its report."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from fedbary.checks import did_you_mean
from fedbary.cli.commands.watch import follow, looks
from fedbary.cli.ui.command import command
from fedbary.cli.ui.options import PROTOCOL, ROW_ID, argument, comma_separated, flag, option, output_folder
from fedbary.cli.ui.results import valuation_data, valuation_page, written_files
from fedbary.cli.ui.session import on_interrupt, one_line, program, session
from fedbary.cli.ui.settings import OF_RUN, chosen_protocol
from fedbary.cli.ui.terminal import has_screen, open_file, screen
from fedbary.cli.ui.terminal import show as show_parts
from fedbary.deploy.network import Network, Step, opened
from fedbary.errors import DataError, SettingsError
from fedbary.protocols.registry import DEFAULT
from fedbary.space.options import RowRules, Space
from fedbary.views.page import HEADING, Line, Page, Part

if TYPE_CHECKING:
    from fedbary.deploy.plan import Plan
    from fedbary.deploy.runs import SubmittedRun
    from fedbary.engines.live import Watched
    from fedbary.protocols.messages import Scalar

_RUN = "The run"
_FILES = ("reference", "schema")  # files on the server, which may be typed as seen from here
_BAD_INPUT = 2

FOLDER = argument("A federation's folder.", "DIR")


@command(
    "fedbary federation run my-federation --reference validation.parquet --label diagnosis -o out",
    **OF_RUN,
)
def run(
    folder: Path = FOLDER,
    *,
    reference: Path | None = option("Validation rows to compare with. Without it: the other nodes.", "FILE"),
    label: str | None = option("The reference's label column; each node names its own.", "COL"),
    row_id: str | None = ROW_ID,
    output: Path = output_folder("fedbary-out"),
    show: bool | None = flag(
        "--open/--no-open", "Open the report in a browser. Default: where there is one.", default=None
    ),
    protocol: str | None = PROTOCOL,
    protocol_options: Mapping[str, object],
    rules: RowRules,
    space: Space,
    seed: int = option("Of the server; nodes have their own.", min=0, default=0, panel=_RUN),
    nodes: str | None = option("Whom to ask, separated by commas. Default: all.", "NAMES", panel=_RUN),
    min_nodes: int | None = option("Begin with so many if others do not come.", min=1, panel=_RUN),
    timeout: float | None = option("Seconds for a node's answer. Default: 600.", panel=_RUN),
    resume: bool = flag("--resume", "Go on from an interrupted run's last round.", panel=_RUN),
    more: list[str] | None = option(
        "Any other setting of the run config, such as join-deadline=30; may be given again.",
        *("KEY=VALUE", "--set"),
        panel=_RUN,
    ),
    app: Path | None = option("Another Flower app than the federation's own.", "FOLDER", panel=_RUN),
) -> Page:
    """Value the nodes of a federation, and show how the run goes on until its report is there.

    Type it on the server, where OUTPUT and the reference lie; the server and the nodes must run already. Whoever is
    not there is named, in the end in the result as well. `fedbary watch OUTPUT` shows the same from another terminal.
    Ctrl-C stops the run, and --resume goes on with its finished rounds. Exit codes: 0 all nodes are valued, 3 some
    failed and the result is written, 2 nothing could be done, and the last lines say what to type.
    """
    from fedbary.deploy.runs import SubmittedRun, typed_settings
    from fedbary.engines.coordinator import RunConfig
    from fedbary.engines.live import Watched
    from fedbary.valuation.storage import check_output

    place, plan, net = opened(folder)
    check_output(output)
    wanted = list(plan.nodes) if nodes is None else known_nodes(plan, comma_separated(nodes))
    known = net.run_keys(place, app)
    if app is None:
        protocol = protocol or DEFAULT
        chosen_protocol(protocol, protocol_options)  # an option of another protocol is called as it was typed
    typed: dict[str, object | None] = {
        "protocol": protocol,
        "reference": None if reference is None else str(reference),
        "label": label,
        "id": row_id,
        "min-nodes": min_nodes,
        "timeout": timeout,
        **protocol_options,
        **_changed(rules),
        **{f"space-{name}": value for name, value in _changed(space).items()},
    }
    given: dict[str, Any] = {key.replace("_", "-"): value for key, value in typed.items() if value is not None}
    usual: dict[str, Scalar] = {
        "nodes": ",".join(wanted),
        "output": str(output.absolute()),
        "seed": seed,
        "resume": resume,
    }
    config: dict[str, Scalar] = {
        **{key: value for key, value in usual.items() if key in known},
        **given,
        **typed_settings(more or (), known),
    }
    for key in _FILES:
        if config.get(key):  # its absolute path, as the server has another folder to start from
            path = Path(str(config[key])).absolute()
            if not path.exists():
                raise DataError("deploy.no-file", file=str(path), option=f"--{key}")
            config[key] = str(path)
    if app is None:
        RunConfig.of(config)  # what makes no sense is refused before anybody is asked
    if missing := _missing_steps(place, plan, net, wanted):
        show_parts(*step_parts("Not online, and waited for; type", *missing))
    watched = Watched(output if config.get("output") in (None, usual["output"]) else Path(str(config["output"])))
    watched.skip()
    number, trains = net.submit(place, plan, app, config), bool(config.get("train-rounds"))
    submitted = SubmittedRun(net, place, number, watched.folder, ours="output" in config, trains=trains)
    _follow(submitted, watched)
    return _page(submitted, watched, place, plan, net, show=show)


def _follow(run: SubmittedRun, watched: Watched) -> None:
    """Show the run as it goes on."""
    console = screen()
    with on_interrupt(lambda: _stopped(run, watched)):
        if session().json or console.quiet:
            for events in looks(watched, run.is_over):
                for entry in events:
                    session().record(entry.event)
        else:
            words = f"Run {run.number} has begun; Ctrl-C stops it. From another terminal: {_watch(run)}"
            console.print(words, soft_wrap=True)
            # The log of events leaves out what may not be shown around; the outcome has the whole sentence.
            follow(watched, console, run.is_over, says_why=False)


def _page(run: SubmittedRun, watched: Watched, folder: Path, plan: Plan, net: Network, *, show: bool | None) -> Page:
    """How the run ended, and what to type where nothing could be done."""
    from fedbary.engines.coordinator import RunStatus
    from fedbary.valuation.result import Valuation

    outcome = run.outcome
    if outcome is None and not run.ours and not run.why:
        return Page([Line(f"Run {run.number} is over; 'flwr log {run.number}' shows what the app said.", whole=True)])
    if outcome is None or outcome.exit_code is None:
        again = session().typed_command(*(["--resume"] if watched.resumable else []))
        raise DataError("deploy.no-outcome", run=run.number, output=str(run.output), why=run.why or None, type=again)
    data: dict[str, Any] = {"run": run.number, "outcome": asdict(outcome), "output": str(run.output)}
    if outcome.report is not None:
        result, files = Valuation.load(run.output), written_files(run.output)
        data |= valuation_data(result, files)
        show_parts(*valuation_page(result, files).parts)
    if outcome.exit_code not in (0, 3):
        print(f"error: {one_line(outcome.text)}", file=sys.stderr)
    wanted = sys.stdout.isatty() and has_screen() if show is None else show
    if outcome.report is not None and wanted and not session().json:
        open_file(run.output / outcome.report)
    parts: list[Part] = []
    if outcome.exit_code == _BAD_INPUT:
        # Nothing but its settings or an owner's policy has stopped it, unless nodes are missing.
        step = Step(session().typed_command(), "once that is mended or allowed")
        if outcome.status is RunStatus.TOO_FEW_NODES:
            step = net.next_step(folder, plan, net.status(folder)) or doctor_step(folder)
        parts = step_parts("Next, type", step)
    return Page(parts, data, outcome.exit_code)


def step_parts(title: str, *steps: Step) -> list[Part]:
    """What to type next, each command on a line of its own, under a line that says who types it."""
    parts: list[Part] = [Line(title, HEADING)]
    for step in steps:
        parts += [Line(f"  # {step.where}", "dim", whole=True), Line(f"  {step.command}", whole=True)]
    return parts


def doctor_step(folder: Path) -> Step:
    """A look at everything."""
    return Step(command_line("doctor", folder), "to see what is missing")


def command_line(name: str, folder: Path | str, *words: str) -> str:
    """A command of a federation, to be copied into a shell."""
    return " ".join([program(), "federation", name, quote(str(folder)), *words])


def known_nodes(plan: Plan, names: Sequence[str]) -> list[str]:
    """The nodes of these names; another one is refused."""
    for name in names:
        if name not in plan.nodes:
            guess = did_you_mean(name, plan.nodes)
            raise SettingsError("deploy.no-node", name=name, guess=guess, known=", ".join(plan.nodes))
    return list(names)


def _missing_steps(folder: Path, plan: Plan, net: Network, wanted: Sequence[str]) -> list[Step]:
    """What has to be typed for each node that is not online; a server that is not there is an error."""
    found = net.status(folder)
    chosen = [node for node in found["nodes"] if node["name"] in wanted]
    step = net.next_step(folder, plan, {**found, "nodes": chosen})
    if step is None:
        return []
    if not found["server"]["answers"]:
        raise DataError(
            "deploy.server-away", address=plan.address, problem=found["server"]["problem"], type=step.command
        )
    if all(node["registered"] is False for node in chosen):
        raise DataError("deploy.nobody-registered", address=plan.address, type=step.command)
    steps = [net.next_step(folder, plan, {**found, "nodes": [node]}) for node in chosen]
    return [step for step in steps if step is not None]


def _stopped(run: SubmittedRun, watched: Watched) -> str:
    """End the run that nobody waits for any more; say what is left of it."""
    print("stopping the run …", file=sys.stderr, flush=True)
    if not run.stop():
        return f"interrupted: run {run.number} could not be stopped, and may go on; see {_watch(run)}"
    if not watched.resumable:
        return f"interrupted: run {run.number} is stopped; no round was finished, nothing was kept"
    command = session().typed_command("--resume")
    return f"interrupted: run {run.number} is stopped, its finished rounds are in {run.output}; go on with\n  {command}"


def _watch(run: SubmittedRun) -> str:
    """What shows the run in any other terminal."""
    return f"{program()} watch {quote(str(run.output.absolute()))}"


def _changed(settings: RowRules | Space) -> dict[str, object]:
    """What is not as it is by default."""
    return {
        field.name: value for field in fields(settings) if (value := getattr(settings, field.name)) != field.default
    }
