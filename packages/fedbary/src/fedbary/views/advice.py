"""The verdict in words: a headline, clients of which the same is to be said together, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fedbary.filling import Dialect
from fedbary.notes import Note
from fedbary.valuation.outcome import Outcome, Status
from fedbary.valuation.verdict import PROBLEMS_FIRST, SHIFT, STATEMENTS, Advice, Opinion
from fedbary.views.display import LOOKS
from fedbary.wording import counted, listed, shortened, without_control

if TYPE_CHECKING:
    from fedbary.valuation.result import Valuation

Reason = TypeVar("Reason")

_LONGEST_NAME, _LONGEST_TYPED = 30, 60
# So many groups of a kind are said in full where there are more clients than fit a screen.
_MOST_GROUPS, _MOST_NAMES, _MANY_CLIENTS = 8, 5, 30
# A note of a run that is about the reference, and is said before anything about clients.
REFERENCE_DIFFERS = "judging.reference-differs"
_RANGES = {
    "verdict.bad-rows": "verdict.some-bad-rows",
    "verdict.odd-features": "verdict.some-odd-features",
    "verdict.wrong-labels": "verdict.some-wrong-labels",
}


def headline(opinions: Sequence[Opinion]) -> str:
    """How many clients to include, to look at and to leave out."""
    total = len(opinions)
    count = {advice: sum(opinion.advice == advice for opinion in opinions) for advice in Advice}
    alone = next((advice for advice in Advice if count[advice] == total), None)
    if total and alone is not None:
        all_of_them = {1: "the only client", 2: "both clients"}.get(total, f"all {total:,} clients")
        if alone is Advice.UNKNOWN and total > 1:
            all_of_them = "either client" if total == 2 else f"any of the {total:,} clients"
        return _capital(LOOKS[alone].said.format(all_of_them)) + "."
    included = f"{count[Advice.INCLUDE]:,}" if count[Advice.INCLUDE] else "none"
    rest = [LOOKS[one].said.format(f"{count[one]:,}") for one in LOOKS if one is not Advice.INCLUDE and count[one]]
    lowered = [part[0].lower() + part[1:] for part in rest]
    return ", ".join([f"Include {included} of {total:,} clients", *lowered]) + "."


def about_the_reference(result: Valuation, dialect: Dialect | None = None) -> list[str]:
    """What is to be read before the verdict: that it is the reference that differs."""
    return [f"{_capital(note.text(dialect))}." for note in result.notes if note.code == REFERENCE_DIFFERS]


def problems_first(opinions: Sequence[Opinion]) -> list[int]:
    """Places of the clients to show: those with a problem, the worst first, then those to include, the best first."""

    def order(place: int) -> tuple[int, int]:
        advice = opinions[place].advice
        return PROBLEMS_FIRST.index(advice), place if advice == Advice.INCLUDE else -place

    return sorted(range(len(opinions)), key=order)


def _together(
    opinions: Sequence[Opinion], reason: Callable[[Opinion], Reason]
) -> dict[Advice, dict[Reason, list[Opinion]]]:
    """Clients with the same advice for the same reason, problems first and the worst of them first."""
    groups: dict[Advice, dict[Reason, list[Opinion]]] = {}
    for place in problems_first(opinions):
        opinion = opinions[place]
        groups.setdefault(opinion.advice, {}).setdefault(reason(opinion), []).append(opinion)
    return groups


@dataclass(frozen=True)
class Group:
    """Clients of which the same is to be said."""

    advice: Advice
    clients: tuple[str, ...]
    why: str = ""

    def __str__(self) -> str:
        names = listed([shortened(without_control(name), _LONGEST_NAME) for name in self.clients], most=_MOST_NAMES)
        many = f"{counted(len(self.clients), 'client')} ({names})" if len(self.clients) > _MOST_NAMES else names
        each = "for each, " if len(self.clients) > 1 and self.advice is not Advice.NOT_VALUED else ""
        return LOOKS[self.advice].said.format(many) + (f": {each}{self.why}" if self.why else "")


def groups(result: Valuation, dialect: Dialect | None = None) -> list[Group]:
    """Clients by advice and reasons, problems first and the worst of them first; those to include in one group.

    With many clients only the first groups of a kind have their reasons in full; the rest of it is grouped by kinds of
    reasons. Why a client failed is said in full, to the reader who has the result.
    """

    def why(opinion: Opinion) -> str:
        if opinion.advice is Advice.INCLUDE:
            return ""
        outcome = result.outcomes.get(opinion.client, Outcome())
        failed = opinion.advice is Advice.NOT_VALUED
        said = "; ".join(note.text(dialect) for note in (outcome.notes if failed else opinion.reasons))
        return f"{outcome.status}, {said}" if failed else said

    shown = []
    for advice, reasons in _together(result.verdict(), why).items():
        most = _MOST_GROUPS if len(result.verdict()) > _MANY_CLIENTS else len(reasons)
        shown += [Group(advice, _names(those), text) for text, those in list(reasons.items())[:most]]
        shown += _by_kind(advice, [opinion for those in list(reasons.values())[most:] for opinion in those])
    return shown


def _by_kind(advice: Advice, opinions: Sequence[Opinion]) -> list[Group]:
    """One group for each share that is the only reason, with the range of it, and one for all other clients."""
    kinds: dict[str, list[Opinion]] = {}
    for opinion in opinions:
        codes = [note.code for note in opinion.reasons if note.code not in STATEMENTS]
        kinds.setdefault(_RANGES.get(codes[0], "") if len(codes) == 1 else "", []).append(opinion)
    shown = []
    for code, those in sorted(kinds.items(), key=lambda kind: not kind[0]):
        shares = [share for one in those for note in one.reasons if isinstance(share := note.facts.get("share"), float)]
        why = str(Note(code, {"least": min(shares), "most": max(shares)})) if code and shares else ""
        shown.append(Group(advice, _names(those), why))
    return shown


def besides(result: Valuation) -> list[tuple[str, Note]]:
    """Notes on valued clients, with their names, that are no reason of a verdict that says its reasons."""
    reasons = {
        (opinion.client, note.to_text())
        for opinion in result.verdict()
        for note in opinion.reasons
        if opinion.advice is not Advice.INCLUDE
    }
    return [
        (name, note)
        for name, outcome in result.outcomes.items()
        for note in (outcome.notes if outcome.ok else ())
        if (name, note.redacted().to_text()) not in reasons
    ]


def remarks(result: Valuation, dialect: Dialect | None = None) -> list[str]:
    """What notes say that the verdict does not, each once, however many clients it is about."""
    left = besides(result)
    general = [note for note in result.notes if note.code != REFERENCE_DIFFERS]
    away = [shift for _, note in left if note.code == SHIFT and isinstance(shift := note.facts.get("shift"), float)]
    if len(away) > _MOST_GROUPS:  # each has its number in the table
        left = [(name, note) for name, note in left if note.code != SHIFT]
        general.append(Note("judging.some-shift", {"clients": len(away), "least": min(away), "most": max(away)}))
    clients: dict[str, dict[str, None]] = {}
    for name, note in left:
        clients.setdefault(note.text(dialect), {})[shortened(without_control(name), _LONGEST_NAME)] = None
    said = [
        f"{next(iter(names))}: {text}"
        if len(names) == 1
        else f"{text} (same for {counted(len(names), 'client')}: {listed(list(names), most=_MOST_NAMES)})"
        for text, names in clients.items()
    ]
    return said + [note.text(dialect) for note in general]


class Step(NamedTuple):
    """What to do next: words around a command that can be copied."""

    before: str
    command: str = ""
    after: str = ""


class Entry(NamedTuple):
    """Clients that the same is said of on a page, and what to do about it."""

    names: tuple[str, ...]
    reasons: tuple[str, ...] = ()
    remedy: Step | None = None


@dataclass(frozen=True)
class Problem:
    """All clients with one advice on a page."""

    title: str
    look: str
    count: int
    entries: list[Entry]
    remedy: Step | None


def problems(
    opinions: Sequence[Opinion], outcomes: Mapping[str, Outcome], *, one_process: bool, folder: str | None
) -> list[Problem]:
    """Clients that are not simply included, worst first, with what to do about them.

    ``folder`` is the result's, for commands that can be copied.
    """

    def reason(opinion: Opinion) -> tuple[Step | None, tuple[str, ...]]:
        failed = opinion.advice is Advice.NOT_VALUED
        mend = _mend(outcomes[opinion.client], one_process, folder) if failed else None
        return mend, tuple(map(str, opinion.reasons))

    found = []
    for advice, reasons in _together(opinions, reason).items():
        if advice is not Advice.INCLUDE:
            entries = [Entry(_names(those), texts, mend) for (mend, texts), those in reasons.items()]
            count = sum(len(entry.names) for entry in entries)
            step = _next_step(advice, entries[0].names[0], one_process, folder)
            found.append(Problem(str(advice).capitalize(), LOOKS[advice].css, count, entries, step))
    return found


def typed_name(client: str) -> str:
    """A client's name as a shell takes it; one that cannot be copied there is left for its reader to type."""
    return quote(client) if client.isprintable() and len(client) <= _LONGEST_TYPED else "NAME"


def _next_step(advice: Advice, client: str, one_process: bool, folder: str | None) -> Step | None:
    if advice is Advice.NOT_VALUED:
        return None
    if advice is Advice.UNKNOWN:
        return Step(
            "Take its numbers neither for good nor for bad. More rows, of the client or of the reference, make the "
            "intervals narrower."
        )
    todo = {
        Advice.LEAVE: "Train without it, or have its data mended and value it again: ",
        Advice.LOOK: "Have somebody who knows the data look before it takes part: ",
    }[advice]
    if not one_process:
        return Step(f"{todo}its owner finds the rows in the report of its own node.")
    return Step(todo, f"fedbary report {folder or 'FOLDER'} --client {typed_name(client)}", " shows the rows.")


def _mend(outcome: Outcome, one_process: bool, folder: str | None) -> Step:
    if outcome.status is Status.REFUSED:
        return Step("The rules of its owner forbid the answer: ask for less, or ask the owner to change the policy.")
    if outcome.status is Status.SILENT:
        return Step("Ask whether its node is running, then repeat the run with resume: the others' answers are kept.")
    if one_process:
        check = f"fedbary check FILE --schema {folder or 'FOLDER'}/schema.json"
        return Step("", check, " says what is wrong with the file; mend it and value again.")
    check = "fedbary check FILE --schema schema.json"
    return Step("Ask its owner to run ", check, ", which says what is wrong with the file; then repeat the run.")


def _names(opinions: Sequence[Opinion]) -> tuple[str, ...]:
    return tuple(opinion.client for opinion in opinions)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
