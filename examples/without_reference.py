"""Value clients without any validation set, each against all others.

Every client sends one card: counts, sums and products of its rows, class by class. From the cards of the others each
gets a model, and judges its own rows with it. Nothing is known to be clean: how surprising a clean row may be is read
from the other clients, and one test over all of them flags rows. The worst ones beyond, up to the number of wrong labels
that is estimated, are suspects.
"""

from pathlib import Path

import fedbary as fb

DATA = Path(__file__).parent / "hospitals"

clients = fb.read_clients(str(DATA / "hospital_*.parquet"), label="diagnosis", id="patient")
result = fb.value(clients, seed=0)
print(result.clients[["client", "rows", "quality", "wrong_labels", "distance"]].round(3).to_string(index=False))
for name in clients:
    worst, facts = ", ".join(result.rows(name).nsmallest(3, "value")["row"]), result.row_facts(name)
    found = f"{facts.flagged} flags, {facts.suspects} suspects"
    print(f"{name}: about {facts.wrong_labels.share:.0%} wrong labels, {found}; look at {worst}")
