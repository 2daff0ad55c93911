"""`fedbary policy`: an owner's policy file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbary.cli.ui.command_kinds import Command, Group, example_of
from fedbary.cli.ui.completion import one_of
from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import Json
from fedbary.cli.ui.terminal_text import paragraphs
from fedbary.errors import DataError, SettingsError
from fedbary.protocols.registry import PROTOCOLS

policy = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Your policy file: what may leave this machine, whatever a server asks for.",
    epilog=example_of("fedbary policy init policy.toml"),
)


def init(
    file: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("policy.toml"),
) -> None:
    """Write a policy file that explains its keys; only you can read it, and none is overwritten."""
    import os

    from fedbary.cli.ui.tables import screen
    from fedbary.guard.policy import OwnerPolicy

    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise SettingsError("cli.policy-exists", file=str(file)) from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(OwnerPolicy().to_toml())
    screen().print(f"written  {file}", soft_wrap=True)


def check(
    file: Annotated[Path, typer.Argument(help="Your policy file.")] = Path("policy.toml"), json: Json = False
) -> None:
    """Read a policy file and say what it allows; a wrong key or value ends with exit code 2."""
    from dataclasses import asdict

    from fedbary.cli.ui.tables import screen, table
    from fedbary.guard.policy import OwnerPolicy

    own = OwnerPolicy.load(file)
    values = asdict(own)
    if json:
        write_json(values)
        return
    rows = [(key, ", ".join(value) if isinstance(value, tuple) else _in_words(value)) for key, value in values.items()]
    if own.max_questions is None:
        limit = "one" if own.most_questions == 1 else f"as many as epsilon_budget pays for, up to {own.most_questions}"
        rows = [(key, limit if key == "max_questions" else value) for key, value in rows]
    screen().print(table(("key", "value"), rows))


def allow(
    file: Annotated[Path, typer.Argument(help="The ledger of your node, such as ledger.jsonl.", show_default=False)],
    *,
    protocol: Annotated[
        str, typer.Option(metavar="NAME", help="For which protocol.", autocompletion=one_of(*PROTOCOLS))
    ] = "sketch",
    questions: Annotated[
        int | None,
        typer.Option(min=1, help="How many more questions. Default: one, without --epsilon and --delta."),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="How much more ε than your epsilon_budget.")] = None,
    delta: Annotated[float | None, typer.Option(help="How much more δ than your max_delta (cards).")] = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; for the ledger.")] = "allowed by hand",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Allow a server one more question about your table than your policy does, once you have read what it could reveal.

    FILE is the ledger of the table; the decision becomes a line of it. Your policy file stays as it is, and all else
    that it forbids stays forbidden. A message that was answered before is answered anew.
    """
    import sys

    from fedbary.checks import number
    from fedbary.cli.ui.protocol_options import chosen_protocol
    from fedbary.cli.ui.tables import screen
    from fedbary.guard.ledger import Ledger
    from fedbary.guard.policy import REVEALS
    from fedbary.wording import counted

    chosen_protocol(protocol, {})
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if value is not None:
            number(value, name, "policy allow")
    more = int(epsilon is None and delta is None) if questions is None else questions
    if not file.is_file():
        raise DataError("cli.no-ledger", file=str(file))
    if not yes and not sys.stdin.isatty():
        raise SettingsError("cli.allow-needs-yes")
    account = Ledger(file).read()
    console = screen()
    asked = counted(account.questions(protocol), "question")
    spent = f"ε spent: {account.spent():g}"
    spent += f", δ: {account.spent_delta():g}" if account.spent_delta() else ""
    console.print(f"{asked} of the {protocol} protocol so far; {spent}.")
    console.print(f"What one more could reveal: {REVEALS[protocol]}\n")
    if not yes and not typer.confirm("Allow it?"):
        console.print("nothing was allowed")
        return
    Ledger(file).allow(protocol, more, epsilon or 0.0, reason, delta=delta or 0.0)
    allowed = [counted(more, "more question")] if more else []
    allowed += [f"{letter} {value:g} more" for letter, value in (("ε", epsilon), ("δ", delta)) if value]
    console.print(f"allowed  {' and '.join(allowed)}", soft_wrap=True)


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "no limit" if value is None else str(value)


for _command, _example in (
    (init, "fedbary policy init policy.toml"),
    (check, "fedbary policy check policy.toml"),
    (allow, "fedbary policy allow state/north/ledger.jsonl --reason 'June report'"),
):
    policy.command(cls=Command, help=paragraphs(_command.__doc__), epilog=example_of(_example))(_command)
