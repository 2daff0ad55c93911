"""`OwnerPolicy`: what a data owner allows, whatever a server asks for; kept in a file that the owner writes.

A question is one run as its owner counts it: how many messages it has, and what one more could reveal.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from fedbary.checks import did_you_mean, number, whole
from fedbary.errors import PrivacyError, SettingsError, wrong_parameter
from fedbary.forms import MOST_ROWS, Number, Record
from fedbary.protocols.cards import Cards
from fedbary.protocols.interpolation import Interpolation
from fedbary.protocols.messages import Message, Settings
from fedbary.protocols.registry import PROTOCOLS
from fedbary.protocols.sketch import Sketch

_LARGEST_FILE = 2**16
# An answer with ε is not coarsened, as the noise protects it; beyond this there is hardly any.
_MOST_EPSILON = 10.0
# A budget pays for any number of questions with a tiny ε each, all of which a node would have to remember.
_MOST_UNDER_BUDGET = 100
_WITH_EPSILON = (Sketch.name, Cards.name)
# Beside the rounds: describe, moments and start; of cards the card, the model, common weights and flags.
_INTERPOLATION, _CARDS = 3, 4
# Everything else in the settings of cards is the server's own business.
_OF_A_CARD = ("min_group", "epsilon", "delta", "policy")
_FLAGS = Number(0, MOST_ROWS, whole=True, tells="how many rows are flagged", withheld_by="share_flag_counts")
FLAGGED = Record({"flagged": _FLAGS})
AnySettings = TypeVar("AnySettings", bound=Settings)


@dataclass(frozen=True)
class OwnerPolicy:
    """The limits of one data owner; a server's settings are refused beyond them, and tightened within them.

    The file that `to_toml` writes explains every key, and so does docs/owner.md. An exact answer would say more than
    any ``epsilon_budget``, so with one nothing leaves without ε; a very large ε hides nothing, so ``require_epsilon``
    needs a budget or ``max_epsilon``, which is 10 without a budget or trust.

    Unless the server is trusted (``trust_server``), `Sketch` answers with ``policy="coarsen"`` and `Cards` with
    ``policy="guarded"`` at least, and `Interpolation` draws its own ``t`` and has fewer ``rounds`` than ``min_group``,
    so that there are fewer averages than rows.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary.guard.policy import OwnerPolicy
    >>> OwnerPolicy(min_group=10).check(fb.Sketch(min_group=5))
    Traceback (most recent call last):
        ...
    fedbary.errors.PrivacyError: The server asks for min_group = 5, the owner's policy has min_group = 10 at least.
    >>> OwnerPolicy().applied(fb.Sketch()).policy, OwnerPolicy().applied(fb.Cards()).policy
    ('coarsen', 'guarded')
    """

    min_group: int = 5
    epsilon_budget: float | None = None
    protocols: tuple[str, ...] = ("sketch", "cards")
    share_flag_counts: bool = False
    share_numbers: bool = True
    share_card_with_others: bool = False
    require_epsilon: bool = False
    max_epsilon: float | None = None
    max_delta: float = 1e-6
    trust_server: bool = False
    max_rounds: int = 10
    max_questions: int | None = None

    def __post_init__(self) -> None:
        for key in ("min_group", "max_rounds", "max_questions"):
            if key != "max_questions" or self.max_questions is not None:
                whole(getattr(self, key), key, "OwnerPolicy", least=1)
        for key in ("epsilon_budget", "max_epsilon"):
            if getattr(self, key) is not None:
                number(getattr(self, key), key, "OwnerPolicy", zero=key == "epsilon_budget")
        number(self.max_delta, "max_delta", "OwnerPolicy", zero=True)
        for key in ("share_flag_counts", "share_numbers", "share_card_with_others", "require_epsilon", "trust_server"):
            if not isinstance(getattr(self, key), bool):
                raise wrong_parameter(key, "OwnerPolicy", "true or false", getattr(self, key))
        if not isinstance(self.protocols, tuple) or not all(isinstance(name, str) for name in self.protocols):
            raise wrong_parameter("protocols", "OwnerPolicy", "a list of names", self.protocols)
        for name in self.protocols:
            if name not in PROTOCOLS:
                raise SettingsError("guard.policy-unknown-protocol", name=name, known=", ".join(PROTOCOLS))
        if self.needs_epsilon:
            self._check_epsilon()

    def _check_epsilon(self) -> None:
        if self.epsilon_budget is None and self.max_epsilon is None:
            raise SettingsError("guard.any-epsilon")
        for name in self.protocols:
            if name not in _WITH_EPSILON:
                raise SettingsError("guard.protocol-without-epsilon", protocol=name, key=self._epsilon_key)
        if self.share_flag_counts:
            raise SettingsError("guard.flag-counts-are-exact", key=self._epsilon_key)

    @property
    def _epsilon_key(self) -> str:
        return "require_epsilon" if self.require_epsilon else "epsilon_budget"

    @property
    def needs_epsilon(self) -> bool:
        """Whether nothing leaves without ε."""
        return self.require_epsilon or self.epsilon_budget is not None

    @property
    def most_questions(self) -> int:
        """Most questions of each protocol."""
        if self.max_questions is None:
            return 1 if self.epsilon_budget is None else _MOST_UNDER_BUDGET
        return self.max_questions

    @property
    def limits(self) -> dict[str, Any]:
        """What a ledger holds a question against."""
        return {"budget": self.epsilon_budget, "most": self.most_questions, "most_delta": self.max_delta}

    def most_rounds(self, min_group: int) -> int:
        """Most rounds of `Interpolation` in groups of at least ``min_group`` rows; 0 where groups are single rows."""
        return self.max_rounds if self.trust_server else min(self.max_rounds, min_group - 1)

    def check(self, settings: Settings) -> None:
        """Refuse a server's settings that go beyond the policy, naming the key of the policy file."""
        name = str(settings.name)
        if name not in self.protocols or type(settings) is not PROTOCOLS.get(name):
            raise PrivacyError("guard.protocol-not-allowed", protocol=name, allowed=json.dumps(list(self.protocols)))
        min_group = settings.min_group
        if min_group < self.min_group:
            raise PrivacyError("guard.min-group", asked=min_group, least=self.min_group)
        if getattr(settings, "allow_reconstruction", False):
            raise PrivacyError("guard.reconstruction")
        if alone := getattr(settings, "only_in_one_process", ""):
            raise PrivacyError("guard.only-in-one-process", setting=alone)
        epsilon = getattr(settings, "epsilon", None)
        if epsilon is None and self.needs_epsilon:
            raise PrivacyError("guard.exact-answers", protocol=name, key=self._epsilon_key)
        limits = {"max_epsilon": self.max_epsilon, "epsilon_budget": self.epsilon_budget}
        if not self.trust_server and self.max_epsilon is self.epsilon_budget is None:
            limits["max_epsilon"] = _MOST_EPSILON
        for limit, most in limits.items():
            if epsilon is not None and most is not None and epsilon > most:
                raise PrivacyError("guard.epsilon-too-large", epsilon=epsilon, key=limit)
        if (delta := settings.trust.delta) > self.max_delta:
            raise PrivacyError("guard.delta-too-large", delta=delta, most=self.max_delta)
        if isinstance(settings, Interpolation):
            if not self.trust_server and settings.rounds >= min_group:
                raise PrivacyError("guard.rounds-solve-rows", rounds=settings.rounds, min_group=min_group)
            if settings.rounds > self.max_rounds:
                words = {"field": "rounds", "key": "max_rounds"}
                raise PrivacyError("guard.beyond-limit", asked=settings.rounds, most=self.max_rounds, **words)

    def applied(self, settings: AnySettings) -> AnySettings:
        """The settings that the owner's half of the protocol uses: the stricter of the server's and the owner's.

        Everything that a client reads from its settings is either refused by `check` or bounded here. (The client's
        ``seed``, its secret, must never come from a server.)
        """
        self.check(settings)
        has = {field.name for field in fields(settings)}
        stricter: dict[str, Any] = {"min_group": max(settings.min_group, self.min_group)}
        if "numbers" in has and not self.share_numbers:
            stricter["numbers"] = False
        if isinstance(settings, Cards):
            stricter["shared"] = self.share_card_with_others
        if "allow_reconstruction" in has:
            stricter["allow_reconstruction"] = False
        if not self.trust_server:
            if getattr(settings, "policy", "") == "trusted":
                exact = "guarded" if isinstance(settings, Cards) else "coarsen"
                stricter["policy"] = exact if getattr(settings, "epsilon", None) is None else "dp"
            if isinstance(settings, Interpolation):
                stricter["t"] = None
        return replace(settings, **stricter)

    def most_telling(self, name: str, min_group: int | None = None) -> Settings:
        """The settings of a protocol that tell a server most, of those that the policy allows it to ask for.

        ``min_group`` is the server's; default: the policy's.
        """
        most: dict[str, Any] = {"min_group": self.min_group if min_group is None else min_group}
        if name in _WITH_EPSILON and self.needs_epsilon:
            most["epsilon"] = min(value for value in (self.max_epsilon, self.epsilon_budget) if value is not None)
            most |= {"delta": self.max_delta} if name == Cards.name else {}
        if name == Interpolation.name:
            most["rounds"] = max(1, self.most_rounds(most["min_group"]))
        return PROTOCOLS[name](**most)

    def line(self, key: str) -> str:
        """A key as a line of the policy file."""
        value = getattr(self, key)
        return f"{key} is left out" if value is None else f"{key} = {_toml(value)}"

    def to_toml(self) -> str:
        """The policy as a file that explains its keys; `load` reads it back."""
        lines = ["# What leaves this machine for a federation, whatever its server asks for. See docs/owner.md.", ""]
        for key, words in _WORDS.items():
            lines += [f"# {line}" for line in words]
            value = getattr(self, key)
            lines += [f"# {key} = {_EXAMPLES[key]}" if value is None else f"{key} = {_toml(value)}", ""]
        return "\n".join(lines)

    @classmethod
    def load(cls, path: str | Path) -> OwnerPolicy:
        """Read a policy file; an unknown key or a wrong value is refused, for a typo must not loosen anything."""
        file = Path(path)
        try:
            if file.stat().st_size > _LARGEST_FILE:
                raise SettingsError("guard.policy-too-large", file=str(file))
            values = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingsError("guard.policy-unreadable", file=str(file), why=error.strerror) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise SettingsError("guard.policy-not-toml", file=str(file), why=str(error)) from error
        known = [field.name for field in fields(cls)]
        if unknown := [key for key in values if key not in known]:
            key, keys = unknown[0], ", ".join(known)
            guess = did_you_mean(key, known)
            raise SettingsError("guard.policy-unknown-key", file=str(file), key=key, guess=guess, known=keys)
        if isinstance(values.get("protocols"), list):
            values["protocols"] = tuple(values["protocols"])
        try:
            return cls(**values)
        except SettingsError as error:
            if error.code == "settings.parameter":  # a key of the file, and no option of a command
                facts = error.note.facts
                said = {"key": facts["name"], "expected": facts["expected"], "got": facts["got"]}
                raise SettingsError("guard.policy-value", file=str(file), **said) from error
            raise error.at(f"The policy file '{file}'") from error


_WORDS = {
    "protocols": (
        "Protocols that you take part in. sketch answers with a few numbers; cards sends counts and sums of classes,",
        "and products of columns, once; interpolation sends averages of min_group rows.",
    ),
    "min_group": ("Fewest different rows behind anything that leaves. A server that asks for fewer is refused.",),
    "trust_server": (
        "false: sketches are coarsened, and cards guarded. true: sketches are answered as the server sends them, and",
        "cards are exact; a dishonest server could then read single rows.",
    ),
    "require_epsilon": (
        "true: nothing leaves without differential privacy (sketch, cards); give epsilon_budget or max_epsilon, too.",
    ),
    "epsilon_budget": (
        "Most epsilon in all questions together, by the ledger; nothing leaves without epsilon then, nor beyond it.",
    ),
    "max_epsilon": ("Largest epsilon of one answer. Left out: 10, or epsilon_budget.",),
    "max_delta": ("Most delta of all private cards together, by the ledger.",),
    "share_flag_counts": (
        "true: the server may learn how many of your rows were flagged, where these are min_group at least.",
    ),
    "share_numbers": (
        "true: the server learns the estimated shares of wrong labels, odd features and missing cells, and columns or",
        "label texts that are unlike the reference's. Its verdict on your data needs them. false: distances, and",
        "which of the reference's classes you lack; of cards nothing beside the card.",
    ),
    "share_card_with_others": (
        "true: another client may receive a model that is made of your card alone. false: only models that are made of",
        "three cards and more for each class, each with its share of the rows.",
    ),
    "max_rounds": (
        "Most rounds of one run of interpolation. Without trust_server it has fewer than min_group in any case, as",
        "that many averages could be solved for rows.",
    ),
    "max_questions": (
        "Most questions (runs) of each protocol about your table, all its versions together. Left out: one, or as many",
        "as epsilon_budget pays for, up to 100. Answers to several can be subtracted from each other; fedbary policy",
        "allow says what one more could reveal, and allows it. A card that left is sent again without counting.",
    ),
}
_EXAMPLES = {"epsilon_budget": "2.0", "max_epsilon": "1.0", "max_questions": "3"}


def _toml(value: object) -> str:
    """JSON writes booleans, numbers and lists of plain texts as TOML does."""
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def most_messages(settings: Settings) -> int:
    """Most messages of one question: one where an answer says everything, otherwise what an honest run needs."""
    if isinstance(settings, Interpolation):
        return settings.rounds + _INTERPOLATION
    return _CARDS if isinstance(settings, Cards) else 1


def tells_nothing(settings: Settings, message: Message) -> bool:
    """Whether nothing of the rows may leave for a message: what a model of cards says of them, if it stays at home."""
    silent = isinstance(settings, Cards) and (settings.epsilon is not None or not settings.numbers)
    return silent and message.kind != "card"


def message_key(message: Message) -> str:
    """What makes a message the same as another one, to the last byte."""
    return f"{message.kind} {message.round} {message.digest}"


def settings_digest(settings: Settings) -> str:
    """A digest of a protocol and all of its settings."""
    return hashlib.sha256(f"{type(settings).__name__} {settings!r}".encode()).hexdigest()


def asked_digest(settings: Settings, message: Message) -> str:
    """A digest of what a question asks: its first message, and the settings in force that its answer depends on."""
    if isinstance(settings, Cards):
        settings = Cards(**{name: getattr(settings, name) for name in _OF_A_CARD})
    return hashlib.sha256(json.dumps([settings_digest(settings), message_key(message)]).encode()).hexdigest()


REVEALS = {
    "sketch": "A server can choose its sketch freely. Exact answers are made of the released rows alone, but two of "
    "them can be subtracted from each other, and a few hundred give all released rows away; with epsilon each costs "
    "what the ledger says, and no more.",
    "interpolation": "Averages of at least min_group rows in every round. The rounds of two questions can be solved "
    "together for single rows, as far as the server can guess each t.",
    "cards": "A card that left is sent again without a question. One more question is a card of the rows that are "
    "released now, and what a model of the server's choice says of them. What came since the last card shows as the "
    "card of those rows, of which there are min_group at least in every class. With epsilon each costs what the "
    "ledger says.",
}
