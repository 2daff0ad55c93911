"""The verdict in few lines: a headline, clients with the same reasons together, and notes that repeat said once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedbary.filling import Dialect
from fedbary.notes import Note
from fedbary.valuation.verdict import PROBLEMS_FIRST, SHIFT, STATEMENTS, Advice, Opinion
from fedbary.wording import counted, listed, shortened, without_control

if TYPE_CHECKING:
    from fedbary.valuation.result import Valuation

_LONGEST_NAME = 30
# So many groups of a kind are said in full where there are more clients than fit a screen.
_MOST_GROUPS, _MOST_NAMES, _MANY_CLIENTS = 8, 5, 30
# A note of a run that is about the reference, and is said before anything about clients.
REFERENCE_DIFFERS = "judging.reference-differs"


@dataclass(frozen=True)
class Group:
    """Clients of which the same is to be said."""

    advice: Advice
    clients: tuple[str, ...]
    why: str = ""

    def __str__(self) -> str:
        """Names, and why."""
        names = listed([shortened(without_control(name), _LONGEST_NAME) for name in self.clients], most=_MOST_NAMES)
        many = f"{counted(len(self.clients), 'client')} ({names})" if len(self.clients) > _MOST_NAMES else names
        each = "for each, " if len(self.clients) > 1 and self.advice is not Advice.NOT_VALUED else ""
        return _SAID[self.advice].format(many) + (f": {each}{self.why}" if self.why else "")


def headline(opinions: Sequence[Opinion]) -> str:
    """How many clients to include, to look at and to leave out."""
    total = len(opinions)
    count = {advice: sum(opinion.advice == advice for opinion in opinions) for advice in Advice}
    alone = next((advice for advice in Advice if count[advice] == total), None)
    if total and alone is not None:
        all_of_them = {1: "the only client", 2: "both clients"}.get(total, f"all {total:,} clients")
        if alone is Advice.UNKNOWN and total > 1:
            all_of_them = "either client" if total == 2 else f"any of the {total:,} clients"
        parts = [_SAID[alone].format(all_of_them)]
    else:
        of_all = f" of {total:,} clients"
        parts = [f"include {f'{count[Advice.INCLUDE]:,}' if count[Advice.INCLUDE] else 'none'}{of_all}"]
        parts += [_SAID[one].format(f"{count[one]:,}") for one in _SAID if one is not Advice.INCLUDE and count[one]]
    return ", ".join([_capital(parts[0]), *(part[0].lower() + part[1:] for part in parts[1:])]) + "."


_SAID = {
    Advice.INCLUDE: "Include {}",
    Advice.LOOK: "Look at {} first",
    Advice.LEAVE: "Leave out {}",
    Advice.UNKNOWN: "Nothing can be said of {}",
    Advice.NOT_VALUED: "{} could not be valued",
}


def problems_first(opinions: Sequence[Opinion]) -> list[int]:
    """Places of the clients to show: those with a problem, the worst first, then those to include, the best first.

    Examples
    --------
    >>> advised = (Advice.INCLUDE, Advice.INCLUDE, Advice.LOOK)
    >>> problems_first([Opinion(name, advice, ()) for name, advice in zip("abc", advised, strict=True)])
    [2, 0, 1]
    """
    return sorted(
        range(len(opinions)),
        key=lambda place: (
            PROBLEMS_FIRST.index(opinions[place].advice),
            place if opinions[place].advice == Advice.INCLUDE else -place,
        ),
    )


def groups(result: Valuation, dialect: Dialect | None = None) -> list[Group]:
    """Clients by advice and reasons, problems first and the worst of them first; those to include in one group.

    With many clients only the first groups of a kind have their reasons in full; the rest of it is grouped by kinds of
    reasons. Why a client failed is said in full, to the reader who has the result.
    """
    opinions = result.verdict()
    ordered = [opinions[place] for place in problems_first(opinions)]
    found: dict[tuple[Advice, str], list[Opinion]] = {}
    for opinion in ordered:
        found.setdefault((opinion.advice, _why(result, opinion, dialect)), []).append(opinion)
    said = [(Group(advice, _names(those), why), those) for (advice, why), those in found.items()]
    if len(opinions) <= _MANY_CLIENTS:
        return [group for group, _ in said]
    shown = []
    for advice in PROBLEMS_FIRST:
        mine = [pair for pair in said if pair[0].advice == advice]
        shown += [group for group, _ in mine[:_MOST_GROUPS]]
        shown += _by_kind(advice, [opinion for _, those in mine[_MOST_GROUPS:] for opinion in those])
    return shown


def _by_kind(advice: Advice, opinions: Sequence[Opinion]) -> list[Group]:
    """One group for each share that is the only reason, with the range of it, and one for all other clients."""
    kinds: dict[str, list[Opinion]] = {}
    for opinion in opinions:
        codes = [note.code for note in opinion.reasons if note.code not in STATEMENTS]
        kinds.setdefault(_SOME.get(codes[0], "") if len(codes) == 1 else "", []).append(opinion)
    shown = []
    for code, those in sorted(kinds.items(), key=lambda kind: not kind[0]):
        shares = [share for one in those for note in one.reasons if isinstance(share := note.facts.get("share"), float)]
        why = str(Note(code, {"least": min(shares), "most": max(shares)})) if code and shares else ""
        shown.append(Group(advice, _names(those), why))
    return shown


_SOME = {
    "verdict.bad-rows": "verdict.some-bad-rows",
    "verdict.odd-features": "verdict.some-odd-features",
    "verdict.wrong-labels": "verdict.some-wrong-labels",
}


def _names(opinions: Sequence[Opinion]) -> tuple[str, ...]:
    return tuple(opinion.client for opinion in opinions)


def _why(result: Valuation, opinion: Opinion, dialect: Dialect | None) -> str:
    if opinion.advice is Advice.INCLUDE:
        return ""
    if opinion.advice is Advice.NOT_VALUED:
        outcome = result.outcomes[opinion.client]
        return f"{outcome.status}, {'; '.join(note.text(dialect) for note in outcome.notes)}"
    return "; ".join(note.text(dialect) for note in opinion.reasons)


def about_the_reference(result: Valuation, dialect: Dialect | None = None) -> list[str]:
    """What is to be read before the verdict: that it is the reference that differs."""
    return [f"{_capital(note.text(dialect))}." for note in result.notes if note.code == REFERENCE_DIFFERS]


def remarks(result: Valuation, dialect: Dialect | None = None) -> list[str]:
    """What notes say that the verdict does not, each once, however many clients it is about."""
    reasons = {
        (opinion.client, note.to_text())
        for opinion in result.verdict()
        for note in opinion.reasons
        if opinion.advice is not Advice.INCLUDE  # whose reasons are not said
    }
    left = [
        (name, note)
        for name, outcome in result.outcomes.items()
        for note in (outcome.notes if outcome.ok else ())
        if (name, note.redacted().to_text()) not in reasons
    ]
    general = [note for note in result.notes if note.code != REFERENCE_DIFFERS]
    away = [shift for _, note in left if note.code == SHIFT and isinstance(shift := note.facts.get("shift"), float)]
    if len(away) > _MOST_GROUPS:  # each has its number in the table
        left = [(name, note) for name, note in left if note.code != SHIFT]
        general.append(Note("judging.some-shift", {"clients": len(away), "least": min(away), "most": max(away)}))
    clients: dict[str, dict[str, None]] = {}
    for name, note in left:
        clients.setdefault(note.text(dialect), {})[shortened(without_control(name), _LONGEST_NAME)] = None
    return [_same(text, list(names)) for text, names in clients.items()] + [note.text(dialect) for note in general]


def _same(text: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{names[0]}: {text}"
    return f"{text} (same for {counted(len(names), 'client')}: {listed(names, most=_MOST_NAMES)})"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
