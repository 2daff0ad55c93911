"""Value clients without any validation set, each against all others.

Every client sends one card: counts, sums and products of its rows, class by class. From the cards of the others each
gets a model, and judges its own rows with it. Nothing is known to be clean: how surprising a clean row may be is read
from the other clients, and one test over all of them flags rows. The next worst, up to the number of wrong labels that
is estimated, are suspects.
"""

from pathlib import Path

import fedbary as fb

DATA = Path(__file__).parent / "hospitals"

clients = fb.read_clients(str(DATA / "hospital_*.parquet"), label="diagnosis", id="patient")
result = fb.value(clients, seed=0)
print(result.clients[["client", "rows", "quality", "wrong_labels", "distance"]].round(3).to_string(index=False))
for name in clients:
    rows, facts = result.rows(name), result.row_facts(name)
    found = f"{rows['flag'].sum()} flags, {rows['suspect'].sum()} suspects"
    worst = ", ".join(rows.nsmallest(3, "value")["row"])
    print(f"{name}: about {facts.wrong_labels.share:.0%} wrong labels, {found}; look at {worst}")
