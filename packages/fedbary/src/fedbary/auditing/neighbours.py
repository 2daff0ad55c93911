"""Two tables that differ in one row, all others known: membership at its worst, empirical ε, and time.

Differential privacy promises something against the strongest server, one that knows every row but one. Here it asks
two owners of whom it knows everything else.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.finding import EPSILON, SIDE_CHANNEL, Finding, measured
from fedbary.auditing.game import Played, play
from fedbary.auditing.membership import membership_finding
from fedbary.auditing.owner import Owner
from fedbary.auditing.promises import Promises
from fedbary.auditing.row_probe import about
from fedbary.auditing.scene import Scene
from fedbary.notes import Note

Floats = NDArray[np.float64]


def neighbours(scene: Scene) -> tuple[Finding, ...]:
    """Membership with all other rows known, the ε that the answers show, and what the time of an answer tells."""
    rng = scene.rng("neighbours")
    others = scene.others(rng, scene.some)
    tables = scene.table.take(others), scene.table.take(np.append(others[1:], scene.target))
    ask = about(scene, scene.table.take([scene.target]))

    def timed(owner: Owner, rng: np.random.Generator) -> Floats:
        start = time.perf_counter()
        seen = ask(owner, rng)
        return np.append(seen, time.perf_counter() - start)

    both = play(scene.defence, lambda _: tables[0], lambda _: tables[1], timed, trials=scene.trials, rng=rng)
    answers = Played(both.first[:, :-1], both.second[:, :-1])
    clock = Played(both.first[:, -1:], both.second[:, -1:])
    promises, facts = Promises.of(scene.defence), {"trials": both.trials}
    others_known = Note("audit.membership-others-known", {**facts})
    return (
        membership_finding(scene, "membership, other rows known", answers, others_known),
        measured("empirical ε", EPSILON, Note("audit.epsilon", {**facts}), answers.epsilon(), promises.epsilon),
        measured(
            "time of the answer",
            SIDE_CHANNEL,
            Note("audit.timing", {**facts}),
            clock.right_guesses(),
            promises.guess,
        ),
    )
