"""Disclosure records: for each release that a ledger holds, what left in words, to whom, when, and what allowed it.

``disclosure.schema.json`` beside this file is the JSON schema of one record. Words are those of the protocols' records
(`fedbary.protocols.forms`), thresholds those that were in force when it left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from fedbary.forms import Field, Number, Numbers, Text
from fedbary.guard.ledger import FAILURE, FLAGS, FREE, QUESTION, REFUSAL, REPLY, RESET, Account, Entry
from fedbary.guard.policy import FLAGGED, OwnerPolicy
from fedbary.protocols.forms import WHEN, Exchange, words
from fedbary.protocols.registry import PROTOCOLS, exchanges_of

VERSION = 1
RELEASES = {REPLY: "answer", FREE: "answer without a question", FLAGS: "flags", FAILURE: "failure", REFUSAL: "refusal"}
# What stands on every answer besides its content (`fedbary.guard.node.Envelope`).
ENVELOPE = {
    "session": "name of the run, which the server drew",
    "kind": "which message is answered",
    "round": "which round is answered",
    "step": "how many messages of the run were answered",
    "nonce": "number that the server drew for this message",
    "name": "what the owner calls its node",
    "version": "version of the format",
}
_CODE = {
    "failure": "that there is no answer, and whether the table does not fit or something failed",
    "refusal": "that the question is refused, by a code and facts that no row has a say in",
}


def disclosures(account: Account) -> Iterator[dict[str, Any]]:
    """A record for each release, in the ledger's order, with what was spent until then."""
    spent = {"epsilon": Decimal(0), "delta": Decimal(0)}
    costs: dict[int, Entry] = {}
    for line, entry in enumerate(account.entries, start=1):
        if entry.what == RESET:
            spent = dict.fromkeys(spent, Decimal(0))
        if entry.what == QUESTION:
            costs[entry.question] = entry
            spent = {key: total + Decimal(repr(float(getattr(entry, key)))) for key, total in spent.items()}
        if entry.what not in RELEASES:
            continue
        terms, cost = entry.terms, costs.get(entry.question, Entry())
        yield {
            "record": VERSION,
            "line": line,
            "time": entry.time,
            "what": RELEASES[entry.what],
            "to": {"run": entry.run},
            "asked": {
                "question": entry.question or None,
                "protocol": entry.protocol,
                "kind": entry.kind,
                "round": entry.round,
                "message": entry.message,
            },
            "left": list(_left(entry)),
            "envelope": [{"name": name, "tells": tells} for name, tells in ENVELOPE.items()],
            "bytes": entry.bytes,
            "digest": entry.digest,
            "rows": entry.data,
            "threshold": {key: terms.get(key) for key in ("trust", "min_group", "rows")},
            "suppressed": terms.get("suppressed"),
            "privacy": {
                "epsilon": cost.epsilon,
                "delta": cost.delta,
                "epsilon_spent": float(spent["epsilon"]),
                "delta_spent": float(spent["delta"]),
            },
            "allowed_by": terms.get("allowed_by", []),
            "versions": {"fedbary": terms.get("version")},
            "note": entry.note,
        }


def _left(entry: Entry) -> Iterator[dict[str, Any]]:
    """Every field that left, in the record's words."""
    if entry.what in (FAILURE, REFUSAL):
        yield _field("code", Text(tells=_CODE[entry.what]), {})
        return
    fields: Mapping[str, Field] = FLAGGED.fields
    notes: tuple[Field, ...] = ()
    if entry.what != FLAGS and entry.protocol in PROTOCOLS:
        reply = exchanges_of(entry.protocol).get(entry.kind, Exchange()).reply
        fields, notes = reply.fields, reply.notes
    settings = {"min_group": entry.terms.get("min_group", "min_group"), "epsilon": entry.terms.get("epsilon")}
    for name in (*entry.scalars, *entry.arrays):
        one = fields.get(name, Text(tells="not known to this version"))
        if name == "notes":
            several = [kind for kind in notes if WHEN[kind.when](settings)]
            one = Text(tells="; ".join(kind.tells for kind in several))
        yield _field(name, one, settings) | {"shape": list(entry.arrays[name]) if name in entry.arrays else None}


def _field(name: str, one: Field, settings: Mapping[str, Any]) -> dict[str, Any]:
    form = "array" if isinstance(one, Numbers) else "number" if isinstance(one, Number) else "text"
    noise = settings.get("epsilon") is not None and not one.public
    said = {"name": name, "form": form, "shape": None, "tells": words(one, settings)}
    return said | {"noise": noise, "withheld_by": one.withheld_by or None}


def unmet(records: list[dict[str, Any]], threshold: int, policy: OwnerPolicy | None) -> list[str]:
    """What does not meet a threshold, in sentences: a policy, and releases of counts and sums of fewer rows."""
    said = []
    if policy is not None and policy.min_group < threshold:
        said.append(f"The policy has min_group = {policy.min_group}.")
    if policy is not None and policy.trust_server:
        said.append("The policy has trust_server = true: nothing is left out for few rows.")
    for record in records:
        if record["what"] in _CODE:  # no count leaves
            continue
        begin, terms = f"Line {record['line']}, {record['what']} to '{record['asked']['kind']}':", record["threshold"]
        if terms["trust"] is None:
            said.append(f"{begin} its threshold is not known, as an older version wrote it.")
            continue
        if terms["rows"] is not None and terms["rows"] < threshold:
            said.append(f"{begin} its row count is below {threshold}.")
        if terms["trust"] == "trusted":
            said.append(f"{begin} exact for a trusted server, so single rows may be behind a number.")
        elif terms["trust"] == "guarded" and terms["min_group"] < threshold:
            said.append(f"{begin} groups of {terms['min_group']} rows and more.")
    return said
