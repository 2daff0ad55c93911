"""Value three hospitals against a validation set, and see whether the flags are right.

The tables are those of the tutorial: nothing is wrong in the north, every fifth diagnosis in the south, and in the west
the radius of 20 patients is a diameter. `truth.csv` says whose.
"""

from pathlib import Path

import pandas as pd

import fedbary as fb

DATA = Path(__file__).parent / "hospitals"

clients = fb.read_clients(str(DATA / "hospital_*.parquet"), label="diagnosis", id="patient")
reference = fb.read(DATA / "validation.parquet", label="diagnosis", id="patient")
result = fb.value(clients, reference, seed=0)
print(result.clients[["client", "rows", "distance", "quality", "share", "flagged"]].round(3).to_string(index=False))

truth = pd.read_csv(DATA / "truth.csv")
for name in clients:
    rows = result.rows(name)
    flagged = set(rows.loc[rows["flag"], "row"])
    spoilt = set(truth.loc[truth["hospital"] == name, "patient"])
    print(f"{name}: {len(spoilt)} rows spoilt, {len(flagged & spoilt)} of them flagged, {len(flagged - spoilt)} others")
