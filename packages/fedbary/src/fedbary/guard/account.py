"""`Account`: what the lines of a ledger say, and what they leave an owner to answer."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from decimal import Decimal

from fedbary.errors import PrivacyError

# What a server brings about: a question is opened, answered, failed or refused, and flags are counted.
QUESTION, REPLY, FAILURE, REFUSAL, FLAGS = "question", "reply", "failure", "refusal", "flags"
# What the owner decides, and what a crash left.
ALLOW, RESET, ACCEPT, TORN = "allow", "reset", "accept", "torn"
DECISIONS = (ALLOW, RESET, ACCEPT)


@dataclass(frozen=True)
class Entry:
    """One line: what left, in numbers and names, never a row's value.

    Parameters
    ----------
    what : {"question", "reply", "failure", "refusal", "flags", "allow", "reset", "accept", "torn"}
        A question was opened, before any row was looked at for it; what left for one of its messages: an answer, or
        that there is none (the rows, or something inside, had a say in that); a refusal, in which no row had a say;
        a count of flags; a decision of the owner; or that a crash had left an unfinished line.
    run : str
        The server's name of the run. Nothing is counted by it.
    question : int
        The owner's number of the question; 0 where none is open.
    protocol, kind, round, message
        What was asked; ``message`` is its digest.
    asked : str
        Digest of the question's first message and of the settings in force.
    data : str
        Digest of the table's rows.
    bytes, arrays, scalars, digest
        Size of what left, names and shapes of its arrays, names of its scalars, and its digest.
    epsilon, delta, left : float
        What the question costs, and what is left of the budget of ε afterwards.
    more_questions, more_epsilon, more_delta : int, float, float
        What the owner allows beyond the policy.
    time : str
        UTC, ISO 8601.
    note : str
        Why it was refused, allowed, reset or accepted.
    previous : str
        Digest of the line before; of the whole file before it where the owner accepted a damaged one.
    """

    what: str = REPLY
    run: str = ""
    question: int = 0
    protocol: str = ""
    kind: str = ""
    round: int = 0
    message: str = ""
    asked: str = ""
    data: str = ""
    bytes: int = 0
    arrays: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    scalars: tuple[str, ...] = ()
    digest: str = ""
    epsilon: float = 0.0
    delta: float = 0.0
    left: float | None = None
    more_questions: int = 0
    more_epsilon: float = 0.0
    more_delta: float = 0.0
    time: str = ""
    note: str = ""
    previous: str = ""

    def to_json(self) -> str:
        """One line of plain ASCII."""
        return json.dumps(asdict(self), allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> Entry:
        """Read a line back; raises ValueError or TypeError where it is not one."""
        content = json.loads(line)
        if not isinstance(content, dict):
            raise ValueError("not a line of a ledger")
        for name in ("delta", "more_delta"):  # an owner's older lines have none
            content.setdefault(name, 0.0)
        if set(content) != {f.name for f in fields(cls)}:
            raise ValueError("not a line of a ledger")
        shapes = {str(name): tuple(map(int, shape)) for name, shape in dict(content["arrays"]).items()}
        entry = cls(**{**content, "arrays": shapes, "scalars": tuple(content["scalars"])})
        for cost in (entry.epsilon, entry.delta, entry.more_epsilon, entry.more_delta):
            check_cost(cost)
        if any(type(number) is not int for number in (entry.question, entry.more_questions)):
            raise ValueError("not a line of a ledger")
        return entry


@dataclass(frozen=True)
class Account:
    """What a ledger says.

    Parameters
    ----------
    entries : tuple of Entry
        Its lines in order.
    head : str
        Digest of the last line; empty where there is none.
    torn, damaged : tuple of int
        Numbers of lines that a crash left unfinished, and of those that the owner accepted as they are.
    """

    entries: tuple[Entry, ...]
    head: str = ""
    torn: tuple[int, ...] = ()
    damaged: tuple[int, ...] = ()

    @property
    def current(self) -> tuple[Entry, ...]:
        """Entries since the last reset."""
        return self._since(RESET)

    def spent(self) -> float:
        """ε since the last reset."""
        return float(_total(entry.epsilon for entry in self.current))

    def spent_delta(self) -> float:
        """δ since the last reset."""
        return float(_total(entry.delta for entry in self.current))

    def exact_answers(self) -> int:
        """Answers since the last reset to questions that cost no ε."""
        costs = {entry.question: entry.epsilon for entry in self.current if entry.what == QUESTION}
        return sum(entry.what == REPLY and not costs.get(entry.question) for entry in self.current)

    def questions(self, protocol: str) -> int:
        """Questions of a protocol that were opened since the last reset."""
        return sum(entry.what == QUESTION and entry.protocol == protocol for entry in self.current)

    def allowed(self, protocol: str) -> int:
        """Questions of a protocol that the owner allowed beyond the policy."""
        return sum(entry.more_questions for entry in self.current if entry.protocol == protocol)

    def budget(self, of_policy: float | None) -> float | None:
        """The policy's ε budget, with what the owner allowed beyond it."""
        if of_policy is None:
            return None
        return float(_total((of_policy, *(entry.more_epsilon for entry in self.current))))

    def left(self, protocol: str, most: int | None) -> int | None:
        """Questions of a protocol that may still be opened, where ``most`` are allowed by the policy."""
        return None if most is None else max(most + self.allowed(protocol) - self.questions(protocol), 0)

    def afford(
        self, entry: Entry, *, budget: float | None, most: int | None, most_delta: float | None = None
    ) -> float | None:
        """What is left of the budget of ε once this question is opened; refuses where it may not be."""
        if self.left(entry.protocol, most) == 0:
            raise PrivacyError(
                "guard.no-further-question", protocol=entry.protocol, asked=self.questions(entry.protocol)
            )
        self._afford_delta(entry.delta, most_delta)
        whole = self.budget(budget)
        if whole is None:
            return None
        spent = _total(old.epsilon for old in self.current)
        left = Decimal(repr(whole)) - spent - Decimal(repr(float(entry.epsilon)))
        if left < 0 and entry.epsilon > 0:
            raise PrivacyError("guard.budget-spent", spent=float(spent), budget=whole, cost=entry.epsilon)
        return float(max(left, Decimal(0)))

    def _afford_delta(self, delta: float, most: float | None) -> None:
        if most is None or not delta:
            return
        whole = _total((most, *(entry.more_delta for entry in self.current)))
        spent = _total(old.delta for old in self.current)
        if spent + Decimal(repr(float(delta))) > whole:
            raise PrivacyError("guard.delta-spent", spent=float(spent), most=float(whole), cost=delta)

    def lines_after(self, head: str) -> int | None:
        """How many lines came after the one with this digest; None where no line has it.

        Examples
        --------
        >>> Account((Entry(), Entry(previous="aa"), Entry(previous="bb")), head="cc").lines_after("bb")
        1
        """
        digests = [*(entry.previous for entry in self.entries[1:]), self.head]
        return len(digests) - 1 - digests.index(head) if head and head in digests else None

    @property
    def next_question(self) -> int:
        """The number of the next question."""
        return 1 + max((entry.question for entry in self.entries), default=0)

    def messages(self, question: int) -> int:
        """Messages of a question for which something left, or that nothing could."""
        return sum(entry.question == question and entry.what in (REPLY, FAILURE) for entry in self.entries)

    def unanswered(self, run: str, asked: str) -> int | None:
        """The question that a run opened with exactly this, if nothing left for it: the node was killed meanwhile."""
        mine = [entry for entry in self.current if entry.what == QUESTION and entry.run == run]
        if not mine or mine[-1].asked != asked or self.messages(mine[-1].question):
            return None
        return mine[-1].question

    def answered(self, asked: str) -> str | None:
        """The run in which exactly this was answered since the owner's last decision."""
        recent = self._since(*DECISIONS)
        runs = [e.run for e in recent if e.what == QUESTION and e.asked == asked and self.messages(e.question)]
        return runs[-1] if runs else None

    def refusals(self) -> int:
        """Refusals since the owner's last decision."""
        return sum(entry.what == REFUSAL for entry in self._since(*DECISIONS))

    def _since(self, *what: str) -> tuple[Entry, ...]:
        last = max((at for at, entry in enumerate(self.entries) if entry.what in what), default=-1)
        return self.entries[last + 1 :]


def check_cost(epsilon: object) -> None:
    """Refuse what is neither ε nor δ."""
    fits = isinstance(epsilon, (int, float)) and not isinstance(epsilon, bool)
    if not fits or not math.isfinite(epsilon) or epsilon < 0:  # type: ignore[operator,arg-type]
        raise ValueError(f"epsilon must be a finite number, zero or above, not {epsilon!r}")


def _total(costs: Iterable[float]) -> Decimal:
    """A sum as the owner reads it: three times 0.1 is 0.3, which no sum of floats says."""
    return sum((Decimal(repr(float(cost))) for cost in costs), Decimal(0))
