"""Settings that the findings speak for, as codes and facts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fedbary.auditing.finding import MEMBERSHIP, RECONSTRUCTION, Finding
from fedbary.auditing.intervals import FALSE_POSITIVES
from fedbary.auditing.owner import Defence
from fedbary.notes import Note

# True positives at one per cent false ones with which an owner may be content.
CONTENT = 0.05
_LOUD_NOISE = 0.1


def recommended(findings: Sequence[Finding], defence: Defence, rows: int) -> tuple[Note, ...]:
    """What to change, most urgent first; a single note where nothing is to be changed."""
    notes = [Note("audit.promise-broken", {"attack": one.attack}) for one in findings if one.holds is False]
    read = {one.what.code: one.value for one in findings if one.kind == RECONSTRUCTION and one.value > 0.0}
    if "audit.repeated-questions" in read:
        notes.append(Note("audit.ask-once", {"share": read["audit.repeated-questions"]}))
    if "audit.card-rows" in read:
        notes.append(Note("audit.guard-cards", {"share": read["audit.card-rows"]}))
    if "audit.averages" in read:
        notes.append(Note("audit.no-reconstruction", {"min_group": int(defence.settings.min_group)}))
    elif "audit.joint-rounds" in read:
        notes.append(Note("audit.fewer-rounds", {"rounds": int(defence.settings.min_group) - 1}))
    found = max((one.value for one in findings if one.kind == MEMBERSHIP), default=0.0)
    epsilon = defence.epsilon
    if epsilon is None and found > CONTENT:
        if hasattr(defence.asked, "epsilon"):
            bound = math.floor(10.0 * math.log(CONTENT / FALSE_POSITIVES)) / 10.0
            noise = 2.0 / (rows * bound) if defence.asked.name == "sketch" else None
            notes.append(Note("audit.use-epsilon", {"epsilon": bound, "share": CONTENT, "noise": noise}))
        else:
            notes.append(Note("audit.use-sketch", {"protocol": defence.asked.name}))
    if defence.asked.name == "sketch" and epsilon is not None and 2.0 / (rows * epsilon) > _LOUD_NOISE:
        notes.append(Note("audit.loud-noise", {"noise": 2.0 / (rows * epsilon), "rows": rows}))
    return tuple(notes) or (Note("audit.nothing-to-change"),)
