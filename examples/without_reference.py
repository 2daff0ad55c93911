"""Value clients without any validation set, each against all others.

Every client sends one card: counts, sums and products of its rows, class by class. From the cards of the others each
gets a model, and values its own rows with it. No row is flagged, since nothing is known to be clean; rows are ranked,
each client sees how many of its labels are estimated to be wrong, and as many of its worst rows are suspects.
"""

from pathlib import Path

import fedbary as fb

DATA = Path(__file__).parent / "hospitals"

clients = fb.read_clients(str(DATA / "hospital_*.parquet"), label="diagnosis", id="patient")
result = fb.value(clients, seed=0)
print(result.clients[["client", "rows", "quality", "wrong_labels", "distance"]].round(3).to_string(index=False))
for name in clients:
    worst, facts = ", ".join(result.rows(name).nsmallest(3, "value")["row"]), result.row_facts(name)
    print(f"{name}: about {facts.wrong_labels.share:.0%} wrong labels, {facts.suspects} suspects; look at {worst}")
