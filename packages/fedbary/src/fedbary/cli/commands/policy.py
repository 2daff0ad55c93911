"""`fedbary policy`: an owner's policy file."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path

import typer

from fedbary.checks import number
from fedbary.cli.ui.command import command, group, register
from fedbary.cli.ui.options import LEDGER_FILE, argument, flag, one_of, option
from fedbary.cli.ui.results import written
from fedbary.cli.ui.settings import chosen_protocol
from fedbary.cli.ui.terminal import show
from fedbary.errors import DataError, SettingsError
from fedbary.guard.ledger import Ledger
from fedbary.protocols.registry import PROTOCOLS
from fedbary.views.page import Grid, Line, Page
from fedbary.wording import counted


@command("fedbary policy init policy.toml", json=False)
def init(file: Path = argument("Where to write it.", default=Path("policy.toml"))) -> Page:
    """Write a policy file that explains its keys; only you can read it, and none is overwritten."""
    from fedbary.guard.policy import OwnerPolicy

    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise SettingsError("cli.policy-exists", file=str(file)) from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(OwnerPolicy().to_toml())
    return Page([written(file)])


@command("fedbary policy check policy.toml")
def check(file: Path = argument("Your policy file.", default=Path("policy.toml"))) -> Page:
    """Read a policy file and say what it allows; a wrong key or value ends with exit code 2."""
    from fedbary.guard.policy import OwnerPolicy

    own = OwnerPolicy.load(file)
    rows = {key: _in_words(value) for key, value in asdict(own).items()}
    if own.max_questions is None:
        many = f"as many as epsilon_budget pays for, up to {own.most_questions}"
        rows["max_questions"] = "one" if own.most_questions == 1 else many
    return Page([Grid(("key", "value"), list(rows.items()))], asdict(own))


@command("fedbary policy allow state/north/ledger.jsonl --reason 'June report'", json=False)
def allow(
    file: Path = LEDGER_FILE,
    *,
    protocol: str = option("For which protocol.", "NAME", default="sketch", complete=one_of(*PROTOCOLS)),
    questions: int | None = option("How many more questions. Default: one, without --epsilon and --delta.", min=1),
    epsilon: float | None = option("How much more ε than your epsilon_budget."),
    delta: float | None = option("How much more δ than your max_delta (cards)."),
    reason: str = option("Why; for the ledger.", "TEXT", default="allowed by hand"),
    yes: bool = flag("--yes", "Do not ask."),
) -> Page:
    """Allow a server one more question about your table than your policy does, once you have read what it could reveal.

    FILE is the ledger of the table; the decision becomes a line of it. Your policy file stays as it is, and all else
    that it forbids stays forbidden. A message that was answered before is answered anew.
    """
    from fedbary.guard.policy import REVEALS

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
    asked = counted(account.questions(protocol), "question")
    spent = f"ε spent: {account.spent():g}"
    spent += f", δ: {account.spent_delta():g}" if account.spent_delta() else ""
    show(f"{asked} of the {protocol} protocol so far; {spent}.")
    show(f"What one more could reveal: {REVEALS[protocol]}", "")
    if not yes and not typer.confirm("Allow it?"):
        return Page(["nothing was allowed"])
    Ledger(file).allow(protocol, more, epsilon or 0.0, reason, delta=delta or 0.0)
    allowed = [counted(more, "more question")] if more else []
    allowed += [f"{letter} {value:g} more" for letter, value in (("ε", epsilon), ("δ", delta)) if value]
    return Page([Line(f"allowed  {' and '.join(allowed)}", whole=True)])


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, tuple) else "no limit" if value is None else str(value)


policy = group(
    "Your policy file: what may leave this machine, whatever a server asks for.", "fedbary policy init policy.toml"
)
register(policy, init, check, allow)
