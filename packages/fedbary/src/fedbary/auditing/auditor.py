"""`audit`: every attack that we know, on an owner's policy and settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedbary.auditing.finding import Finding
from fedbary.auditing.inference import attribute, counts, membership, neighbours, refusals
from fedbary.auditing.owner import Defence, undisturbed
from fedbary.auditing.pairs import pairs
from fedbary.auditing.reconstruction import card_rows, joint_rounds, known_t, repeated_questions, unknown_t
from fedbary.auditing.result import Audit
from fedbary.auditing.scene import Scene
from fedbary.checks import whole
from fedbary.data.objects import as_table
from fedbary.data.table import Table
from fedbary.errors import DataError, SettingsError, wrong_parameter
from fedbary.guard.policy import OwnerPolicy
from fedbary.protocols.messages import Settings
from fedbary.protocols.registry import DEFAULT, PROTOCOLS

if TYPE_CHECKING:
    from fedbary.api import Data

# More rows make an attack slower, not stronger.
_MOST_ROWS, _MOST_REFERENCE = 400, 800
_LEAST_TRIALS = 20

Attack = Callable[[Scene], "Finding | tuple[Finding, ...] | None"]
_AGAINST: dict[str, dict[str, Attack]] = {
    "sketch": {"asking again and again": repeated_questions},
    "cards": {"reading rows off the card": card_rows},
    "interpolation": {
        "rebuilding rows, t fixed": known_t,
        "rebuilding rows, t secret": unknown_t,
        "rebuilding rows from all rounds": joint_rounds,
    },
}
_ANY: dict[str, Attack] = {
    "looking for a row": membership,
    "looking for a row, others known": neighbours,
    "guessing a label": attribute,
    "counting a class": counts,
    "subtracting two answers": pairs,
    "provoking refusals": refusals,
}


def audit(
    table: Data | None = None,
    protocol: Settings | str = DEFAULT,
    *,
    policy: OwnerPolicy | str | Path | Literal["default", "none"] = "default",
    reference: Data | None = None,
    trials: int = 300,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Attack an owner's policy and settings as a dishonest server would, on the owner's own rows or on a stand-in.

    Nothing is sent. The attacks ask the real owner's half of the protocol, behind the real policy and a ledger in a
    temporary folder.

    Parameters
    ----------
    table : optional
        The owner's rows, in the forms that `value` takes. Default: tumours of ``breast-cancer``, as a stand-in. Of
        more than 400 rows so many are drawn.
    protocol : Sketch, Cards, Interpolation or str
        The settings that a server asks for; pairs of questions are of all protocols that the policy allows. By name:
        its defaults, with the largest ε (``sketch`` and ``cards``, if the policy asks for one) or the most rounds
        (``interpolation``) that the policy allows.
    policy : OwnerPolicy, path, "default" or "none"
        The owner's; ``"default"`` is that of an owner who has not written one, ``"none"`` no guard at all, as in one
        process.
    reference : optional
        Rows that the server has. Default: a third of the table.
    trials : int
        Owners of each kind in every game of two worlds; half of them tune the attack, the other half count.
    seed : int
        Makes attacks and worlds repeatable; the owner's noise is not.
    progress : callable, optional
        Told which attack comes next.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import fedbary as fb
    >>> found = fb.audit(protocol=fb.Sketch(), policy="none", trials=20)
    >>> found.worst.value, found.broken
    (1.0, ())
    """
    whole(trials, "trials", "audit", least=_LEAST_TRIALS)
    whole(seed, "seed", "audit", least=0)
    defence = _defence(protocol, policy)
    say = progress or (lambda _: None)
    say("reading the rows")
    rng = np.random.default_rng(seed)
    own, theirs = _rows(table, reference, rng)
    least = 8 * defence.settings.min_group
    if len(own) < least:
        whole_table = len(own) + len(theirs) if table is not None and reference is None else None
        raise DataError("audit.too-few-rows", rows=len(own), least=least, whole=whole_table)
    scene = Scene(own, theirs, defence, int(trials), int(seed))
    findings: list[Finding] = []
    from fedbary.engines.local import one_thread

    with one_thread(), undisturbed():
        attacks = _AGAINST[defence.asked.name] | _ANY
        for place, (words, attack) in enumerate(attacks.items(), start=1):
            say(f"attack {place} of {len(attacks)}: {words}")
            found = attack(scene)
            findings += () if found is None else found if isinstance(found, tuple) else (found,)
    return Audit(tuple(findings), defence, len(own), int(trials))


def _defence(protocol: Settings | str, policy: OwnerPolicy | str | Path) -> Defence:
    name = protocol if isinstance(protocol, str) else getattr(protocol, "name", None)
    if name not in PROTOCOLS:
        raise wrong_parameter("protocol", "audit", ", ".join(PROTOCOLS), protocol)
    if isinstance(policy, OwnerPolicy):
        own: OwnerPolicy | None = policy
    elif policy == "none":
        own = None
    else:
        own = _default_policy(name) if policy == "default" else OwnerPolicy.load(policy)
    named = PROTOCOLS[name]() if own is None else own.most_telling(name)
    defence = Defence(named if isinstance(protocol, str) else protocol, own)
    _ = defence.settings  # a policy that refuses them says so now
    return defence


def _default_policy(protocol: str) -> OwnerPolicy:
    """That of an owner who has not written one, who also takes part in this protocol."""
    usual = OwnerPolicy()
    return usual if protocol in usual.protocols else replace(usual, protocols=(*usual.protocols, protocol))


def _rows(table: Data | None, reference: Data | None, rng: np.random.Generator) -> tuple[Table, Table]:
    if table is None:
        if reference is not None:
            raise SettingsError("audit.reference-alone")
        from fedbary.data import datasets

        stand_in = datasets.load("breast-cancer")
        return _drawn(stand_in.train, _MOST_ROWS, rng), stand_in.test
    own = as_table(table)
    if reference is not None:
        return _drawn(own, _MOST_ROWS, rng), _drawn(as_table(reference), _MOST_REFERENCE, rng)
    order = rng.permutation(len(own))
    third = len(own) // 3
    return _drawn(own.take(order[third:]), _MOST_ROWS, rng), _drawn(own.take(order[:third]), _MOST_REFERENCE, rng)


def _drawn(table: Table, most: int, rng: np.random.Generator) -> Table:
    if len(table) <= most:
        return replace(table, ids=None)
    return replace(table.take(np.sort(rng.choice(len(table), most, replace=False))), ids=None)
