"""The verdict as a page shows it: problems first, clients with the same trouble together, included ones on one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from fedbary.valuation.outcome import Outcome, Status
from fedbary.valuation.verdict import Advice, Opinion

# Problems first; a title, and the colour of the group.
GROUPS = {
    Advice.LEAVE: ("Leave out", "bad"),
    Advice.LOOK: ("Look at first", "warn"),
    Advice.UNKNOWN: ("Nothing can be said", "unknown"),
    Advice.NOT_VALUED: ("Not valued", "unknown"),
    Advice.INCLUDE: ("Include", "good"),
}
# So many entries of a group, and names of an entry, are shown before the reader asks for all.
_ENTRIES, _NAMES = 6, 8


@dataclass(frozen=True)
class Entry:
    """Clients that the same is said of, and what to do about it."""

    names: tuple[str, ...]
    reasons: tuple[str, ...]
    remedy: str = ""

    @property
    def first(self) -> tuple[str, ...]:
        """The names that are shown at once."""
        return self.names[:_NAMES]

    @property
    def rest(self) -> tuple[str, ...]:
        """The names behind a click."""
        return self.names[_NAMES:]


@dataclass(frozen=True)
class Group:
    """All clients with one advice."""

    title: str
    look: str
    count: int
    entries: tuple[Entry, ...]
    remedy: str = ""

    @property
    def first(self) -> tuple[Entry, ...]:
        """The entries that are shown at once."""
        return self.entries[:_ENTRIES]

    @property
    def rest(self) -> tuple[Entry, ...]:
        """The entries behind a click."""
        return self.entries[_ENTRIES:]


def headline(opinions: Sequence[Opinion]) -> str:
    """The verdict in one line.

    Examples
    --------
    >>> headline([Opinion("a", Advice.INCLUDE, ()), Opinion("b", Advice.INCLUDE, ()), Opinion("c", Advice.LOOK, ())])
    'Include 2 of 3 clients; look at 1 first.'
    >>> headline([Opinion("a", Advice.INCLUDE, ())])
    'Include the one client.'
    """
    count = {advice: sum(opinion.advice == advice for opinion in opinions) for advice in GROUPS}
    total = len(opinions)
    parts = []
    if count[Advice.INCLUDE] == total:
        parts.append("Include the one client" if total == 1 else f"Include all {total} clients")
    elif count[Advice.INCLUDE]:
        parts.append(f"Include {count[Advice.INCLUDE]} of {total} clients")
    if count[Advice.LOOK]:
        parts.append(f"look at {count[Advice.LOOK]} first")
    if count[Advice.LEAVE]:
        parts.append(f"leave out {count[Advice.LEAVE]}")
    if count[Advice.UNKNOWN]:
        parts.append(f"nothing can be said of {count[Advice.UNKNOWN]}")
    if count[Advice.NOT_VALUED]:
        parts.append(f"{count[Advice.NOT_VALUED]} could not be valued")
    sentence = "; ".join(parts)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def problems(
    opinions: Sequence[Opinion], outcomes: Mapping[str, Outcome], *, one_process: bool, folder: str | None
) -> list[Group]:
    """Groups of clients that are not simply included, worst first, with what to do about them.

    ``folder`` is the result's, for commands that can be copied.
    """
    groups = []
    for advice, (title, look) in GROUPS.items():
        mine = [opinion for opinion in reversed(opinions) if opinion.advice == advice]
        if not mine or advice is Advice.INCLUDE:
            continue
        found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for opinion in mine:
            remedy = _mend(outcomes[opinion.client], one_process, folder) if advice is Advice.NOT_VALUED else ""
            found.setdefault((remedy, tuple(map(str, opinion.reasons))), []).append(opinion.client)
        entries = tuple(Entry(tuple(names), reasons, remedy) for (remedy, reasons), names in found.items())
        groups.append(Group(title, look, len(mine), entries, _next_step(advice, mine[0].client, one_process, folder)))
    return groups


def included(opinions: Sequence[Opinion]) -> Entry | None:
    """Everybody who is to be included, best first."""
    names = tuple(opinion.client for opinion in opinions if opinion.advice is Advice.INCLUDE)
    return Entry(names, ()) if names else None


def _next_step(advice: Advice, client: str, one_process: bool, folder: str | None) -> str:
    rows = "its owner finds the rows in the report of its own node"
    if one_process:
        name = quote(client) if client.isprintable() and len(client) <= 60 else "NAME"
        rows = f"fedbary report {folder or 'FOLDER'} --client {name} shows the rows"
    return {
        Advice.LEAVE: f"Train without it, or have its data mended and value it again: {rows}.",
        Advice.LOOK: f"Have somebody who knows the data look before it takes part: {rows}.",
        Advice.UNKNOWN: "Take its numbers neither for good nor for bad. More rows, of the client or of the reference, "
        "make the intervals narrower.",
    }.get(advice, "")


def _mend(outcome: Outcome, one_process: bool, folder: str | None) -> str:
    check = f"fedbary check FILE --schema {folder or 'FOLDER'}/schema.json"
    match outcome.status:
        case Status.REFUSED:
            return (
                "The rules of its owner forbid the answer: ask for less, or talk to the owner, who changes the policy."
            )
        case Status.SILENT:
            return "Ask whether its node is running, then repeat the run with resume: the others' answers are kept."
    if one_process:
        return f"{check} says what is wrong with the file; mend it and value again."
    return f"Ask its owner to run {check}, which says what is wrong with the file, and then repeat the run."
