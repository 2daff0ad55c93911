"""`fedbary federation run`: a valuation in a running federation, from the command to the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbary.checks import did_you_mean
from fedbary.cli.commands.federation_status import Folder
from fedbary.cli.ui.options import Json, Output, RowId, comma_separated
from fedbary.cli.ui.protocol_options import PROTOCOL_OPTIONS, ProtocolName, chosen_protocol
from fedbary.cli.ui.settings_options import SettingsOf, with_settings
from fedbary.errors import DataError, SettingsError
from fedbary.protocols.registry import DEFAULT
from fedbary.space.options import Space
from fedbary.valuation.rows import RowRules

if TYPE_CHECKING:
    from fedbary.deploy.plan import Plan
    from fedbary.protocols.messages import Scalar

_RUN = "The run"
_FILES = ("reference", "schema")  # files on the server, which may be typed as seen from here


@with_settings(
    protocol_options=PROTOCOL_OPTIONS,
    rules=SettingsOf(RowRules, panel="Flags"),
    space=SettingsOf(Space, panel="How rows become points"),
)
def run(
    folder: Folder,
    *,
    reference: Annotated[
        Path | None,
        typer.Option(help="Validation rows to compare with. Without it: the other nodes.", metavar="FILE"),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="The reference's label column; each node names its own.", metavar="COL")
    ] = None,
    row_id: RowId = None,
    output: Output = Path("fedbary-out"),
    show: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Open the report in a browser. Default: where there is one."),
    ] = None,
    json: Json = False,
    protocol: ProtocolName = None,
    protocol_options: Mapping[str, object],
    rules: RowRules,
    space: Space,
    seed: Annotated[int, typer.Option(min=0, help="Of the server; nodes have their own.", rich_help_panel=_RUN)] = 0,
    nodes: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Whom to ask, separated by commas. Default: all.", rich_help_panel=_RUN),
    ] = None,
    min_nodes: Annotated[
        int | None, typer.Option(min=1, help="Begin with so many if others do not come.", rich_help_panel=_RUN)
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds for a node's answer. Default: 600.", rich_help_panel=_RUN)
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from an interrupted run's last round.", rich_help_panel=_RUN)
    ] = False,
    more: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Any other setting of the run config, such as join-deadline=30; may be given again.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    app: Annotated[
        Path | None,
        typer.Option(help="Another Flower app than the federation's own.", metavar="FOLDER", rich_help_panel=_RUN),
    ] = None,
) -> None:
    """Value the nodes of a federation, and show how the run goes on until its report is there.

    Type it on the server, where OUTPUT and the reference lie; the server and the nodes must run already. Whoever is
    not there is named, in the end in the result as well. `fedbary watch OUTPUT` shows the same from another terminal.
    Ctrl-C stops the run, and --resume goes on with its finished rounds. Exit codes: 0 all nodes are valued, 3 some
    failed and the result is written, 2 nothing could be done, and the last lines say what to type.
    """
    from fedbary.cli.ui.federated_run import BAD_INPUT, follow_to_the_end, missing_steps
    from fedbary.cli.ui.next_steps import again_step, doctor_step, show_steps
    from fedbary.cli.ui.tables import screen
    from fedbary.deploy.network import opened
    from fedbary.deploy.runs import SubmittedRun, typed_settings
    from fedbary.engines.coordinator import RunConfig, RunStatus
    from fedbary.engines.live import Watched
    from fedbary.valuation.storage import check_output

    place, plan, net = opened(folder)
    check_output(output)
    wanted = _chosen(plan, nodes)
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
        if config.get(key):
            config[key] = _file(str(config[key]), f"--{key}")
    if app is None:
        RunConfig.of(config)  # what makes no sense is refused before anybody is asked
    missing = missing_steps(place, plan, net, wanted)
    if missing and not json:
        show_steps(screen(), "Not online, and waited for; type", missing)
    watched = Watched(output if config.get("output") in (None, usual["output"]) else Path(str(config["output"])))
    watched.skip()
    number, trains = net.submit(place, plan, app, config), bool(config.get("train-rounds"))
    submitted = SubmittedRun(net, place, number, watched.folder, ours="output" in config, trains=trains)
    code = follow_to_the_end(submitted, watched, json=json, show=show)
    if code == BAD_INPUT and not json:
        ended = submitted.outcome
        if ended is not None and ended.status is RunStatus.TOO_FEW_NODES:
            step = net.next_step(place, plan, net.status(place)) or doctor_step(place)
        else:
            step = again_step()
        show_steps(screen(), "Next, type", [step])
    if code:
        raise typer.Exit(code)


def _chosen(plan: Plan, nodes: str | None) -> list[str]:
    chosen = list(plan.nodes) if nodes is None else comma_separated(nodes)
    for name in chosen:
        if name not in plan.nodes:
            guess = did_you_mean(name, plan.nodes)
            raise SettingsError("deploy.no-node", name=name, guess=guess, known=", ".join(plan.nodes))
    return chosen


def _changed(settings: RowRules | Space) -> dict[str, object]:
    """What is not as it is by default."""
    return {
        field.name: value for field in fields(settings) if (value := getattr(settings, field.name)) != field.default
    }


def _file(typed: str, option: str) -> str:
    """A file's absolute path, as the server has another folder to start from."""
    path = Path(typed).absolute()
    if not path.exists():
        raise DataError("deploy.no-file", file=str(path), option=option)
    return str(path)
