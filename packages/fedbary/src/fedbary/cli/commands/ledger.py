"""`fedbary ledger`: what left an owner's machine, what it cost, and whether the record is whole."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.command import command
from fedbary.cli.ui.options import LEDGER_FILE, flag, option
from fedbary.errors import DataError, SettingsError
from fedbary.guard.ledger import (
    ACCEPT,
    ALLOW,
    FAILURE,
    FREE,
    QUESTION,
    REFUSAL,
    REPLY,
    RESET,
    TORN,
    Account,
    Entry,
    Ledger,
)
from fedbary.views.page import HEADING, Files, Grid, Items, Line, Page, Part
from fedbary.wording import counted

if TYPE_CHECKING:
    from fedbary.guard.policy import OwnerPolicy


@command("fedbary ledger ledger.jsonl --policy policy.toml")
def ledger(
    file: Path = LEDGER_FILE,
    *,
    policy: Path | None = option("Your policy file, for the questions and the ε that are left.", "FILE"),
    reset: str | None = option("Begin a new account; what left before stays in the file.", "REASON"),
    accept: str | None = option("Go on with a damaged ledger; what can be read of it still counts.", "REASON"),
    head: str | None = option("A head that you noted: do all lines up to it still stand?", "DIGEST"),
    delta: float | None = option("Also the ε of all answers for this δ, by an accountant (extra 'privacy')."),
    most: int = option("Lines to show, the last ones.", None, "-n", "--most", min=1, default=50),
    records: bool = flag(
        "--records", "One record for each release: every field in words, its threshold, what allowed it."
    ),
    threshold: int | None = option(
        "With --records: what was released of fewer rows? Exit code 1 if something was.", min=1
    ),
    output: Path | None = option(
        "Write the records: a page (.html), JSON lines (.jsonl) or a list (.json).", "FILE", "-o", "--output"
    ),
) -> Page:
    """Show what left this machine: when, for which question, which numbers, how many bytes, and how much ε it cost.

    FILE is the ledger that your node writes, one line for every question and everything that leaves, before it leaves.
    It holds names, shapes and digests, never a row. Each line holds the digest of the one before, and the last digest,
    the head, also stands in the file 'head' beside it and in your reports: a ledger that was cut or edited is refused
    here, and by your node, until you have restored it or decided with --accept.
    """
    from fedbary.guard.policy import OwnerPolicy

    if not file.is_file():
        raise DataError("cli.no-ledger", file=str(file))
    own = None if policy is None else OwnerPolicy.load(policy)
    if accept is not None:
        Ledger(file).accept(accept)
    if reset is not None:
        Ledger(file).reset(reset)
    account = Ledger(file).read()
    if records or threshold is not None or output is not None:
        return _records(account, own, threshold, output, most)
    totals = _totals(account, own) | {"head_beside": Ledger(file).head_path.is_file()}
    if head is not None:
        after = account.lines_after(head.strip())
        if after is None:
            raise DataError("guard.no-such-head", path=str(file), head=head)
        totals |= {"lines_after_head": after}
    if delta is not None:
        from fedbary.privacy.noise import composed

        together = composed(((entry.epsilon, entry.delta) for entry in account.current), delta)
        totals |= {"delta": delta, "epsilon_for_delta": together}

    data = {"totals": totals, "entries": [asdict(entry) for entry in account.entries]}
    return Page(_parts(account, totals, most), data)


def _records(
    account: Account, policy: OwnerPolicy | None, threshold: int | None, output: Path | None, most: int
) -> Page:
    """The disclosure records, for an output checker."""
    import json

    from fedbary.guard.disclosure import disclosures, unmet
    from fedbary.guard.owner_files import write_private

    if output is not None and output.suffix not in (".html", ".json", ".jsonl"):
        raise SettingsError("cli.records-suffix", file=str(output))
    if output is not None and output.exists() and not _may_go(output):  # the ledger itself ends in .jsonl, too
        raise DataError("views.not-a-report", where=str(output))
    made = list(disclosures(account))
    data: dict[str, Any] = {"records": made}
    below: list[str] = []
    if threshold is not None:
        below = unmet(made, threshold, policy)
        data |= {"threshold": threshold, "unmet": below}

    def parts(shown: list[dict[str, Any]]) -> list[Part]:
        rows = [
            (
                one["line"],
                _when(one["time"]),
                f"{one['what']} to '{one['asked']['kind']}' of run {one['to']['run'][:8]}",
                _told(one),
                _guarded(one),
                "; ".join(one["allowed_by"]) or "–",
            )
            for one in shown
        ]
        columns = ("line", "time (UTC)", "release", "what it tells", "threshold", "allowed by")
        spent = f"ε spent: {account.spent():g}, δ spent: {account.spent_delta():g}"
        said = [f"{counted(len(made), 'release')}. {spent}."]
        if threshold is not None:
            said += below or [f"Every release meets the threshold of {threshold}."]
        return [Grid(columns, rows, ("line",)), "", Items(said)]

    if output is not None:
        if output.suffix == ".html":
            text = Page([Line("Disclosure records", HEADING), *parts(made)]).html("Disclosure records")
        elif output.suffix == ".json":
            text = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
        else:
            text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in made)
        write_private(output, text)
    written: list[Part] = [] if output is None else ["", Files({"records": str(output)})]
    return Page([*parts(made[-most:]), *written], data, code=1 if below else 0)


def _may_go(output: Path) -> bool:
    """Whether a file holds records that were written before, or nothing, so that nothing is lost with it."""
    from fedbary.views.html_file import is_report

    if output.suffix == ".html" or not output.is_file():
        return is_report(output)
    with output.open("rb") as file:
        start = b"".join(file.read(100).split())
    return start in (b"", b"[]") or start.removeprefix(b"[").startswith(b'{"record":')


def _told(record: dict[str, Any]) -> str:
    from fedbary.protocols.forms import by_meaning

    fields = ((one["tells"] + (", with noise" if one["noise"] else ""), one["name"]) for one in record["left"])
    return by_meaning(fields) or "that the message has come"


def _guarded(record: dict[str, Any]) -> str:
    terms, cost = record["threshold"], record["privacy"]
    if terms["trust"] == "guarded":
        hidden = record["suppressed"]
        more = "" if hidden is None else f"; {counted(hidden['rows'], 'row')} in no answer"
        return f"{terms['min_group']} rows{more}"
    if terms["trust"] == "epsilon":
        return f"noise for ε = {cost['epsilon']:g}"
    return "none: the server is trusted" if terms["trust"] == "trusted" else "–"


def _totals(account: Account, policy: OwnerPolicy | None) -> dict[str, Any]:
    from decimal import Decimal

    spent = account.spent()
    budget = None if policy is None else account.budget(policy.epsilon_budget)
    lines = {what: sum(entry.what == what for entry in account.entries) for what in (REPLY, FAILURE, REFUSAL, RESET)}
    protocols = sorted({entry.protocol for entry in account.current if entry.what == QUESTION})
    protocols = protocols if policy is None else [*policy.protocols, *sorted(set(protocols) - set(policy.protocols))]
    return {
        "answers": lines[REPLY],
        "failures": lines[FAILURE],
        "refusals": lines[REFUSAL],
        "exact_answers": account.exact_answers(),
        "questions": {name: account.questions(name) for name in protocols},
        "questions_left": {}
        if policy is None
        else {name: account.left(name, policy.most_questions) for name in policy.protocols},
        "bytes": sum(entry.bytes for entry in account.entries),
        "epsilon": spent,
        "delta_spent": account.spent_delta(),
        "budget": budget,
        "left": None if budget is None else float(max(Decimal(repr(budget)) - Decimal(repr(spent)), Decimal(0))),
        "resets": lines[RESET],
        "torn_lines": list(account.torn),
        "accepted_lines": list(account.damaged),
        "head": account.head,
    }


def _parts(account: Account, totals: dict[str, Any], most: int) -> list[Part]:
    latest = account.entries[-most:]
    earlier = len(account.entries) - len(latest)
    rows = [
        (_when(entry.time), entry.question or "–", entry.kind, _what(entry), f"{entry.bytes:,}", _number(entry))
        for entry in latest
    ]
    columns = ("time (UTC)", "question", "asked", "what left", "bytes", "ε")
    parts: list[Part] = [f"… {counted(earlier, 'earlier line')}", ""] if earlier else []
    return [*parts, Grid(columns, rows, ("question", "bytes", "ε")), "", Items(_sentences(totals))]


def _sentences(totals: dict[str, Any]) -> list[str]:
    parts = [counted(totals["answers"], "answer"), counted(totals["failures"], "failure")]
    lines = [f"{', '.join(parts)} and {counted(totals['refusals'], 'refusal')}: {totals['bytes']:,} bytes in all."]
    since = " since the last reset" if totals["resets"] else ""
    for protocol, asked in totals["questions"].items():
        left = totals["questions_left"].get(protocol)
        more = "" if left is None else f"; {left} more allowed"
        lines.append(f"{counted(asked, 'question')} of the {protocol} protocol{since}{more}.")
    spent = f"ε spent{since}: {totals['epsilon']:g}"
    lines.append(
        spent + (f" of {totals['budget']:g}; {totals['left']:g} left." if totals["budget"] is not None else ".")
    )
    if totals["delta_spent"]:
        lines.append(f"δ spent{since}: {totals['delta_spent']:g}.")
    if "delta" in totals:
        together = f"{totals['epsilon_for_delta']:.4g}"
        lines.append(f"For δ = {totals['delta']:g} all answers with ε together have ε = {together}.")
    if totals["exact_answers"]:
        exact = totals["exact_answers"]
        were = "was exact: no ε bounds what it tells" if exact == 1 else "were exact: no ε bounds what they tell"
        lines.append(f"{counted(exact, 'answer')}{since} {were}.")
    for line in totals["torn_lines"]:
        lines.append(f"Line {line} was cut off by a crash: what it stood for was not sent.")
    for line in totals["accepted_lines"]:
        lines.append(f"Line {line}, or the one before it, was damaged; you decided to go on.")
    lines.append(f"Head: {totals['head'] or 'none yet'}")
    if "lines_after_head" in totals:
        after = counted(totals["lines_after_head"], "line")
        lines.append(f"All lines up to the head that you gave still stand; {after} came after it.")
    if not totals["head_beside"]:
        lines.append("There is no file 'head' beside it, so lines may be missing at its end.")
    return lines


def _when(time: str) -> str:
    return time[:16].replace("T", " ")


def _what(entry: Entry) -> str:
    if entry.what == QUESTION:
        return f"(question of the {entry.protocol} protocol opened)"
    if entry.what == ALLOW:
        more = [f"{entry.more_questions} more"] if entry.more_questions else []
        more += [f"ε {entry.more_epsilon:g} more"] if entry.more_epsilon else []
        more += [f"δ {entry.more_delta:g} more"] if entry.more_delta else []
        return f"(allowed: {', '.join(more)}; {entry.note})"
    if entry.what in (RESET, ACCEPT, TORN):
        return f"({entry.what}: {entry.note})"
    if entry.what in (FAILURE, REFUSAL):
        return f"({'failed' if entry.what == FAILURE else 'refused'}) {entry.note}"
    arrays = [f"{name} {'×'.join(map(str, shape)) or '1'}" for name, shape in entry.arrays.items()]
    free = "(without a question) " if entry.what == FREE else ""
    return free + (", ".join([*entry.scalars, *arrays]) or "nothing")


def _number(entry: Entry) -> str:
    return f"{entry.epsilon:g}" if entry.epsilon else "–"
