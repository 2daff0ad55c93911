"""`fedbary preview`: an owner sees, number by number, what would be sent, and what a server learns by it."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.commands.show import arrays_of, shape_of
from fedbary.cli.ui.command import command
from fedbary.cli.ui.inputs import read_reference
from fedbary.cli.ui.options import LABEL_COLUMN, OWN_TABLE, ROW_ID, one_of, option
from fedbary.cli.ui.results import guess_parts
from fedbary.cli.ui.session import one_line
from fedbary.cli.ui.settings import OWN_READING, chosen_protocol
from fedbary.data.options import ReadOptions
from fedbary.errors import DataError, SettingsError
from fedbary.filling import COMMAND
from fedbary.protocols.registry import DEFAULT, PROTOCOLS, learned
from fedbary.space.options import RowRules
from fedbary.views.page import HEADING, Grid, Items, Line, Page, Part
from fedbary.wording import counted

if TYPE_CHECKING:
    import numpy as np

    from fedbary.data.table import Table
    from fedbary.guard.policy import OwnerPolicy
    from fedbary.protocols.messages import Failure, Message, Reply, Settings

_REFUSED = 2
_FIRST_VALUES = 4


@command("fedbary preview mine.parquet --label diagnosis --reference like-theirs.parquet", reading=OWN_READING)
def preview(
    table: str = OWN_TABLE,
    *,
    label: str = LABEL_COLUMN,
    row_id: str | None = ROW_ID,
    protocol: str | None = option(
        "cards (default), sketch (default with a message), …", "NAME", complete=one_of(*PROTOCOLS)
    ),
    reference: Path | None = option("Rows that stand for the server's reference.", "FILE"),
    message: Path | None = option("The question that the coordinator sent (.fb).", "FILE"),
    others: list[Path] | None = option("Another client's file; may be repeated.", "FILE", "--with"),
    policy: Path | None = option("Your policy file. Default: defaults that allow the protocol.", "FILE"),
    min_group: int | None = option("What the server asks for. Default: your policy's."),
    epsilon: float | None = option(
        "sketch: the ε that the server asks for. Default: the most your policy allows, or none."
    ),
    reading: ReadOptions,
) -> Page:
    """Print what your machine would send to a server: every number, how many bytes, and what the server learns by it.

    TABLE is your file, folder of images or database. The server's half of the protocol runs here, too, with the
    rows of --reference, or without them with the files that you name by --with; or give the question that its
    coordinator sent as a file. Nothing is sent, and nothing is written. Exit code 2: your policy or your data would
    refuse.
    """
    from fedbary.data.files import read, read_any_cells
    from fedbary.guard.policy import OwnerPolicy
    from fedbary.protocols.messages import Failure
    from fedbary.space.encode import require_readable
    from fedbary.space.schema import Schema

    name = protocol or ("sketch" if message else DEFAULT)
    private = {} if epsilon is None else {"epsilon": epsilon}
    chosen_protocol(name, private)  # refuses what the protocol does not have
    own = OwnerPolicy(protocols=(name,)) if policy is None else OwnerPolicy.load(policy)
    asked = replace(own.most_telling(name, min_group), **private)
    if message is not None and (reference is not None or others):
        raise SettingsError("cli.message-alone")
    if message is None and reference is None and asked.needs_reference:
        raise SettingsError("cli.preview-needs-reference", protocol=asked.name)
    settings = own.applied(asked)
    saved, target, agreed = None, None, None
    if message is not None:
        from fedbary.engines.files.message_file import FileKind, MessageFile

        saved, _ = MessageFile.load(message, FileKind.QUESTION, FileKind.MODEL).message()
        if "schema" in saved.scalars:
            agreed = Schema.from_json(str(saved.scalars["schema"])).whole_reading
    if reference is not None:
        target = read_reference(reference, label, row_id, reading).replace(origin="reference")
        agreed = target.reading
    how: dict[str, Any] = {"id": row_id, "options": reading, "reading": agreed}
    rest = [read(place, label, **how) for place in others or ()]
    own_rows: Table | DataError
    try:  # as the node would
        own_rows = (read if getattr(settings, "epsilon", None) is None else read_any_cells)(table, label, **how)
        if asked.name != "cards":  # which asks for a card before there is a schema
            require_readable(own_rows, agreed or ())
    except DataError as error:
        if agreed is None:
            raise
        own_rows = error
    exchanges = _rehearsed(asked, settings, [own_rows, *rest], target, saved)
    guesses = [] if isinstance(own_rows, DataError) else [note.text(COMMAND) for note in own_rows.notes]
    parts = [part for exchange in exchanges for part in _exchange(*exchange)]
    replies = [answer for _, answer in exchanges if not isinstance(answer, Failure)]
    if replies:
        with_reference = bool(reference or message)
        parts += _summary(settings, replies, own, with_reference=with_reference, supposed=policy is None)
    else:
        parts += ["", "Nothing would be answered, and nothing was sent: the preview ran on this machine only."]
    data: dict[str, Any] = {"protocol": settings.name, "settings": asdict(settings)}
    data |= {"answers": [_data(*exchange) for exchange in exchanges], "guesses": guesses}
    return Page([*guess_parts(guesses), *parts], data, _REFUSED if len(replies) < len(exchanges) else 0)


def _rehearsed(
    asked: Settings,
    settings: Settings,
    tables: list[Table | DataError],
    reference: Table | None,
    message: Message | None,
) -> list[tuple[Message, Reply | Failure]]:
    """One message, or the whole protocol, in this process; returns what concerns the first client."""
    import secrets

    from fedbary.engines.local import PreviewEngine, one_thread
    from fedbary.engines.run import Work, run

    rules, engine = RowRules(), PreviewEngine()
    named = {f"client {index}": table for index, table in enumerate(tables)}
    with one_thread():
        names = engine.clients(Work(settings, rules, named, secrets.randbits(48)), {})
        if message is not None:
            engine.exchange({names[0]: message})
        else:
            server = asked.server(names, reference, asked.space(None), rules=rules, seed=secrets.randbits(48))
            run(server, engine)
    return list(engine.recorded)


def _exchange(message: Message, answer: Reply | Failure) -> list[Part]:
    """A message of the server, and every number that this owner would send, or the code that says why there is none."""
    from fedbary.guard.guarded_client import failure, reply_bytes
    from fedbary.protocols.messages import Failure

    asked = f"The server asks '{one_line(message.kind)}', round {message.round}"
    if isinstance(answer, Failure):
        sent = f"sent: {one_line(str(failure(answer).note))}"
        alone = f"for you alone: {one_line(answer.note.text(COMMAND))}"
        return ["", Line(f"{asked}: you refuse", HEADING), sent, alone]
    rows: list[tuple[str, str, str]] = [
        (name, type(value).__name__, repr(value)) for name, value in answer.scalars.items()
    ]
    rows += [(name, shape_of(array), _first_values(array)) for name, array in answer.arrays.items()]
    rows += [("note", note.code, one_line(str(note.redacted()))) for note in answer.notes]
    numbers = Grid(("name", "kind", "value"), rows) if rows else "an empty answer: that the message has come"
    return ["", Line(f"{asked}: you send {reply_bytes(answer):,} bytes", HEADING), numbers]


def _first_values(array: np.ndarray) -> str:
    first = ", ".join(f"{value:.6g}" for value in array.ravel()[:_FIRST_VALUES].tolist())
    return first + (", …" if array.size > _FIRST_VALUES else "")


def _data(message: Message, answer: Reply | Failure) -> dict[str, Any]:
    from fedbary.guard.guarded_client import failure, reply_bytes
    from fedbary.protocols.messages import Failure

    asked = {"asked": message.kind, "round": message.round}
    if isinstance(answer, Failure):
        return asked | {"refusal": failure(answer).note.to_json()}
    numbers = {"scalars": dict(answer.scalars), "arrays": arrays_of(answer.arrays, "dtype")}
    notes = [note.redacted().to_json() for note in answer.notes]
    return {**asked, "bytes": reply_bytes(answer), **numbers, "notes": notes}


def _summary(
    settings: Settings, replies: list[Reply], policy: OwnerPolicy, *, with_reference: bool, supposed: bool
) -> list[Part]:
    """How many bytes, what the server learns by them, and what else the policy allows.

    ``supposed`` says that the owner has named no policy file, so that the policy is one which allows the protocol.
    """
    from fedbary.guard.guarded_client import reply_bytes

    facts = {"protocol": settings.name, **asdict(settings), "reference_rows": 1 if with_reference else None}
    lesson = learned(facts)
    lines = [] if lesson is None else [*lesson.server, *lesson.warnings]
    size = f"{counted(len(replies), 'answer')} of {sum(map(reply_bytes, replies)):,} bytes"
    parts: list[Part] = ["", Line(f"In all {size}. From them the server learns", HEADING), Items(lines)]
    if getattr(settings, "epsilon", None) is not None:
        parts += ["", "The noise is drawn anew for every run: what is sent will differ from what is shown."]
    allowed = "no other" if policy.most_questions == 1 else f"{policy.most_questions} in all"
    allowed += "" if policy.epsilon_budget is None else ", as far as epsilon_budget pays for them"
    parts += ["", f"This is one question of the {settings.name} protocol; your policy allows {allowed}."]
    if supposed and not set(policy.protocols) <= set(type(policy)().protocols):
        needs = f'protocols = ["{settings.name}"]'
        parts.append(f"Without a policy file your node refuses it; one that allows it has {needs}.")
    return [*parts, "Nothing was sent: the preview ran on this machine only."]
