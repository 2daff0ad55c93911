"""The verdict as a page shows it: problems first, clients with the same trouble together, included ones on one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from fedbary.valuation.outcome import Outcome, Status
from fedbary.valuation.verdict import PROBLEMS_FIRST, Advice, Opinion
from fedbary.views.verdict_lines import problems_first

# A title, and the colour of the group.
GROUPS = {
    Advice.LEAVE: ("Leave out", "bad"),
    Advice.LOOK: ("Look at first", "warn"),
    Advice.NOT_VALUED: ("Not valued", "unknown"),
    Advice.UNKNOWN: ("Nothing can be said", "unknown"),
    Advice.INCLUDE: ("Include", "good"),
}
# So many entries of a group, and names of an entry, are shown before the reader asks for all.
_ENTRIES, _NAMES = 6, 8
_LONGEST_TYPED = 60


@dataclass(frozen=True)
class Step:
    """What to do next: words around a command that can be copied."""

    before: str
    command: str = ""
    after: str = ""


@dataclass(frozen=True)
class Entry:
    """Clients that the same is said of, and what to do about it."""

    names: tuple[str, ...]
    reasons: tuple[str, ...]
    remedy: Step | None = None

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
    remedy: Step | None = None

    @property
    def first(self) -> tuple[Entry, ...]:
        """The entries that are shown at once."""
        return self.entries[:_ENTRIES]

    @property
    def rest(self) -> tuple[Entry, ...]:
        """The entries behind a click."""
        return self.entries[_ENTRIES:]


def problems(
    opinions: Sequence[Opinion], outcomes: Mapping[str, Outcome], *, one_process: bool, folder: str | None
) -> list[Group]:
    """Groups of clients that are not simply included, worst first, with what to do about them.

    ``folder`` is the result's, for commands that can be copied.
    """
    groups = []
    ordered = [opinions[place] for place in problems_first(opinions)]
    for advice in PROBLEMS_FIRST:
        mine = [opinion for opinion in ordered if opinion.advice == advice]
        if not mine or advice is Advice.INCLUDE:
            continue
        title, look = GROUPS[advice]
        found: dict[tuple[Step | None, tuple[str, ...]], list[str]] = {}
        for opinion in mine:
            remedy = _mend(outcomes[opinion.client], one_process, folder) if advice is Advice.NOT_VALUED else None
            found.setdefault((remedy, tuple(map(str, opinion.reasons))), []).append(opinion.client)
        entries = tuple(Entry(tuple(names), reasons, remedy) for (remedy, reasons), names in found.items())
        groups.append(Group(title, look, len(mine), entries, _next_step(advice, mine[0].client, one_process, folder)))
    return groups


def included(opinions: Sequence[Opinion]) -> Entry | None:
    """Everybody who is to be included, best first."""
    names = tuple(opinion.client for opinion in opinions if opinion.advice is Advice.INCLUDE)
    return Entry(names, ()) if names else None


def _next_step(advice: Advice, client: str, one_process: bool, folder: str | None) -> Step | None:
    if advice is Advice.UNKNOWN:
        return Step(
            "Take its numbers neither for good nor for bad. More rows, of the client or of the reference, make the "
            "intervals narrower."
        )
    if advice is Advice.NOT_VALUED:
        return None
    todo = {
        Advice.LEAVE: "Train without it, or have its data mended and value it again: ",
        Advice.LOOK: "Have somebody who knows the data look before it takes part: ",
    }[advice]
    if not one_process:
        return Step(f"{todo}its owner finds the rows in the report of its own node.")
    name = quote(client) if client.isprintable() and len(client) <= _LONGEST_TYPED else "NAME"
    return Step(todo, f"fedbary report {folder or 'FOLDER'} --client {name}", " shows the rows.")


def _mend(outcome: Outcome, one_process: bool, folder: str | None) -> Step:
    match outcome.status:
        case Status.REFUSED:
            return Step(
                "The rules of its owner forbid the answer: ask for less, or ask the owner to change the policy."
            )
        case Status.SILENT:
            return Step(
                "Ask whether its node is running, then repeat the run with resume: the others' answers are kept."
            )
    if one_process:
        check = f"fedbary check FILE --schema {folder or 'FOLDER'}/schema.json"
        return Step("", check, " says what is wrong with the file; mend it and value again.")
    check = "fedbary check FILE --schema schema.json"
    return Step("Ask its owner to run ", check, ", which says what is wrong with the file; then repeat the run.")
